/**
 * Top-ups: money that a person pays on a page of the payment provider. The row is the record of one:
 *
 *   open ─▶ succeeded   the payment provider says that it was paid: the wallet is credited, once, by `payment:<id>`
 *        ─▶ expired     not paid in time, as the payment provider says: by our clock a page might be closed that can still be paid
 *
 * There is no notification of a payment, so open ones are looked up: each minute at first, then less and less often.
 */
import { sql } from 'kysely';
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database, Transaction } from '../../../kernel/db/database.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { systemDb, workspaceDb } from '../../workspace-scope.ts';
import { credit } from '../ledger.ts';
import type { Payments, TopUp } from './payments.ts';

const SETTLE_TOP_UPS = 'domains-settle-top-ups';
const SETTLE_CRON = '* * * * *';
/** Looked up in one run. */
const BATCH = 100;
/** After so many the payment provider counts as unreachable: the rest waits for the next run. */
const FAILURES_A_RUN = 3;

export interface TopUpDependencies {
  readonly db: Database;
  readonly payments: Payments;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In the transaction that credits the wallet, so that what waits for money is told once it is there. */
  readonly onPaid: (tx: Transaction) => Promise<void>;
}

export interface NewTopUp {
  readonly id: string;
  readonly amountCents: number;
  readonly page: TopUp;
  readonly now: Date;
}

/** Inserts a top-up whose page is open. */
export async function insertTopUp(tx: Transaction, workspaceId: string, topUp: NewTopUp): Promise<void> {
  const { id, amountCents, page, now } = topUp;
  await workspaceDb(tx, workspaceId)
    .insertInto('payments')
    .values({
      id,
      kind: 'top_up',
      order_id: null,
      amount_cents: amountCents,
      state: 'open',
      sealed_instrument: null,
      provider_reference: page.reference,
      provider_url: page.url,
      failure: null,
      created_at: now,
      updated_at: now,
    })
    .execute();
}

/** Defines the job that settles top-ups. Call before `jobs.start`. */
export function definePayments(jobs: Jobs, deps: TopUpDependencies): void {
  jobs.define(SETTLE_TOP_UPS, ({ signal }) => settleTopUps(deps, signal), { concurrency: 1 });
  if (deps.payments.isConfigured) jobs.schedule(SETTLE_TOP_UPS, SETTLE_CRON, {});
}

interface OpenTopUp {
  readonly workspace_id: string;
  readonly id: string;
  readonly amount_cents: number;
  readonly provider_reference: string | null;
}

/** Looks up the open top-ups that are due. Repeating it, also at the same time, credits nothing twice. */
export async function settleTopUps(deps: TopUpDependencies, signal?: AbortSignal): Promise<void> {
  if (!deps.payments.isConfigured) return;
  let failures = 0;
  for (const topUp of await listDue(deps)) {
    if (signal?.aborted === true || failures === FAILURES_A_RUN) return;
    try {
      await settleTopUp(deps, topUp);
    } catch (error) {
      failures += 1;
      deps.logger.warn({ err: error, paymentId: topUp.id }, 'a top-up could not be looked up');
      await putBack(deps, topUp);
    }
  }
}

/** The next look is a tenth of its age after the last one, an hour at most; a last one that is still to come is of a clock that was ahead. */
async function listDue({ db, clock }: TopUpDependencies): Promise<OpenTopUp[]> {
  const next = sql<Date>`updated_at + least((updated_at - created_at) / 10, interval '1 hour')`;
  const now = clock.now();
  return systemDb(db)
    .selectFrom('payments')
    .select(['workspace_id', 'id', 'amount_cents', 'provider_reference'])
    .where('state', '=', 'open')
    .where('kind', '=', 'top_up')
    .where((either) => either.or([either(next, '<=', now), either('updated_at', '>', now)]))
    .orderBy('updated_at')
    .limit(BATCH)
    .execute();
}

/** Asks whether it was paid, and credits the wallet where it was. Throws when there is no answer. */
export async function settleTopUp(deps: TopUpDependencies, topUp: OpenTopUp): Promise<void> {
  const found = await deps.payments.lookUpTopUp(topUp.provider_reference ?? '');
  if (found === 'paid') await complete(deps, topUp);
  else if (found === 'expired') await close(deps.db, deps, topUp, 'expired');
  else await putBack(deps, topUp);
}

async function complete(deps: TopUpDependencies, topUp: OpenTopUp): Promise<void> {
  const { workspace_id: workspaceId, id, amount_cents: amountCents } = topUp;
  await deps.db.transaction(async (tx) => {
    await close(tx, deps, topUp, 'succeeded');
    const reference = `payment:${id}`;
    await credit(tx, { workspaceId, source: 'card', amountCents, reference, description: 'top-up by card' });
    await deps.onPaid(tx);
  });
  deps.logger.info({ workspaceId, paymentId: id, amountCents }, 'a top-up was paid');
}

async function close(
  executor: Database | Transaction,
  { clock }: TopUpDependencies,
  topUp: OpenTopUp,
  state: 'succeeded' | 'expired',
): Promise<void> {
  await workspaceDb(executor, topUp.workspace_id)
    .updateTable('payments')
    .set({ state, updated_at: clock.now() })
    .where('id', '=', topUp.id)
    .where('state', '=', 'open')
    .execute();
}

/** Puts it after those that wait longer. */
async function putBack({ db, clock }: TopUpDependencies, topUp: OpenTopUp): Promise<void> {
  await workspaceDb(db, topUp.workspace_id)
    .updateTable('payments')
    .set({ updated_at: clock.now() })
    .where('id', '=', topUp.id)
    .execute();
}
