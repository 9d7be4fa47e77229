import { waitForDisk } from '../../kernel/db/async-commit.ts';
import { type Engine, type LiveTurn, waitForRest as pollForRest, type RunRow } from '../engine/index.ts';
import { isOver, type Segment } from './segment.ts';

/**
 * The run once it rests; as it stands when `signal` fires or this server drains first, and then its start is on the disk.
 * `live`: the segment's execution, where this replica has begun it, which saves looking into the store. Throws `storage_unavailable`
 * where the database was interrupted and has lost the run.
 */
export async function waitForRest(
  engine: Engine,
  { segment, live }: { readonly segment: Segment; readonly live: LiveTurn | undefined },
  signal: AbortSignal,
): Promise<RunRow> {
  if (isOver(segment)) return segment.run;
  const row = live === undefined ? undefined : await untilLeft(live, signal);
  if (row !== undefined) return row;
  const rested = await pollForRest(engine, segment.run, signal);
  if (rested.status === 'in_progress') await waitForDisk(engine.db);
  return rested;
}

/** Undefined: the turn left this replica, or the caller has waited long enough. */
async function untilLeft(live: LiveTurn, signal: AbortSignal): Promise<RunRow | undefined> {
  const { promise: left, resolve } = Promise.withResolvers<undefined>();
  const onLeft = () => resolve(undefined);
  signal.addEventListener('abort', onLeft, { once: true });
  if (signal.aborted) onLeft();
  const row = await Promise.race([live.done, left]);
  signal.removeEventListener('abort', onLeft);
  return row;
}
