/**
 * What a call may cost at most is reserved of the blocking budgets that apply before the model is called, and given back by
 * the statement that records what it did cost. So calls that run side by side pass a limit by no more than the last of
 * them: each begins only while what was spent and what is reserved are below the limit together.
 *
 *   free ──reserve──▶ reserved ──settled (recordUsageSql)──▶ spent
 *                        └──── crash: released by whoever takes over, or when it expires ──▶ free
 *
 * The first call of a turn is reserved for by the statement that starts the turn (`reserveNamedSql`), where there is room.
 */
import { elapsedMs, sleep } from '../../kernel/clock/timers.ts';
import type { Executor } from '../../kernel/db/database.ts';
import { backoffMs } from '../../kernel/retry/backoff.ts';
import { priceUsage } from '../models/index.ts';
import {
  applyingBudgetsSql,
  type BudgetSubject,
  budgetExceeded,
  findBlockingBudgets,
  throwIfSpent,
} from './blocking-budgets.ts';
import { periodKeySql, TODAY_SQL } from './period.ts';
import { spendBudgetsSql } from './spending-sql.ts';

/** Longer than any call of a model takes. */
const RESERVED_FOR = '30 minutes';
/** What is reserved for an answer where neither the request nor the catalogue says how long it may be. Tokens. */
export const DEFAULT_ANSWER_TOKENS = 32_768;
/** How long a call waits for others to give back what they reserved, before it is refused. */
const DEFAULT_WAIT_MS = 30_000;
const POLL = { firstMs: 40, longestMs: 500, jitter: 'half' } as const;

export interface Reservation extends BudgetSubject {
  /** A run or another operation, by its id: it holds one reservation at a time. */
  readonly holder: string;
  /** Of a run: nothing is reserved or given back for an attempt whose turn another replica has taken over, or that has ended. */
  readonly attempt?: number | undefined;
  /** Millionths of a US dollar. */
  readonly amountMicros: number;
  readonly signal?: AbortSignal | undefined;
  readonly waitMs?: number | undefined;
}

/** What a call may cost at most by its model's list price, whatever is cached or thought; 0 where there is none. */
export function priceWorstCase(modelId: string, inputTokens: number, outputTokens: number): number {
  const plain = priceUsage(modelId, { inputTokens, outputTokens });
  const parts = { cacheWriteTokens: inputTokens, reasoningTokens: outputTokens };
  return Math.max(plain ?? 0, priceUsage(modelId, { inputTokens, outputTokens, ...parts }) ?? 0);
}

/**
 * Reserves the amount of every blocking budget that applies; where others have reserved what is left, it waits for them.
 * True where something is held, which `recordUsageSql` or `releaseBudgets` gives back. Throws `budget_exceeded`, or the
 * signal's reason.
 */
export async function reserveBudgets(db: Executor, reservation: Reservation): Promise<boolean> {
  const { amountMicros, signal, waitMs = DEFAULT_WAIT_MS } = reservation;
  const deadline = elapsedMs() + waitMs;
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    // What costs nothing needs no room, only a budget that is not spent.
    const tried = amountMicros > 0 ? await tryToReserve(db, reservation) : undefined;
    if (tried !== undefined && tried.held === tried.applying) return tried.held > 0;
    if (tried !== undefined && tried.held > 0) await releaseBudgets(db, reservation);
    const budgets = await findBlockingBudgets(db, reservation);
    throwIfSpent(budgets);
    if (tried === undefined || budgets.length === 0) return false;
    const [budget] = budgets;
    if (budget !== undefined && elapsedMs() >= deadline) throw budgetExceeded(budget, 'reserved');
    await wait(backoffMs(attempt, POLL), signal);
  }
}

/** The same for those who do not know yet whether a blocking budget applies. */
export async function guardBudgets(
  db: Executor,
  reservation: Omit<Reservation, 'amountMicros'>,
  priceAtMost: () => number,
): Promise<boolean> {
  const budgets = await findBlockingBudgets(db, reservation);
  throwIfSpent(budgets);
  if (budgets.length === 0) return false;
  const amountMicros = priceAtMost();
  return amountMicros > 0 && reserveBudgets(db, { ...reservation, amountMicros });
}

async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(ms, signal);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

/** A period's row is changed under its lock, so that its condition is judged by what others have committed. */
async function tryToReserve(db: Executor, { projectId, smithId, agentId, attempt, holder, amountMicros }: Reservation) {
  const { rows } = await db.query<{ applying: number; held: number }>({
    ...reserving,
    values: [projectId, smithId, agentId ?? null, holder, amountMicros, attempt ?? null],
  });
  return rows[0] ?? { applying: 0, held: 0 };
}

