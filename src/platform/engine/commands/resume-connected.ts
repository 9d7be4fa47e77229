/** Lets a run go on whose calls waited for an account that has been connected. */
import type { Database, Transaction } from '../../../kernel/db/database.ts';
import { isUniqueViolation } from '../../../kernel/db/sql-errors.ts';
import { type ConnectedRun, readyConnectedCalls } from '../store/connection-waits.ts';
import { resumeRun, stayPaused } from '../store/leave-pause.ts';
import { findWorkingReplica } from '../store/replica.ts';
import { holdersOf, loadTurn } from '../store/resume-turn.ts';
import type { RunRow } from '../store/run-row.ts';
import { isWaiting } from '../turn.ts';
import type { LeftPauseOutcome } from './close-question.ts';

export async function resumeConnected(db: Database, run: ConnectedRun): Promise<LeftPauseOutcome> {
  try {
    return await db.transaction((tx) => resume(tx, run));
  } catch (error) {
    if (isUniqueViolation(error, 'runs_one_turn_per_smith')) return { kind: 'busy' };
    throw error;
  }
}

async function resume(
  tx: Transaction,
  { project_id: projectId, run_id: runId }: ConnectedRun,
): Promise<LeftPauseOutcome> {
  const { rows } = await tx.query<RunRow>({
    text: `select * from runs where project_id = $1 and id = $2 and status = 'paused' for update skip locked`,
    values: [projectId, runId],
  });
  const [run] = rows;
  if (run === undefined || !(await readyConnectedCalls(tx, projectId, runId))) return { kind: 'gone' };
  const turn = await loadTurn(tx, run);
  const left = { run, seq: turn.lastSeq };
  if (turn.state.openCalls.some(isWaiting)) {
    await stayPaused(tx, left, turn);
    return { kind: 'waits' };
  }
  const replicaId = (await findWorkingReplica(tx, holdersOf(turn))) ?? null;
  await resumeRun(tx, left, replicaId);
  return { kind: 'resumed', replicaId };
}
