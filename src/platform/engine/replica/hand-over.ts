/**
 * Runs that one replica resumes and another executes: the one that holds a call open whose question was answered. The row
 * names the executing replica from the commit on; the message is a hint, and a run whose message was lost is taken up as
 * one that its replica does not execute (store/orphans.ts).
 */
import type { Database } from '../../../kernel/db/database.ts';
import type { Execution } from '../execution/start-execution.ts';
import { loadTurn } from '../store/resume-turn.ts';
import { type RunRow, turnKeyOf } from '../store/run-row.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import type { HandedOverRun } from '../timeline/run-signals.ts';

export interface HandOverDependencies {
  readonly db: Database;
  readonly replicaId: string;
  readonly findLive: (runId: string) => LiveTurn | undefined;
  readonly execute: (execution: Execution) => LiveTurn;
}

/** Executes the run, where it is this replica's and not under way. */
export async function takeHandedOver(
  { db, replicaId, findLive, execute }: HandOverDependencies,
  run: HandedOverRun,
): Promise<void> {
  if (run.replicaId !== replicaId || findLive(run.runId) !== undefined) return;
  const { rows } = await db.query<RunRow>({
    text: `select * from runs where project_id = $1 and id = $2 and replica_id = $3 and status = 'in_progress'`,
    values: [run.projectId, run.runId, replicaId],
  });
  const [row] = rows;
  if (row === undefined) return;
  const { state, lastSeq } = await loadTurn(db, row);
  if (findLive(run.runId) === undefined) execute({ key: turnKeyOf(row), lastSeq, state });
}
