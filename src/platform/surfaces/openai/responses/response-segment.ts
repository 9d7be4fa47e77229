/** One stretch of a run: from its start, or from the answers to a pause, to the next rest. */
import type { Executor } from '../../../../kernel/db/database.ts';
import { ApiError } from '../../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../../access/caller.ts';
import { type RunRow, readFrames, readTurnConfig, type ShownFrame, showStoredFrame } from '../../../engine/index.ts';
import type { JsonObject } from '../../../tables.ts';
import { FILE_SEARCH } from '../../../tools/file-search.ts';
import { readResponseId, responseId } from '../item-ids.ts';
import { ResponseFold, type StretchStart } from './fold-response.ts';
import { FILE_SEARCH_RESULTS, type ResponseRequest, requestOfStretch, requestsOf } from './response-request.ts';
import { findPause, findRun, listOutputsBefore } from './response-store.ts';

export interface Stretch {
  readonly run: RunRow;
  readonly number: number;
  readonly start: StretchStart;
  readonly request: ResponseRequest;
  /** Unix seconds. */
  readonly createdAt: number;
}

/** The response that the id names, as the caller may see it. Throws `not_found`. */
export async function getStretch(db: Executor, caller: ProjectCaller, id: string): Promise<Stretch> {
  const named = readResponseId(id);
  const smithId = caller.kind === 'smith' ? caller.smithId : null;
  const run = named === undefined ? undefined : await findRun(db, caller.projectId, named.runId, smithId);
  const stretch = run === undefined || !isKept(run) ? undefined : await loadStretch(db, run, named?.stretch ?? 1);
  if (stretch === undefined) throw new ApiError('not_found');
  return stretch;
}

/** Whether the run's responses may be retrieved: one that is not to be stored, as long as it is made. */
function isKept(run: RunRow): boolean {
  if (run.hidden_at === null) return true;
  return run.status === 'in_progress' && requestsOf(run)[0]?.echo.store === false;
}

/** Undefined where the run has not come so far. */
export async function loadStretch(db: Executor, run: RunRow, number: number): Promise<Stretch | undefined> {
  const request = requestOfStretch(run, number);
  if (request === undefined) return undefined;
  if (number === 1) return { run, number, request, createdAt: request.created_at, start: firstStart(run) };
  const pause = await findPause(db, run, number - 1);
  if (pause === undefined) return undefined;
  const isLast = run.status === 'paused' && (await findPause(db, run, number)) === undefined;
  if (isLast) return undefined;
  const usage = (pause.data.usage ?? {}) as Record<string, number>;
  return {
    run,
    number,
    request,
    createdAt: request.stretch === number ? request.created_at : Math.floor(pause.created_at.getTime() / 1000),
    start: {
      runId: run.id,
      after: pause.seq,
      used: { input: usage.input_tokens ?? 0, output: usage.output_tokens ?? 0 },
      searches: await listOutputsBefore(db, run, FILE_SEARCH, pause.seq),
    },
  };
}

function firstStart(run: RunRow): StretchStart {
  return { runId: run.id, after: 0, used: { input: 0, output: 0 }, searches: [] };
}

/** The fold of the stretch, with nothing folded yet. */
export function beginFold({ run, number, request, createdAt, start }: Stretch, include: readonly string[] = []) {
  const included = [...request.include, ...include];
  return new ResponseFold(start, {
    showResults: included.includes(FILE_SEARCH_RESULTS),
    holdText: readTurnConfig(run.config).settings.answer.format.type === 'json',
    render: (outcome): JsonObject => ({
      id: responseId(run.id, number),
      object: 'response',
      created_at: createdAt,
      model: run.config.model,
      ...request.echo,
      ...outcome,
    }),
  });
}

/** The fold of what the store has of the stretch. */
export async function foldStored(db: Executor, stretch: Stretch, include?: readonly string[]): Promise<ResponseFold> {
  const fold = beginFold(stretch, include);
  for await (const frame of storedFrames(db, stretch.run, stretch.start.after)) {
    fold.fold(frame);
    if (fold.ended) break;
  }
  return fold;
}

/** The stored frames beyond `after`, a page at a time; each row whole. */
async function* storedFrames(db: Executor, run: RunRow, after: number): AsyncGenerator<ShownFrame> {
  for (let cursor = after; ; ) {
    const frames = await readFrames(db, run.project_id, run.id, cursor);
    if (frames.length === 0) return;
    for (const frame of frames) {
      yield showStoredFrame(run.id, frame, cursor);
      cursor = frame.seq;
    }
  }
}
