import type { Executor } from '../../../../kernel/db/database.ts';
import type { RunRow } from '../../../engine/index.ts';
import { findRunByCalls, type WaitingPlace } from '../../find-waiting-run.ts';
import { invalid, type ToolResults } from './read-messages.ts';

interface OpenCall {
  readonly id: string;
  readonly status: string;
}

/**
 * The smith's newest paused run that waits for each of these results; with a thread, the newest in it. Throws
 * `invalid_input` where it waits for more than these.
 */
export async function findRunForResults(
  db: Executor,
  place: WaitingPlace,
  { calls, results }: ToolResults,
): Promise<RunRow | undefined> {
  const nameOf = (callId: string) => calls?.find(({ id }) => id === callId)?.name;
  const waiting = results.map(({ callId }) => ({ callId, name: nameOf(callId) }));
  const run = await findRunByCalls(db, place, waiting);
  if (run === undefined) return undefined;
  const open = ((run.output?.tool_calls ?? []) as OpenCall[]).filter(({ status }) => status === 'requires_result');
  const missing = open.filter(({ id }) => !results.some(({ callId }) => callId === id)).map(({ id }) => id);
  if (missing.length === 0) return run;
  throw invalid(
    'messages',
    `must end with a message with the role tool for each open call; missing: ${missing.join(', ')}`,
  );
}
