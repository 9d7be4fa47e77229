/** What the registry, the portfolio, the ledger, the payment provider and the customers must agree on once every order has ended. */

import { OUR_REGISTRAR } from '../../src/domains/registry/simulated/index.ts';
import { addYears } from '../../src/domains/registry/term.ts';
import { auditLedger } from '../../src/domains/wallet/index.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import type { FakeStripe } from '../fakes/stripe-server.ts';
import type { Call } from './order-driver.ts';

export interface OrderCounts {
  readonly live: number;
  readonly openRefunds: number;
  readonly deletions: number;
}

export interface EndedOrder {
  readonly id: string;
  readonly workspace_id: string;
  readonly domain_id: string;
  readonly name: string;
  readonly kind: 'registration' | 'renewal' | 'transfer';
  readonly state: string;
  readonly years: number;
  readonly amount_cents: number;
  readonly pays_with: 'wallet' | 'card';
  readonly submissions: number;
  readonly error_code: string | null;
  readonly idempotency_key: string | null;
}

interface OwnedDomain {
  readonly id: string;
  readonly name: string;
  readonly state: 'acquiring' | 'active' | 'gone';
  readonly added_via: 'registration' | 'transfer';
  readonly expires_at: Date | null;
}

interface RegisteredName {
  readonly name: string;
  readonly sponsor: string;
  readonly created_at: Date;
  readonly expires_at: Date;
}

export async function countOpen(db: Database): Promise<OrderCounts> {
  const { rows } = await db.query<{ live: number; refunds: number; deletions: number }>({
    text: `select
      (select count(*) from domains.orders where state not in ('completed', 'failed')) as live,
      (select count(*) from domains.payments where kind = 'refund' and state = 'open') as refunds,
      -- Sent and not answered, or taken and not seen at the registry since.
      (select count(*) from domains.domains where state = 'active' and deletion_sent_at is not null
         and (deletion_wanted_at is not null or synced_at is null)) as deletions`,
    values: [],
  });
  return { live: rows[0]?.live ?? -1, openRefunds: rows[0]?.refunds ?? -1, deletions: rows[0]?.deletions ?? -1 };
}

export async function listOrders(db: Database): Promise<EndedOrder[]> {
  const { rows } = await db.query<EndedOrder>({ text: 'select * from domains.orders order by id', values: [] });
  return rows;
}

export interface Evidence {
  readonly db: Database;
  /** Where the registry is not the service's own. */
  readonly registry?: { readonly db: Database; readonly registrarId: string };
  readonly stripe: FakeStripe;
  readonly calls: readonly Call[];
  /** What every wallet began with. */
  readonly creditCents: number;
}

/** What is wrong, a sentence each. */
export async function auditOrders({
  db,
  registry = { db, registrarId: OUR_REGISTRAR },
  stripe,
  calls,
  creditCents,
}: Evidence): Promise<string[]> {
  const orders = await listOrders(db);
  const { rows: domains } = await db.query<OwnedDomain>({ text: 'select * from domains.domains', values: [] });
  const { rows: registered } = await registry.db.query<RegisteredName>({
    text: 'select * from domains.registry_domains',
    values: [],
  });
  return [
    ...(await auditLedger(db)),
    ...(await auditWallets(db, orders, creditCents)),
    ...auditNames(
      orders,
      domains,
      registered.filter(({ sponsor }) => sponsor === registry.registrarId),
      calls,
    ),
    ...auditCards(orders, stripe),
    ...auditAnswers(orders, calls),
  ];
}

/** Every wallet is short by exactly what was bought from it, and nothing is held. */
async function auditWallets(db: Database, orders: readonly EndedOrder[], creditCents: number): Promise<string[]> {
  const { rows } = await db.query<{ workspace_id: string; available_cents: number; held_cents: number }>({
    text: 'select * from domains.wallets',
    values: [],
  });
  return rows.flatMap(({ workspace_id: id, available_cents, held_cents }) => {
    const spent = sum(
      orders.filter((order) => order.workspace_id === id && isSold(order) && order.pays_with === 'wallet'),
    );
    if (held_cents === 0 && available_cents === creditCents - spent) return [];
    return [`the wallet of ${id} has ${available_cents} and holds ${held_cents}; ${spent} of ${creditCents} was spent`];
  });
}

