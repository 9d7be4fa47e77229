/** Closes a question that nobody has answered, and lets its run go on. */
import type { Database, Transaction } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { expiryFrame } from '../execution/turn-records.ts';
import { LEASE_SECONDS } from '../store/replica.ts';
import { loadTurn } from '../store/resume-turn.ts';
import type { RunRow } from '../store/run-row.ts';
import type { ToolStep } from '../turn.ts';
import { goOnByItself, type LeftPauseOutcome } from './go-on-by-itself.ts';

export interface OpenQuestion {
  readonly project_id: string;
  readonly run_id: string;
  readonly id: string;
  /** ISO-8601, to the microsecond. */
  readonly expires_at: string;
}

/** Questions that are read at once. */
const PAGE = 64;

/**
 * Those whose time is over, and those that only a replica could carry on that has gone: the next beyond `after`, as they
 * expire. Not those whose run waits for its smith, or is under way besides: whatever they wait for, others do not wait behind them.
 */
export async function findQuestionsToClose(db: Database, after: OpenQuestion | undefined): Promise<OpenQuestion[]> {
  const { rows } = await db.query<OpenQuestion>({
    text: `
      select a.project_id, a.run_id, a.id,
        to_char(a.expires_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as expires_at
      from approvals a join runs r on r.project_id = a.project_id and r.id = a.run_id
      where a.status = 'pending' and a.expires_at is not null and r.status = 'paused'
        and ($1::timestamptz is null or (a.expires_at, a.id) > ($1, $2))
        and (a.expires_at <= now() or a.holder is not null and not exists (
          select from replicas p
          where p.id = a.holder and not p.leaving and p.heartbeat_at > now() - interval '${LEASE_SECONDS} seconds'
        ))
        and not exists (
          select from runs busy
          where busy.project_id = r.project_id and busy.smith_id = r.smith_id and busy.status = 'in_progress'
        )
      order by a.expires_at, a.id limit ${PAGE}`,
    values: [after?.expires_at ?? null, after?.id ?? null],
  });
  return rows;
}

/** Milliseconds until the first question is to be closed of those that are not yet; undefined where there is none. */
export async function readNextClosing(db: Database): Promise<number | undefined> {
  const { rows } = await db.query<{ wait_ms: number | null }>({
    text: `
      select 1000 * extract(epoch from min(close_at) - now())::float8 as wait_ms
      from (
        select least(a.expires_at, (
          select p.heartbeat_at + interval '${LEASE_SECONDS} seconds' from replicas p where p.id = a.holder and not p.leaving
        )) as close_at
        from approvals a where a.status = 'pending' and a.expires_at is not null
      ) open
      where close_at > now()`,
    values: [],
  });
  return rows[0]?.wait_ms ?? undefined;
}

/** The question expires, and its call is told that nobody answered: where it is held open, by the replica that holds it. */
export function closeQuestion(db: Database, question: OpenQuestion): Promise<LeftPauseOutcome> {
  const { id } = question;
  return goOnByItself(db, question, async (tx, run) => {
    const before = await loadTurn(tx, run);
    const step = before.state.openCalls.find(
      ({ approvalId, question: asked }) => approvalId === id && asked !== undefined,
    );
    if (step === undefined) return undefined;
    await expire(tx, run, step, id);
    await tellOfExpiry(tx, run, id, before.lastSeq + 1);
    return before.lastSeq;
  });
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
