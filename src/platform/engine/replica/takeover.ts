/** Takes over turns whose replica died or released them, and goes on with them from what was committed. */
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../../../kernel/periodic/periodic-worker.ts';
import type { Execution } from '../execution/start-execution.ts';
import { ADOPT_AT_ONCE, adoptOrphans, HEARTBEAT_MS } from '../store/replica.ts';
import { loadTurn, seqAfterRestart } from '../store/resume-turn.ts';
import { type RunRow, turnKeyOf } from '../store/run-row.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import { MAX_INTERRUPTIONS, TurnStopped } from '../turn.ts';

export interface TakeoverDependencies {
  readonly db: Database;
  readonly logger: Logger;
  readonly replicaId: string;
  /** The runs that this replica executes. */
  readonly listLive: () => Iterable<string>;
  readonly execute: (execution: Execution) => LiveTurn;
  readonly draining: AbortSignal;
}

/** Looks for such turns every HEARTBEAT_MS, and when it is woken. */
export function createTakeover(deps: TakeoverDependencies): PeriodicWorker {
  return createPeriodicWorker({
    name: 'takeover',
    intervalMs: HEARTBEAT_MS,
    backoff: { firstMs: HEARTBEAT_MS, longestMs: HEARTBEAT_MS },
    logger: deps.logger,
    pass: () => takeOverTurns(deps),
  });
}

/** A turn that cannot be read back now stays this replica's without being executed, and is tried again later. */
async function takeOverTurns(deps: TakeoverDependencies): Promise<void> {
  const { db, replicaId, logger, draining } = deps;
  while (!draining.aborted) {
    const orphans = await adoptOrphans(db, replicaId, [...deps.listLive()]);
    for (const run of orphans) {
      try {
        await resume(deps, run);
      } catch (error) {
        logger.error({ err: error, runId: run.id }, 'a turn that was left behind could not be taken over');
      }
    }
    if (orphans.length < ADOPT_AT_ONCE) return;
  }
}

async function resume({ db, logger, execute }: TakeoverDependencies, run: RunRow): Promise<void> {
  const { state, lastSeq, pauses } = await loadTurn(db, run);
  logger.info({ runId: run.id, attempt: run.attempt }, 'taking over a turn');
  const turn = execute({
    key: turnKeyOf(run),
    lastSeq: seqAfterRestart(lastSeq, run.attempt),
    state,
    restarted: { attempt: run.attempt, step: state.nextPosition },
  });
  const interruptions = run.attempt - 1 - pauses;
  if (run.cancel_requested_at !== null) turn.abort.abort(new TurnStopped('cancelled'));
  else if (interruptions >= MAX_INTERRUPTIONS) {
    const message = `The turn was interrupted ${interruptions} times and is given up.`;
    turn.abort.abort(new ApiError('resume_failed', { message }));
  }
}
