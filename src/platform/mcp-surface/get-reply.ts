/** The tool `get_reply`: the reply of a turn that paused or took longer than `ask` waits. */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { ApiError } from '../../kernel/http/errors.ts';
import { type Engine, getRun, type RunRow, type SmithForTurn } from '../engine/index.ts';
import { tenantDb } from '../store/tenant-db.ts';
import { collectAnswer, newestSegment, requireSegment } from '../surfaces/index.ts';
import { CHANNEL } from './ask.ts';
import { awaitReply } from './await-reply.ts';
import type { CallContext, Exchange } from './exchange.ts';
import { invalidArguments, REPLY_SCHEMA, refusalResult } from './reply-result.ts';

export const GET_REPLY_TOOL: Tool = {
  name: 'get_reply',
  title: 'Get a reply',
  description:
    'Gives the reply of a turn that ask began, once it is there: call it with the run_id of an answer whose status was ' +
    'in_progress or paused.',
  inputSchema: {
    type: 'object',
    properties: { run_id: { type: 'string', minLength: 1, description: 'As ask gave it.' } },
    required: ['run_id'],
    additionalProperties: false,
  },
  outputSchema: REPLY_SCHEMA,
  annotations: { readOnlyHint: true, openWorldHint: false },
};

/** Undefined: the client has gone; the turn goes on. */
export async function getReply(
  { engine, replyWaitMs }: { readonly engine: Engine; readonly replyWaitMs: number },
  exchange: Exchange & { readonly smith: SmithForTurn },
  { run_id: runId, ...unknown }: Readonly<Record<string, unknown>>,
  call: CallContext,
): Promise<CallToolResult | undefined> {
  if (typeof runId !== 'string' || Object.keys(unknown).length > 0)
    return invalidArguments('Send run_id, and nothing else.');
  let run: RunRow;
  try {
    run = await findRun(engine, exchange, runId);
  } catch (error) {
    if (error instanceof ApiError) return refusalResult(error, undefined);
    throw error;
  }
  const newest = newestSegment(run);
  const before: string[] = [];
  // Whoever was answered before it paused has not heard what was said until then.
  for (let number = 1; number < newest.number; number += 1) {
    before.push((await collectAnswer(engine, requireSegment(run, number), call.gone))?.text ?? '');
  }
  return awaitReply(engine, newest, call, { waitMs: replyWaitMs, before });
}

/** One that this deployment has begun with this smith. Throws `not_found`. */
async function findRun(
  engine: Engine,
  { deployment, smith }: Exchange & { readonly smith: SmithForTurn },
  runId: string,
): Promise<RunRow> {
  const message = 'There is no such turn here. Send the run_id that ask gave.';
  const run = await getRun(tenantDb(engine.db, deployment.projectId), runId, smith.id).catch((error: unknown) => {
    throw error instanceof ApiError ? new ApiError(error.code, { message }) : error;
  });
  if (run.channel === CHANNEL && run.metadata.deployment_id === deployment.id) return run;
  throw new ApiError('not_found', { message });
}
