/** What an answer says now, as its run stands. */
import { setImmediate as nextTick } from 'node:timers/promises';
import { type Engine, getRun } from '../../engine/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { collectAnswer, requireSegment, STEP_GAP } from '../../surfaces/index.ts';
import type { JsonObject } from '../../tables.ts';
import type { Channel, ComposedAnswer, MessagePart } from '../channel.ts';
import type { ChannelFiles } from '../channel-files.ts';
import { FAILED_SENTENCE, PAUSED_SENTENCE } from '../sentences.ts';
import type { OpenAnswer, PlannedAnswer } from './answer-store.ts';
import type { StoredPart } from './outbox-store.ts';

const REMOVAL: StoredPart = { type: 'removal' };
/** What is composed in one go; then others have their turn. */
const AT_ONCE_MS = 5;

/** Throws what reading the run does: it is tried again. */
export async function composeAnswer(
  deps: { readonly engine: Engine; readonly files: ChannelFiles },
  channel: Channel,
  answer: OpenAnswer,
  signal: AbortSignal,
): Promise<PlannedAnswer> {
  const said = await sayNow(deps, answer, signal);
  const composed =
    said === undefined ? [] : await takeAll(channel.compose(said, `${answer.id}.${answer.segments}`), signal);
  // Pieces of what is not said after all go.
  const parts = composed.length === 0 && answer.live !== null ? [REMOVAL] : composed;
  const isPaused = answer.status === 'paused';
  const next = isPaused ? 'open' : parts.length === 0 ? 'sent' : 'planned';
  return { ...answer, parts, planned: (answer.pauses ?? 0) + 1, next };
}

async function takeAll(parts: Iterable<MessagePart>, signal: AbortSignal): Promise<MessagePart[]> {
  const taken: MessagePart[] = [];
  let began = performance.now();
  for (const part of parts) {
    taken.push(part);
    if (performance.now() - began < AT_ONCE_MS) continue;
    await nextTick();
    signal.throwIfAborted();
    began = performance.now();
  }
  return taken;
}

/** Undefined: nothing. */
async function sayNow(
  { engine, files }: { readonly engine: Engine; readonly files: ChannelFiles },
  answer: OpenAnswer,
  signal: AbortSignal,
): Promise<ComposedAnswer | undefined> {
  const { sentence, status, output, run_id: runId } = answer;
  if (sentence !== null || runId === null) return onlyText(sentence ?? '');
  if (status === 'failed') return onlyText(FAILED_SENTENCE);
  if (status === 'cancelled') return undefined;
  const text = await readText(engine, answer, runId, signal);
  if (status === 'paused') return onlyText(joinTexts([text, PAUSED_SENTENCE]));
  const fileIds = madeCalls(output) ? await listMadeFiles(engine, answer, runId) : [];
  const composed: ComposedAnswer = {
    text,
    files: fileIds.length === 0 ? [] : await files.describe(answer.project_id, fileIds),
    suggestedReplies: (output?.suggested_replies ?? []) as string[],
  };
  return text === '' && composed.files.length === 0 ? undefined : composed;
}

/** Of the segments that are not planned. */
async function readText(engine: Engine, answer: OpenAnswer, runId: string, signal: AbortSignal): Promise<string> {
  const { project_id, status, output, segments } = answer;
  const newest = (answer.pauses ?? 0) + 1;
  // A run of one step says all of it there.
  if (status === 'completed' && newest === 1 && !madeCalls(output)) return String(output?.content ?? '');
  const run = await getRun(tenantDb(engine.db, project_id), runId);
  const texts: string[] = [];
  for (let number = segments + 1; number <= newest; number += 1) {
    const collected = await collectAnswer(engine, requireSegment(run, number), signal);
    signal.throwIfAborted();
    texts.push(collected?.text ?? '');
  }
  return joinTexts(texts);
}

function onlyText(text: string): ComposedAnswer {
  return { text, files: [], suggestedReplies: [] };
}

function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text.trim() !== '').join(STEP_GAP);
}

function madeCalls(output: JsonObject | null): boolean {
  return Array.isArray(output?.tool_calls) && output.tool_calls.length > 0;
}

/** The files that commands and MCP servers have made in the run. */
async function listMadeFiles(engine: Engine, { project_id }: OpenAnswer, runId: string): Promise<string[]> {
  const { rows } = await tenantDb(engine.db, project_id).raw<{ file_id: string }>({
    text: `
      select made.file ->> 'file_id' as file_id
      from run_steps s
      cross join lateral jsonb_array_elements(
        case
          when s.name = 'run_command' and jsonb_typeof(s.output -> 'files') = 'array' then s.output -> 'files'
          when s.target ? 'server_label' and jsonb_typeof(s.output -> 'content') = 'array' then s.output -> 'content'
          else '[]' end
      ) with ordinality as made (file, n)
      where s.project_id = $1 and s.run_id = $2 and s.kind = 'tool' and s.status = 'completed' and made.file ? 'file_id'
      order by s.position, made.n`,
    values: [runId],
  });
  return [...new Set(rows.map((row) => row.file_id))];
}
