/** The proof that the wallets are right, over all of them, in one statement and so as of one moment. */
import type { Database, Executor } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { storedGauge } from '../../kernel/jobs/stored-gauge.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import { UNITS_A_CENT } from './draw-sql.ts';

const AUDIT_WALLETS = 'audit-wallets';
const AUDIT_CRON = '27 * * * *';
const SWEEP_STRIPE_EVENTS = 'sweep-stripe-events';
const SWEEP_CRON = '33 * * * *';
/** Enough to see what is wrong; each check ends there. */
const FINDINGS_A_CHECK = 20;
/** Stripe repeats an event for three days, and people at its dashboard for thirty. */
const EVENTS_KEPT = '40 days';

const checks: readonly string[] = [
  `select 'the transaction ' || transaction_id || ' sums to ' || sum(amount_cents) || ' cents' as finding
   from wallet_entries group by organization_id, transaction_id having sum(amount_cents) <> 0`,

  `select 'the transaction ' || t.id || ' has no entries' from wallet_transactions t
   where not exists (
     select from wallet_entries e where e.organization_id = t.organization_id and e.transaction_id = t.id)`,

  `select 'the wallet of ' || w.organization_id || ' has ' || w.balance_cents || ' cents; its entries say '
     || coalesce(booked.cents, 0)
   from wallets w left join (
     select organization_id, sum(amount_cents) as cents from wallet_entries where account = 'balance' group by organization_id
   ) booked on booked.organization_id = w.organization_id
   where w.balance_cents <> coalesce(booked.cents, 0)`,

  `select 'usage of ' || w.organization_id || ' cost ' || coalesce(drawn.cost, 0) || '; '
     || coalesce(drawn.cents, 0) || ' cents are drawn, ' || coalesce(booked.cents, 0) || ' booked, and ' || w.carry || ' carried'
   from wallets w
   left join (
     select organization_id, sum(cost) as cost, sum(drawn_cents) as cents from wallet_draws group by organization_id
   ) drawn on drawn.organization_id = w.organization_id
   left join (
     select organization_id, sum(amount_cents) as cents from wallet_entries where account = 'usage' group by organization_id
   ) booked on booked.organization_id = w.organization_id
   where coalesce(drawn.cost, 0) <> coalesce(booked.cents, 0) * ${UNITS_A_CENT} + w.carry
      or coalesce(drawn.cents, 0) <> coalesce(booked.cents, 0)`,

  `select 'the payment ' || p.id || ' is ' || p.state || ' for ' || p.amount_cents || ' cents, and '
     || coalesce(e.amount_cents, 0) || ' are booked'
   from wallet_payments p
   left join wallet_transactions t on t.reference = 'payment:' || p.id
   left join wallet_entries e on e.organization_id = t.organization_id and e.transaction_id = t.id and e.account = 'balance'
   where p.kind <> 'setup'
     and coalesce(e.amount_cents, 0) <> case when p.state = 'succeeded' then p.amount_cents else 0 end`,
];

const audit = checks.map((check) => `(${check} limit ${FINDINGS_A_CHECK})`).join(' union all ');

/**
 * What is wrong with the money, a sentence each, at most 20 of a kind; empty when all is well: every transaction has entries
 * and sums to zero; wallets equal their entries; what usage cost equals, exactly, the cents drawn and what is carried;
 * a payment is booked when it succeeded, for its amount, and not otherwise.
 */
export async function auditWallets(executor: Executor): Promise<string[]> {
  const { rows } = await executor.query<{ finding: string }>({ text: audit, values: [] });
  return rows.map(({ finding }) => finding);
}

export interface AuditDependencies {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Audits each hour on some replica, and removes events of Stripe that cannot come again. Call before `jobs.start`. */
export function defineWalletJobs(jobs: Jobs, { db, logger, metrics }: AuditDependencies): void {
  const found = storedGauge({ db, metrics }, 'wallet_findings', 'What the last audit of the wallets found wrong');
  jobs.define(
    AUDIT_WALLETS,
    async () => {
      const findings = await auditWallets(db);
      await found.set(findings.length);
      if (findings.length > 0) logger.error({ findings }, 'the wallets do not add up');
    },
    { concurrency: 1 },
  );
  jobs.schedule(AUDIT_WALLETS, AUDIT_CRON, {});
  jobs.define(SWEEP_STRIPE_EVENTS, () => sweepStripeEvents(db), { concurrency: 1 });
  jobs.schedule(SWEEP_STRIPE_EVENTS, SWEEP_CRON, {});
}

async function sweepStripeEvents(db: Database): Promise<void> {
  await db.query({
    text: `delete from stripe_events where received_at < now() - interval '${EVENTS_KEPT}'`,
    values: [],
  });
}