/** The registry and the portfolio have the same names, and each name and each year of it is paid for, once. */
function auditNames(
  orders: readonly EndedOrder[],
  domains: readonly OwnedDomain[],
  registered: readonly RegisteredName[],
  calls: readonly Call[],
): string[] {
  const findings: string[] = [];
  const ours = new Map(registered.map((name) => [name.name, name]));
  const deleted = new Set(calls.filter(({ kind }) => kind === 'delete').map(({ name }) => name));
  for (const domain of domains) {
    const sold = orders.filter((order) => order.domain_id === domain.id && isSold(order));
    const acquisitions = sold.filter(({ kind }) => kind !== 'renewal').length;
    const described = `${domain.name} (${domain.state}, paid for ${acquisitions} times)`;
    if (domain.state === 'gone') {
      if (acquisitions > 1 || (acquisitions === 1 && !deleted.has(domain.name))) findings.push(`${described} was lost`);
      continue;
    }
    if (domain.state !== 'active' || acquisitions !== 1) findings.push(`${described} is not bought once`);
    const name = ours.get(domain.name);
    ours.delete(domain.name);
    if (name === undefined) {
      findings.push(`${described} is not at the registry`);
      continue;
    }
    const years = sum(sold, ({ years }) => years);
    const until = addYears(termBefore(domain, name), years).toISOString().slice(0, 10);
    const isPaid = name.expires_at.toISOString().startsWith(until);
    if (!isPaid) findings.push(`${described} is paid for until ${until} and ends on ${name.expires_at.toISOString()}`);
    if (domain.expires_at?.getTime() !== name.expires_at.getTime()) {
      findings.push(
        `${described} is shown to end on ${domain.expires_at?.toISOString()} and ends on ${name.expires_at.toISOString()}`,
      );
    }
  }
  for (const name of ours.keys()) findings.push(`${name} is ours at the registry and in no portfolio`);
  return findings;
}

/** Where the years begin that were bought here: its creation, or the term that a transferred name came with. */
function termBefore({ added_via }: OwnedDomain, { created_at }: RegisteredName): Date {
  if (added_via === 'registration') return created_at;
  let years = 1;
  while (addYears(created_at, years) <= new Date()) years += 1;
  return addYears(created_at, years);
}

/** An order that was sold has one charge that stands; every other charge was given back, once and whole. */
function auditCards(orders: readonly EndedOrder[], stripe: FakeStripe): string[] {
  const findings: string[] = [];
  const intents = [...stripe.intents.values()].filter(({ status }) => status === 'succeeded');
  const refunds = [...stripe.refunds.values()];
  const known = new Set(orders.map(({ id }) => id));
  for (const order of orders) {
    const charged = intents.filter(({ metadata }) => metadata.order_id === order.id);
    const givenBack = refunds.filter(({ payment_intent }) => charged.some(({ id }) => id === payment_intent));
    const cents = sum(charged, ({ amount }) => amount) - sum(givenBack, ({ amount }) => amount);
    const due = isSold(order) && order.pays_with === 'card' ? order.amount_cents : 0;
    if (charged.length > 1 || cents !== due) {
      findings.push(
        `${order.id} (${order.state}) was charged ${charged.length} times, ${cents} of ${due} cents in all`,
      );
    }
  }
  for (const { id, metadata } of intents) {
    if (!known.has(metadata.order_id ?? '')) findings.push(`the charge ${id} belongs to no order`);
  }
  return findings;
}

/** A key bought at most once, and the answers to its customer are true. */
function auditAnswers(orders: readonly EndedOrder[], calls: readonly Call[]): string[] {
  const ofKey = Map.groupBy(orders, ({ idempotency_key: key }) => key?.split(' ').at(-1) ?? 'none');
  return calls.flatMap(({ kind, key, name, answer }) => {
    const own = ofKey.get(key) ?? [];
    const sold = own.filter(isSold);
    const described = `${kind} ${name}, ${key}: ${answer?.status} ${answer?.body?.error ?? answer?.body?.status}`;
    if (answer === undefined) return [`${described} was never answered`];
    if (sold.length > 1) return [`${described} was bought ${sold.length} times`];
    if (kind === 'delete') return [];
    const [order] = sold;
    if (answer.status >= 300)
      return order === undefined ? [] : [`${described} was answered as a failure and sold as ${order.id}`];
    const asked = own.find(({ id }) => id === answer.body.order_id);
    if (answer.body.status === 'Pending' && asked?.state === 'failed') return [];
    return order !== undefined && order === asked ? [] : [`${described} was answered as bought and is ${asked?.state}`];
  });
}

function isSold({ state }: EndedOrder): boolean {
  return state === 'completed';
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number;
function sum(items: readonly EndedOrder[]): number;
function sum<Item>(items: readonly Item[], of: (item: Item) => number = (item) => Object(item).amount_cents): number {
  return items.reduce((total, item) => total + of(item), 0);
}
