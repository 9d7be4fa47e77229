/** Responses: each shows one segment of a run. */

import { ApiError } from '../../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../../access/caller.ts';
import { type RunRow, readFrames, readTurnConfig, type ShownFrame, showStoredFrame } from '../../../engine/index.ts';
import type { TenantDb } from '../../../store/tenant-db.ts';
import type { JsonObject } from '../../../tables.ts';
import { FILE_SEARCH } from '../../../tools/file-search.ts';
import { type Segment, segmentOf } from '../../segment.ts';
import { readResponseId, responseId } from '../item-ids.ts';
import { ResponseFold } from './fold-response.ts';
import { FILE_SEARCH_RESULTS, type ResponseRequest, requestOfSegment, requestsOf } from './response-request.ts';
import { findRun, listOutputsBefore } from './response-store.ts';

/** A segment that a response shows, with what the request for it said. */
export interface ResponseSegment extends Segment {
  readonly request: ResponseRequest;
  /** Unix seconds. */
  readonly createdAt: number;
}

/** The response that the id names, as the caller may see it. Throws `not_found`. */
export async function getResponseSegment(db: TenantDb, caller: ProjectCaller, id: string): Promise<ResponseSegment> {
  const named = readResponseId(id);
  const smithId = caller.kind === 'smith' ? caller.smithId : null;
  const run = named === undefined ? undefined : await findRun(db, named.runId, smithId);
  const shown = run === undefined || !isKept(run) ? undefined : findResponse(run, named?.segment ?? 1);
  if (shown === undefined) throw new ApiError('not_found');
  return shown;
}

/** Whether the run's responses may be retrieved: one that is not to be stored, as long as it is made. */
function isKept(run: RunRow): boolean {
  if (run.hidden_at === null) return true;
  return run.status === 'in_progress' && requestsOf(run)[0]?.echo.store === false;
}

/** Undefined where the run has not come so far. */
export function findResponse(run: RunRow, number: number): ResponseSegment | undefined {
  const segment = segmentOf(run, number);
  return segment === undefined ? undefined : responseOf(segment);
}

/** The segment as a response. */
export function responseOf(segment: Segment): ResponseSegment {
  const request = requestOfSegment(segment.run, segment.number);
  if (request === undefined) throw new Error(`Run ${segment.run.id} was not started by a response`);
  const isOwn = request.segment === segment.number;
  const createdAt = isOwn ? request.created_at : Math.floor(segment.from.getTime() / 1000);
  return { ...segment, request, createdAt };
}

/** The fold of the segment, with nothing folded yet. */
export async function beginFold(db: TenantDb, segment: ResponseSegment, include: readonly string[] = []) {
  const { run, number, request, createdAt, after, usedBefore } = segment;
  // A segment behind a pause may cite what was found before it.
  const mayCite = number > 1 && run.config.file_search != null;
  const searches = mayCite ? await listOutputsBefore(db, run, FILE_SEARCH, after) : [];
  const start = { runId: run.id, after, used: usedBefore, searches };
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

/** The fold of what the store has of the segment. */
export async function foldStored(
  db: TenantDb,
  segment: ResponseSegment,
  include?: readonly string[],
): Promise<ResponseFold> {
  const fold = await beginFold(db, segment, include);
  for await (const frame of storedFrames(db, segment.run, segment.after)) {
    fold.fold(frame);
    if (fold.ended) break;
  }
  return fold;
}

/** The stored frames beyond `after`, a page at a time; each row whole. */
async function* storedFrames(db: TenantDb, run: RunRow, after: number): AsyncGenerator<ShownFrame> {
  for (let cursor = after; ; ) {
    const frames = await readFrames(db, run.id, cursor);
    if (frames.length === 0) return;
    for (const frame of frames) {
      yield showStoredFrame(run.id, frame, cursor);
      cursor = frame.seq;
    }
  }
}
