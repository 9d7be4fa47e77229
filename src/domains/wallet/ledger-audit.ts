/** The proof that the ledger is right, over everything, in one statement and so as of one moment. */
import type { Database, Executor } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { storedGauge } from '../../kernel/jobs/stored-gauge.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';

const AUDIT_LEDGER = 'domains-audit-ledger';
const AUDIT_CRON = '17 * * * *';
/** Enough to see what is wrong; each check ends there. */
const FINDINGS_A_CHECK = 20;

/** A hold of an order, and how it ended where it did: both ids follow from the order's. See ledger.ts. */
const holds = `
  select placed.workspace_id, split_part(placed.reference, ':', 2) as order_id, ended.kind as ended_by,
         coalesce(entry.amount_cents, 0) as held_cents
  from domains.ledger_transactions placed
  left join domains.ledger_transactions ended
    on ended.workspace_id = placed.workspace_id and ended.id = split_part(placed.reference, ':', 2) || '_end'
  left join domains.ledger_entries entry
    on entry.workspace_id = placed.workspace_id and entry.transaction_id = placed.id and entry.account = 'held'
  where placed.kind in ('hold', 'charge')`;

const checks: readonly string[] = [
  `select 'the transaction ' || transaction_id || ' sums to ' || sum(amount_cents) || ' cents' as finding
   from domains.ledger_entries group by workspace_id, transaction_id having sum(amount_cents) <> 0`,

  `select 'the wallet of ' || coalesce(wallet.workspace_id, booked.workspace_id) || ' has '
     || coalesce(wallet.available_cents, 0) || ' available and ' || coalesce(wallet.held_cents, 0)
     || ' held; its entries say ' || coalesce(booked.available_cents, 0) || ' and ' || coalesce(booked.held_cents, 0)
   from domains.wallets wallet
   full join (
     select workspace_id,
            sum(amount_cents) filter (where account = 'available') as available_cents,
            sum(amount_cents) filter (where account = 'held') as held_cents
     from domains.ledger_entries where account in ('available', 'held') group by workspace_id
   ) booked on booked.workspace_id = wallet.workspace_id
   where coalesce(wallet.available_cents, 0) <> coalesce(booked.available_cents, 0)
      or coalesce(wallet.held_cents, 0) <> coalesce(booked.held_cents, 0)`,

  `select 'the wallet of ' || workspace_id || ' is negative by more than what is disputed'
   from domains.wallets where available_cents < -disputed_cents or held_cents < 0`,

  `select 'the wallet of ' || wallet.workspace_id || ' has ' || wallet.disputed_cents || ' in dispute; its entries say '
     || coalesce(booked.cents, 0) || ', its disputes ' || coalesce(known.cents, 0)
   from domains.wallets wallet
   left join (
     select entry.workspace_id, -sum(entry.amount_cents) as cents
     from domains.ledger_transactions booked
     join domains.ledger_entries entry on entry.workspace_id = booked.workspace_id and entry.transaction_id = booked.id
     where booked.kind in ('dispute', 'dispute_won') and entry.account = 'available' group by entry.workspace_id
   ) booked on booked.workspace_id = wallet.workspace_id
   left join (
     select workspace_id, sum(amount_cents) as cents from domains.disputes where state <> 'won' group by workspace_id
   ) known on known.workspace_id = wallet.workspace_id
   where wallet.disputed_cents <> coalesce(booked.cents, 0) or wallet.disputed_cents <> coalesce(known.cents, 0)`,

  `select 'the hold of ' || held.order_id || ' belongs to no order'
   from holds held
   left join domains.orders o on o.workspace_id = held.workspace_id and o.id = held.order_id
   where o.id is null`,

  `select 'the order ' || o.id || ' is ' || o.state || ' and still holds ' || held.held_cents || ' cents'
   from holds held
   join domains.orders o on o.workspace_id = held.workspace_id and o.id = held.order_id
   where held.ended_by is null and o.state in ('completed', 'failed')`,

  `select 'the order ' || o.id || ' is ' || o.state || ' and its hold ended by ' || held.ended_by
   from holds held
   join domains.orders o on o.workspace_id = held.workspace_id and o.id = held.order_id
   where held.ended_by is not null and (held.ended_by = 'capture') <> (o.state = 'completed')`,

  `select 'the order ' || o.id || ' is ' || o.state || ' for ' || o.amount_cents || ' cents and holds or held '
     || coalesce(held.held_cents, 0)
   from domains.orders o
   left join holds held on held.workspace_id = o.workspace_id and held.order_id = o.id
   where o.state in ('held', 'submitted', 'pending', 'completed') and coalesce(held.held_cents, 0) <> o.amount_cents`,

  `select 'the application of the order ' || coalesce(o.id, booked.order_id) || ' costs ' || coalesce(o.application_cents, 0)
     || ' cents and ' || coalesce(booked.cents, 0) || ' are booked'
   from (select * from domains.orders where application_taken_at is not null) o
   full join (
     select part.workspace_id, split_part(part.reference, ':', 2) as order_id, entry.amount_cents as cents
     from domains.ledger_transactions part
     join domains.ledger_entries entry
       on entry.workspace_id = part.workspace_id and entry.transaction_id = part.id and entry.account = 'sales'
     where part.kind = 'application'
   ) booked on booked.workspace_id = o.workspace_id and booked.order_id = o.id
   where coalesce(o.application_cents, 0) <> coalesce(booked.cents, 0)`,

  `select 'the order ' || o.id || ' has ended, and ' || sum(entry.amount_cents) || ' cents of it are held'
   from domains.orders o
   join domains.ledger_entries entry
     on entry.workspace_id = o.workspace_id and entry.account = 'held'
     and entry.transaction_id in (o.id || '_hold', o.id || '_application', o.id || '_end')
   where o.application_taken_at is not null and o.state in ('completed', 'failed')
   group by o.workspace_id, o.id having sum(entry.amount_cents) <> 0`,
];

