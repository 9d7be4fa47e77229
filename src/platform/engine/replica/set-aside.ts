/** Ends a turn that is not to be executed again: reads nothing of what it is made of, which may be what ended a process. */
import { systemClock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { closeCalls } from '../execution/turn-records.ts';
import { advanceTurn } from '../store/advance-turn.ts';
import { explainEnds, findLastSeq, type Suspect } from '../store/orphans.ts';
import { seqAfterRestart } from '../store/resume-turn.ts';
import { turnKeyOf } from '../store/run-row.ts';
import type { RunFailure } from '../turn.ts';

/** Abrupt ends without progress between them, the turn alone among the suspects at the last of them. */
const MAX_ENDS_ALONE = 2;
/** As many in any case. */
const MAX_ENDS = 3;

/** Why the turn is not executed again; undefined where it is. */
export function judgeSuspect(run: Suspect): RunFailure | undefined {
  const ends = run.interrupted_by.length;
  if (ends >= MAX_ENDS) {
    const message = `The turn was interrupted ${ends} times without progress and is given up.`;
    return { code: 'resume_failed', message };
  }
  if (ends < MAX_ENDS_ALONE || !run.was_alone || run.others_ended) return undefined;
  const times = ends === MAX_ENDS_ALONE ? 'twice' : `${ends} times`;
  const message = `The turn was interrupted ${times} while it was executed and made no progress; the server may have ended because of it.`;
  return { code: 'run_failed', message };
}

/** The turn must be this replica's. Throws LeaseLostError where it no longer is. */
export async function setAside(db: Database, replicaId: string, run: Suspect, error: RunFailure): Promise<void> {
  const key = turnKeyOf(run);
  const seq = seqAfterRestart(await findLastSeq(db, key), key.attempt) + 1;
  const frame = { type: 'run.failed', data: { error } };
  await advanceTurn(db, key, replicaId, run.actor, {
    status: 'failed',
    error,
    stopReason: 'error',
    output: run.output === null ? null : closeCalls(run.output),
    releasesBudgets: true,
    frames: [{ ...frame, seq, created_at: systemClock.now().toISOString() }],
    feed: [{ ...frame, data: { run_id: key.runId, thread_id: key.threadId, error } }],
  });
  await explainEnds(db, run.interrupted_by);
}
