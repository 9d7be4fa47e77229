/** Lets a paused run go on without anybody's request: something that it waited for has come, or will not come. */
import type { Database, Transaction } from '../../../kernel/db/database.ts';
import { isUniqueViolation } from '../../../kernel/db/sql-errors.ts';
import { resumeRun, stayPaused } from '../store/leave-pause.ts';
import { findWorkingReplica } from '../store/replica.ts';
import { holdersOf, loadTurn } from '../store/resume-turn.ts';
import type { RunRow } from '../store/run-row.ts';
import { isWaiting } from '../turn.ts';

/**
 * `resumed`: the run waits for nothing else. `replicaId`: who executes it; null: whichever replica takes it over. `busy`: its
 * smith has another turn, so nothing was done: try again. `gone`: it was answered meanwhile.
 */
export type LeftPauseOutcome =
  | { readonly kind: 'resumed'; readonly replicaId: string | null }
  | { readonly kind: 'waits' | 'busy' | 'gone' };

/**
 * `settle` records what has come, and gives the number of the last frame from before it; undefined: there is nothing to record.
 */
export async function goOnByItself(
  db: Database,
  run: { readonly project_id: string; readonly run_id: string },
  settle: (tx: Transaction, run: RunRow) => Promise<number | undefined>,
): Promise<LeftPauseOutcome> {
  try {
    return await db.transaction((tx) => leave(tx, run, settle));
  } catch (error) {
    if (isUniqueViolation(error, 'runs_one_turn_per_smith')) return { kind: 'busy' };
    throw error;
  }
}

async function leave(
  tx: Transaction,
  { project_id: projectId, run_id: runId }: { readonly project_id: string; readonly run_id: string },
  settle: (tx: Transaction, run: RunRow) => Promise<number | undefined>,
): Promise<LeftPauseOutcome> {
  const { rows } = await tx.query<RunRow>({
    text: `select * from runs where project_id = $1 and id = $2 and status = 'paused' for update skip locked`,
    values: [projectId, runId],
  });
  const [run] = rows;
  const seq = run === undefined ? undefined : await settle(tx, run);
  if (run === undefined || seq === undefined) return { kind: 'gone' };
  const turn = await loadTurn(tx, run);
  const left = { run, seq };
  if (turn.state.openCalls.some(isWaiting)) {
    await stayPaused(tx, left, turn);
    return { kind: 'waits' };
  }
  const replicaId = (await findWorkingReplica(tx, holdersOf(turn))) ?? null;
  await resumeRun(tx, left, replicaId);
  return { kind: 'resumed', replicaId };
}
