/**
 * Ids of the items that the OpenAI dialect shows of a run: the same in a response's stream, in the response, when it is
 * retrieved, and among its conversation's items. Each is made of the run's own id and of what tells the item apart within
 * the run, so none is stored, and none occurs twice.
 *
 *   resp_<run>             the response: the run's first segment
 *   resp_<run>_2           its second one, which began with the answers to the run's first pause
 *   msg_<run>_<step>       what the model said in the model call at this step
 *   rs_<run>_<step>        what it thought there
 *   msg_<run>_in_<index>   a message of the run's input
 *   fc_<run>_<call>        a call that the client is to make      (call: a digest of the call's id, which is a provider's)
 *   fco_<run>_<call>       the client's result of it
 *   fs_<run>_<call>        a search that this server made
 *   mcp_<run>_<call>       a call of an MCP server's tool that this server made
 *   mcpl_<run>_<server>    the tools that an MCP server of the request listed   (server: a digest of its label)
 *
 * The item of an approval has the approval's own id.
 */
import { createHash } from 'node:crypto';
import { isId, withPrefix } from '../../../kernel/ids/ids.ts';

/** Hex characters of a call's digest: within one run, 64 bits never meet twice. */
const DIGEST_LENGTH = 16;
/** What follows the run's 26 characters: a segment, a step and its part, an index, a digest. */
const OWN_ID = /^(resp|msg|rs|fc|fco|fs|mcp|mcpl)_([0-9a-z]{26})(?:_(.+))?$/;

/** `segment` counts from 1. */
export function responseId(runId: string, segment: number): string {
  const id = withPrefix('resp', runId);
  return segment === 1 ? id : `${id}_${segment}`;
}

/** The run and the segment of it that a response id names; undefined for what cannot be one. */
export function readResponseId(id: string): { runId: string; segment: number } | undefined {
  const own = readOwnId(id);
  if (own?.prefix !== 'resp') return undefined;
  if (own.rest === undefined) return { runId: own.runId, segment: 1 };
  return /^[1-9]\d{0,5}$/.test(own.rest) && own.rest !== '1'
    ? { runId: own.runId, segment: Number(own.rest) }
    : undefined;
}

/**
 * `step`: the model call's place among the run's steps. `part` counts from 0 where the model returned to speaking after
 * it had thought again within one call.
 */
export function messageItemId(runId: string, step: number, part = 0): string {
  return stepItemId('msg', runId, step, part);
}

/** As `messageItemId`. */
export function reasoningItemId(runId: string, step: number, part = 0): string {
  return stepItemId('rs', runId, step, part);
}

/** `index`: of the message in the run's input, from 0. */
export function inputItemId(runId: string, index: number): string {
  return `${withPrefix('msg', runId)}_in_${index}`;
}

export function functionCallItemId(runId: string, callId: string): string {
  return callItemId('fc', runId, callId);
}

export function functionCallOutputItemId(runId: string, callId: string): string {
  return callItemId('fco', runId, callId);
}

export function fileSearchItemId(runId: string, callId: string): string {
  return callItemId('fs', runId, callId);
}

export function mcpCallItemId(runId: string, callId: string): string {
  return callItemId('mcp', runId, callId);
}

export function mcpListItemId(runId: string, label: string): string {
  return callItemId('mcpl', runId, label);
}

/** The run that an item id of this server names; undefined for any other id. */
export function runOfItem(id: string): string | undefined {
  return readOwnId(id)?.runId;
}

function stepItemId(prefix: string, runId: string, step: number, part: number): string {
  const id = `${withPrefix(prefix, runId)}_${step}`;
  return part === 0 ? id : `${id}_${part}`;
}

function callItemId(prefix: string, runId: string, callId: string): string {
  const digest = createHash('sha256').update(callId).digest('hex').slice(0, DIGEST_LENGTH);
  return `${withPrefix(prefix, runId)}_${digest}`;
}

function readOwnId(id: string): { prefix: string; runId: string; rest: string | undefined } | undefined {
  const [, prefix, suffix, rest] = OWN_ID.exec(id) ?? [];
  const runId = `run_${suffix}`;
  if (prefix === undefined || !isId('run', runId)) return undefined;
  return { prefix, runId, rest };
}
