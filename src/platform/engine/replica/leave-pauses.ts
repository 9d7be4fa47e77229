/**
 * Lets runs go on that wait for nobody any more, on whichever replica looks first: questions that nobody has answered in
 * their time are closed, and calls are made whose accounts have been connected.
 */
import type { Database } from '../../../kernel/db/database.ts';
import { isStorageFault } from '../../../kernel/http/storage-faults.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../../../kernel/periodic/periodic-worker.ts';
import { closeQuestion, findQuestionsToClose, readNextClosing } from '../commands/close-question.ts';
import type { LeftPauseOutcome } from '../commands/go-on-by-itself.ts';
import { resumeConnected } from '../commands/resume-connected.ts';
import { findConnectedRuns } from '../store/connection-waits.ts';

const LOOK_MS = 2_000;

interface PausedRun {
  readonly project_id: string;
  readonly run_id: string;
}

export interface PauseLeaverDependencies {
  readonly db: Database;
  readonly logger: Logger;
  /** Told of runs that have changed: those who follow them are woken. */
  readonly announce: (runIds: readonly string[]) => void;
  /** A run goes on: at the replica of this id, or at whichever takes it over. */
  readonly onResumed: (run: PausedRun, replicaId: string | null) => Promise<void>;
}

export function createPauseLeaver(deps: PauseLeaverDependencies): PeriodicWorker {
  return createPeriodicWorker({
    name: 'leave pauses',
    intervalMs: LOOK_MS,
    store: deps.db,
    logger: deps.logger,
    async pass(signal) {
      const closed = await leaveAll(deps, { find: findQuestionsToClose, leave: closeQuestion }, signal);
      const connected = await leaveAll(deps, { find: findConnectedRuns, leave: resumeConnected }, signal);
      return closed + connected > 0 ? 0 : readNextClosing(deps.db);
    },
  });
}

interface Reason<Run extends PausedRun> {
  /** The next page of such runs, beyond this one. */
  readonly find: (db: Database, after: Run | undefined) => Promise<Run[]>;
  readonly leave: (db: Database, run: Run) => Promise<LeftPauseOutcome>;
}

/** How many there were. */
async function leaveAll<Run extends PausedRun>(
  deps: PauseLeaverDependencies,
  reason: Reason<Run>,
  signal: AbortSignal,
): Promise<number> {
  let count = 0;
  for (let last: Run | undefined; !signal.aborted; ) {
    const runs = await reason.find(deps.db, last);
    for (const run of runs) await leaveOne(deps, run, reason);
    count += runs.length;
    last = runs.at(-1);
    if (last === undefined) break;
  }
  return count;
}

/** One that cannot go on is tried again in the next pass, and keeps nobody else waiting. */
async function leaveOne<Run extends PausedRun>(
  { db, logger, announce, onResumed }: PauseLeaverDependencies,
  run: Run,
  { leave }: Reason<Run>,
): Promise<void> {
  try {
    const outcome = await leave(db, run);
    if (outcome.kind === 'resumed' || outcome.kind === 'waits') announce([run.run_id]);
    if (outcome.kind === 'resumed') await onResumed(run, outcome.replicaId);
  } catch (error) {
    if (isStorageFault(error)) throw error;
    logger.error({ err: error, runId: run.run_id }, 'a paused run could not go on');
  }
}