const audit = `
  with holds as (${holds})
  ${checks.map((check) => `(${check} limit ${FINDINGS_A_CHECK})`).join(' union all ')}`;

/**
 * What is wrong with the money, a sentence each, at most 20 of a kind; empty when all is well:
 * every transaction sums to zero; wallets equal their entries and are negative by what is in dispute at most; every hold belongs to an order, for the
 * order's amount; an order that completed has its hold captured, one that failed has it given back, and no other has ended it; what
 * applications cost is booked once, and their orders hold nothing after their ends.
 */
export async function auditLedger(executor: Executor): Promise<string[]> {
  const { rows } = await executor.query<{ finding: string }>({ text: audit, values: [] });
  return rows.map(({ finding }) => finding);
}

async function countBelowZero(executor: Executor): Promise<number> {
  const { rows } = await executor.query<{ count: number }>({
    text: 'select count(*)::integer as count from domains.wallets where available_cents < 0',
    values: [],
  });
  return rows[0]?.count ?? 0;
}

export interface LedgerAuditDependencies {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Audits each hour on some replica; what is found is logged and counted in a gauge. Call before `jobs.start`. */
export function defineLedgerAudit(jobs: Jobs, { db, logger, metrics }: LedgerAuditDependencies): void {
  const found = storedGauge(
    { db, metrics },
    'domains_ledger_findings',
    'What the last audit of the ledger found wrong',
  );
  const below = storedGauge(
    { db, metrics },
    'domains_wallets_below_zero',
    'Wallets that disputed payments have taken below zero, as the last audit found',
  );
  jobs.define(
    AUDIT_LEDGER,
    async () => {
      const findings = await auditLedger(db);
      await found.set(findings.length);
      await below.set(await countBelowZero(db));
      if (findings.length > 0) logger.error({ findings }, 'the ledger of the domain service does not add up');
    },
    { concurrency: 1 },
  );
  jobs.schedule(AUDIT_LEDGER, AUDIT_CRON, {});
}
