/** Closes a question that nobody has answered, and lets its run go on. */
import type { Database, Transaction } from '../../../kernel/db/database.ts';
import { isUniqueViolation } from '../../../kernel/db/sql-errors.ts';
import { json } from '../../../kernel/db/values.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { expiryFrame } from '../execution/turn-records.ts';
import { resumeRun, stayPaused } from '../store/leave-pause.ts';
import { LEASE_SECONDS } from '../store/replica.ts';
import { loadTurn } from '../store/resume-turn.ts';
import type { RunRow } from '../store/run-row.ts';
import type { ToolStep } from '../turn.ts';

export interface OpenQuestion {
  readonly project_id: string;
  readonly run_id: string;
  readonly id: string;
}

/** Questions that are closed in one pass. */
const CLOSED_AT_ONCE = 64;

/** Those whose time is over, and those that only a replica could carry on that has gone. */
export async function findQuestionsToClose(db: Database): Promise<OpenQuestion[]> {
  const { rows } = await db.query<OpenQuestion>({
    text: `
      select project_id, run_id, id from approvals a
      where status = 'pending' and expires_at is not null and (
        expires_at <= now() or holder is not null and not exists (
          select from replicas p
          where p.id = a.holder and p.heartbeat_at > now() - interval '${LEASE_SECONDS} seconds'
        ))
      order by expires_at limit ${CLOSED_AT_ONCE}`,
  });
  return rows;
}

/**
 * The question expires, and its call is told that nobody answered. `resumed`: the run waits for nothing else, and is there
 * to be taken over. `busy`: its smith has another turn, so nothing was done: try again. `gone`: it was answered meanwhile.
 */
export async function closeQuestion(
  db: Database,
  question: OpenQuestion,
): Promise<'resumed' | 'waits' | 'busy' | 'gone'> {
  try {
    return await db.transaction((tx) => close(tx, question));
  } catch (error) {
    if (isUniqueViolation(error, 'runs_one_turn_per_smith')) return 'busy';
    throw error;
  }
}

async function close(tx: Transaction, { project_id: projectId, run_id: runId, id }: OpenQuestion) {
  const { rows } = await tx.query<RunRow>({
    text: `select * from runs where project_id = $1 and id = $2 and status = 'paused' for update skip locked`,
    values: [projectId, runId],
  });
  const [run] = rows;
  if (run === undefined) return 'gone';
  const before = await loadTurn(tx, run);
  const step = before.state.openCalls.find(({ approvalId, question }) => approvalId === id && question !== undefined);
  if (step === undefined) return 'gone';
  await expire(tx, run, step, id);
  await tellOfExpiry(tx, run, id, before.lastSeq + 1);
  const turn = await loadTurn(tx, run);
  const left = { run, seq: before.lastSeq };
  if (turn.state.openCalls.some(({ status }) => status === 'approval' || status === 'waiting')) {
    await stayPaused(tx, left, turn);
    return 'waits';
  }
  await resumeRun(tx, left, null);
  return 'resumed';
}

async function expire(tx: Transaction, run: RunRow, { position }: ToolStep, id: string): Promise<void> {
  await tx.query({
    text: `update approvals set status = 'expired', resolved_at = now() where project_id = $1 and id = $2`,
    values: [run.project_id, id],
  });
  await tx.query({
    text: `update run_steps set status = 'ready' where project_id = $1 and run_id = $2 and position = $3`,
    values: [run.project_id, run.id, position],
  });
}

async function tellOfExpiry(tx: Transaction, run: RunRow, id: string, seq: number): Promise<void> {
  const { type, data } = expiryFrame(id);
  await tx.query({
    text: 'insert into run_events (project_id, run_id, seq, type, data) values ($1, $2, $3, $4, $5)',
    values: [run.project_id, run.id, seq, type, json(data)],
  });
  await appendEvent(tenantDb(tx, run.project_id), {
    type: 'approval.resolved',
    smithId: run.smith_id,
    actor: run.actor,
    data: { run_id: run.id, thread_id: run.thread_id, ...data },
  });
}