/** False for an attempt that is not the run's last one, or has ended. A holder without attempts is no run. */
function isUnderWaySql(names: { readonly project: string; readonly holder: string; readonly attempt: string }): string {
  const { project, holder, attempt } = names;
  return `(${attempt}::int is null or exists (
    select from runs r where r.project_id = ${project} and r.id = ${holder} and r.attempt = ${attempt} and r.status = 'in_progress'
  ))`;
}

const reserving = {
  text: `
    with applying as (
      select b.id, ${periodKeySql('b.period', TODAY_SQL)} as period_key, b.limit_micros
      from (values (1)) as one (row)
      left join smiths s on s.project_id = $1 and s.id = $2
      cross join lateral (
        select b.* from ${applyingBudgetsSql({ project: '$1', agent: 'coalesce($3, s.agent_id)', smith: 's.id', customer: 's.customer_id' })}
      ) b
      where ${isUnderWaySql({ project: '$1', holder: '$4', attempt: '$6' })}
    ), ${holdSql({ project: '$1', holder: '$4', rows: 'select *, $5::bigint as amount from applying' })}
    select (select count(*) from applying)::int as applying, (select count(*) from budgets_kept)::int as held,
      -- A crash of the database takes along the reservations of its last moments: they bound what runs side by side, and are
      -- no money.
      set_config('synchronous_commit', 'off', true)`,
};

/**
 * CTEs that reserve for `holder` of the budgets whose ids are in `ids`, each where it has room; nothing unless the relation
 * `source` has a row. `amount` is an expression in micro-dollars. Every argument is SQL. `budgets_kept` has a row, with the
 * `amount_micros`, for each of which something is held: where those are not all, the holder has to give them back.
 */
export function reserveNamedSql(names: {
  readonly project: string;
  readonly holder: string;
  readonly source: string;
  readonly ids: string;
  readonly amount: string;
}): string {
  const { project, holder, source, ids, amount } = names;
  const rows = `
    select b.id, ${periodKeySql('b.period', TODAY_SQL)} as period_key, b.limit_micros, (${amount})::bigint as amount
    from ${source} join budgets b on b.project_id = ${project} and b.id = any(${ids}) and b.action = 'block'`;
  return holdSql({ project, holder, rows });
}

/** `rows` selects id, period_key, limit_micros and amount. The order is that of all who lock several periods. */
function holdSql({
  project,
  holder,
  rows,
}: {
  readonly project: string;
  readonly holder: string;
  readonly rows: string;
}) {
  return `
    budgets_asked as (${rows}), budgets_held as (
      insert into budget_periods as p (project_id, budget_id, period_key, reserved_micros, limit_micros)
      select ${project}, id, period_key, amount, limit_micros from budgets_asked where limit_micros > 0 order by id, period_key
      on conflict (project_id, budget_id, period_key) do update
        set reserved_micros = p.reserved_micros + excluded.reserved_micros
        where p.spent_micros + p.reserved_micros < p.limit_micros
      returning budget_id, period_key
    ), budgets_kept as (
      insert into budget_reservations (project_id, holder, budget_id, period_key, amount_micros, expires_at)
      select ${project}, ${holder}, h.budget_id, h.period_key, a.amount, now() + interval '${RESERVED_FOR}'
      from budgets_held h join budgets_asked a on a.id = h.budget_id
      returning amount_micros
    )`;
}

/** Gives back what the holder has reserved, nothing having been used. */
export async function releaseBudgets(
  db: Executor,
  { projectId, holder, attempt }: Pick<Reservation, 'projectId' | 'holder' | 'attempt'>,
): Promise<void> {
  await db.query({ ...releasing, values: [projectId, holder, attempt ?? null] });
}

/** Gives back what crashes have left, some at a time. */
export async function releaseExpired(db: Executor): Promise<void> {
  const { rows } = await db.query<{ project_id: string; holder: string }>({
    text: 'select distinct project_id, holder from budget_reservations where expires_at <= now() limit 500',
    values: [],
  });
  for (const { project_id: projectId, holder } of rows) {
    await db.query({ ...releasingExpired, values: [projectId, holder] });
  }
}

const ofAttempt = isUnderWaySql({ project: '$1', holder: '$2', attempt: '$3' });
const releasing = { text: releaseSql(`holder = $2 and ${ofAttempt}`) };
const releasingExpired = { text: releaseSql('holder = $2 and expires_at <= now()') };

function releaseSql(released: string): string {
  return `
    with nothing as (
      select ''::text as source, ''::text as agent_id, ''::text as smith_id, ''::text as customer_id, null::date as day,
        0::bigint as cost_micros where false
    ), ${spendBudgetsSql({ project: '$1', rows: 'nothing', added: 'nothing', released })}
    select count(*) from budget_added`;
}
