/** What the ledger, Stripe, receipts, events and mails of the domain service must agree on once nothing is under way any more. */
import { stageOf, stages } from '../../src/domains/notices/stages.ts';
import { EXPIRY_TOLERANCE_MS } from '../../src/domains/portfolio/index.ts';
import { auditLedger } from '../../src/domains/wallet/index.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import type { FakeStripe } from '../fakes/stripe-server.ts';
import type { HookReceiver } from './hook-receiver.ts';

export interface Evidence {
  readonly db: Database;
  readonly stripe: FakeStripe;
  readonly receiver: HookReceiver;
  /** Contents of the messages that the mail server has taken. */
  readonly mails: readonly string[];
}

/** What is under way still at this time of the service, by kind. */
export async function countOpen(db: Database, now: Date): Promise<Partial<Record<string, number>>> {
  const { rows } = await db.query<{ what: string; open: number }>({
    text: `
      select 'payments' as what, count(*)::int as open from domains.payments where state = 'open'
      union all select 'receipts', count(*)::int from domains.payments where state = 'succeeded' and not has_receipt
      union all select 'orders', count(*)::int from domains.orders where state not in ('completed', 'failed')
      union all select 'deliveries', count(*)::int from domains.webhook_deliveries where status = 'pending'
      union all select 'disputes to tell', count(*)::int from domains.disputes where untold
      union all select 'declines to tell', count(*)::int from domains.auto_top_ups where untold_payment_id is not null
      union all select 'low wallets', count(*)::int from domains.auto_top_ups a join domains.wallets w using (workspace_id)
        where a.enabled and w.available_cents >= 0 and w.available_cents < a.threshold_cents`,
    values: [],
  });
  const notices = (await readNotices(db))
    .filter(({ sent_at }) => sent_at === null)
    .filter((notice) => isDue(notice, now));
  const counted = [...rows, { what: 'notices', open: notices.length }];
  return Object.fromEntries(counted.filter(({ open }) => open > 0).map(({ what, open }) => [what, open]));
}

function readNotices(db: Database): Promise<Notice[]> {
  return read<Notice>(
    db,
    `select n.*, d.name, d.expires_at from domains.expiry_notices n
     join domains.domains d on d.workspace_id = n.workspace_id and d.id = n.domain_id`,
  );
}

/** It is of the present stage of the term that the name has. */
function isDue({ expires_at: end, stage, term_end: of }: Notice, now: Date): boolean {
  return Math.abs(end.getTime() - of.getTime()) <= EXPIRY_TOLERANCE_MS && stageOf(end, now)?.name === stage;
}

export interface Counts {
  readonly payments: number;
  readonly receipts: number;
  readonly events: number;
  readonly notices: number;
}

/** What is wrong, a sentence each. */
export async function auditTill(evidence: Evidence): Promise<{ readonly problems: string[]; readonly counts: Counts }> {
  const { db, receiver } = evidence;
  const [payments, receipts, events, notices] = [
    await read<Payment>(db, 'select * from domains.payments order by id'),
    await read<Receipt>(db, 'select * from domains.receipts order by number'),
    await read<Event>(db, 'select * from domains.events order by id'),
    await readNotices(db),
  ];
  const problems = [
    ...(await auditLedger(db)),
    ...receiver.wrong,
    ...(await auditPayments(evidence, payments)),
    ...auditReceipts(payments, receipts),
    ...auditDeliveries(evidence, events),
    ...auditOrderOfEvents(events),
    ...(await auditOccurrences(db, events, notices)),
    ...(await auditMails(evidence, events, notices)),
  ];
  const [{ sum } = { sum: '?' }] = await read<{ sum: string }>(
    db,
    'select coalesce(sum(amount_cents), 0)::text as sum from domains.ledger_entries',
  );
  if (sum !== '0') problems.push(`the ledger sums to ${sum}`);
  const counts = {
    payments: payments.length,
    receipts: receipts.length,
    events: events.length,
    notices: notices.length,
  };
  return { problems, counts };
}

interface Payment {
  readonly id: string;
  readonly kind: 'charge' | 'refund' | 'top_up' | 'auto_top_up';
  readonly state: string;
  readonly order_id: string | null;
  readonly amount_cents: number;
  readonly provider_reference: string | null;
}

interface Receipt {
  readonly number: string;
  readonly payment_id: string;
  readonly total_cents: number;
}

interface Event {
  readonly id: string;
  readonly workspace_id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Notice {
  readonly name: string;
  readonly stage: string;
  readonly term_end: Date;
  readonly expires_at: Date;
  readonly message_id: string;
  readonly sent_at: Date | null;
}

async function read<Row>(db: Database, text: string): Promise<Row[]> {
  return (await db.query<Row & object>({ text, values: [] })).rows;
}

/** What Stripe has taken is in a payment, and what was topped up in the wallet, once. */
async function auditPayments({ db, stripe }: Evidence, payments: readonly Payment[]): Promise<string[]> {
  const problems: string[] = [];
  const credits = new Map<string, number[]>();
  const booked = await read<{ reference: string; cents: number }>(
    db,
    `select t.reference, e.amount_cents::int as cents from domains.ledger_transactions t
     join domains.ledger_entries e on e.workspace_id = t.workspace_id and e.transaction_id = t.id and e.account = 'available'
     where t.kind = 'credit'`,
  );
  for (const { cents, reference } of booked) credits.set(reference, [...(credits.get(reference) ?? []), cents]);
  const charged = new Map<string, string[]>();
  for (const { id, metadata, status } of stripe.intents.values()) {
    // What is paid on a page has none.
    const [payment] = metadata.charge_key?.split(':') ?? [];
    if (status === 'succeeded' && payment !== undefined) charged.set(payment, [...(charged.get(payment) ?? []), id]);
  }
  for (const { amount_cents, id, kind, provider_reference: reference, state } of payments) {
    const isPaid = state === 'succeeded';
    const isTopUp = kind === 'top_up' || kind === 'auto_top_up';
    const cents = credits.get(`payment:${id}`) ?? [];
    credits.delete(`payment:${id}`);
    const expected = isPaid && isTopUp ? [amount_cents] : [];
    if (String(cents) !== String(expected))
      problems.push(`${kind} ${id} is ${state}, of ${amount_cents}; credited: [${cents}]`);
    if (kind === 'top_up') {
      const session = stripe.sessions.get(reference ?? '');
      if ((session?.payment_status === 'paid') !== isPaid)
        problems.push(`top-up ${id} is ${state}; page: ${session?.status}`);
    }
    if (kind === 'auto_top_up' || kind === 'charge') {
      const intents = charged.get(id) ?? [];
      charged.delete(id);
      if (String(intents) !== String(isPaid ? [reference] : []))
        problems.push(`${kind} ${id} is ${state}; charged by [${intents}]`);
    }
    if (state === 'open') problems.push(`${kind} ${id} has not ended`);
  }
  for (const [payment, intents] of charged)
    problems.push(`Stripe has charged ${intents} for ${payment}, which is no payment`);
  for (const [reference] of credits) problems.push(`${reference} was credited, and nobody has paid it`);
  const net = payments
    .filter(({ state }) => state === 'succeeded')
    .reduce((sum, { amount_cents, kind }) => sum + (kind === 'refund' ? -amount_cents : amount_cents), 0);
  if (net !== stripe.netCents()) problems.push(`payments are ${net} cents, and Stripe has ${stripe.netCents()}`);
  return problems;
}

function auditReceipts(payments: readonly Payment[], receipts: readonly Receipt[]): string[] {
  const problems: string[] = [];
  const years = Map.groupBy(receipts, ({ number }) => number.slice(0, 4));
  for (const [year, ofYear] of years) {
    const wanted = ofYear.map((_, index) => `${year}-${String(index + 1).padStart(6, '0')}`);
    const numbers = ofYear.map(({ number }) => number);
    if (String(numbers) !== String(wanted)) problems.push(`receipts of ${year} are numbered ${numbers}`);
  }
  const byPayment = Map.groupBy(receipts, ({ payment_id }) => payment_id);
  for (const { amount_cents, id, kind, state } of payments) {
    const totals = (byPayment.get(id) ?? []).map(({ total_cents }) => total_cents);
    const wanted = state === 'succeeded' ? [kind === 'refund' ? -amount_cents : amount_cents] : [];
    if (String(totals) !== String(wanted))
      problems.push(`${kind} ${id} is ${state}, of ${amount_cents}; receipts: [${totals}]`);
  }
  return problems;
}

/** Each event since its workspace has a webhook has arrived, and nothing else has. */
function auditDeliveries({ receiver }: Evidence, events: readonly Event[]): string[] {
  const problems: string[] = [];
  const known = new Map(events.map((event) => [event.id, event]));
  for (const [place, bodies] of receiver.taken) {
    const [path = '', id = ''] = place.split(' ');
    const event = known.get(id);
    const body = JSON.parse(bodies[0] ?? '{}');
    if (event === undefined || path !== `/${event.workspace_id}` || body.type !== event.type) {
      problems.push(`${place} arrived, and is no event of that workspace`);
    }
  }
  const since = new Map(
    events.filter(({ type }) => type === 'webhook.created').map(({ id, workspace_id }) => [workspace_id, id]),
  );
  for (const { id, type, workspace_id: workspaceId } of events) {
    if (id > (since.get(workspaceId) ?? id) && !receiver.taken.has(`/${workspaceId} ${id}`)) {
      problems.push(`${type} ${id} has not arrived`);
    }
  }
  return problems;
}

/** Ids sort by time (decision 45): those of a name in the order of its life. */
function auditOrderOfEvents(events: readonly Event[]): string[] {
  const problems: string[] = [];
  const ofNames = Map.groupBy(
    events.filter(({ type }) => type.startsWith('domain.')),
    ({ data, workspace_id }) => `${workspace_id} ${data.domain}`,
  );
  for (const [name, ofName] of ofNames) {
    const [first] = ofName;
    if (first?.type !== 'domain.registered') problems.push(`${name} begins with ${first?.type}`);
    let billedUntil = '';
    let [term, stage] = ['', -1];
    for (const { data, id, type } of ofName) {
      if (type === 'domain.registered' || type === 'domain.renewed') {
        if (String(data.billed_until) <= billedUntil) problems.push(`${name}: ${type} ${id} comes too late`);
        billedUntil = String(data.billed_until);
      }
      if (type !== 'domain.expiring' && type !== 'domain.expired') continue;
      const at = stages.findIndex(({ name: known }) => known === data.stage);
      if (data.expires_at === term && at <= stage) problems.push(`${name}: ${data.stage} ${id} comes too late`);
      [term, stage] = [String(data.expires_at), at];
    }
  }
  return problems;
}

/** What happened once has one event. */
async function auditOccurrences(db: Database, events: readonly Event[], notices: readonly Notice[]): Promise<string[]> {
  const wanted = [
    ...(
      await read<{ what: string }>(
        db,
        `select 'order.' || state || ' ' || id as what from domains.orders
         union all select 'wallet.credited ' || e.workspace_id || ' ' || e.amount_cents from domains.ledger_transactions t
           join domains.ledger_entries e on e.workspace_id = t.workspace_id and e.transaction_id = t.id and e.account = 'available'
           where t.kind = 'credit'
         union all select 'wallet.disputed ' || id from domains.disputes
         union all select 'wallet.dispute_won ' || id from domains.disputes where state = 'won'`,
      )
    ).map(({ what }) => what),
    ...notices.map(
      ({ name, stage }) => `${stage === 'expired' ? 'domain.expired' : 'domain.expiring'} ${name} ${stage}`,
    ),
  ];
  const told = events.flatMap(({ data, type, workspace_id: workspaceId }) => {
    if (type.startsWith('order.')) return [`${type} ${data.order_id}`];
    if (type === 'wallet.credited') return [`${type} ${workspaceId} ${data.amount_cents}`];
    if (type.startsWith('wallet.dispute')) return [`${type} ${data.dispute_id}`];
    return type === 'domain.expiring' || type === 'domain.expired' ? [`${type} ${data.domain} ${data.stage}`] : [];
  });
  const [missing, tooMany] = [subtract(wanted, told), subtract(told, wanted)];
  return [...missing.map((what) => `${what} has no event`), ...tooMany.map((what) => `${what} has an event too many`)];
}

function subtract(all: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const each of others) counts.set(each, (counts.get(each) ?? 0) + 1);
  return all.filter((each) => {
    const left = counts.get(each) ?? 0;
    counts.set(each, left - 1);
    return left <= 0;
  });
}

/** At least once, each under one Message-ID. */
async function auditMails(
  { db, mails }: Evidence,
  events: readonly Event[],
  notices: readonly Notice[],
): Promise<string[]> {
  const disputes = await read<{ id: string; state: string }>(db, 'select id, state from domains.disputes');
  const declines = events.filter(
    ({ data, type }) => type === 'auto_top_up.switched_off' && kindOf(data.failure) !== 'payment_disputed',
  );
  // One that was declined again before its owner was told is told of the last.
  const last = new Map(declines.map(({ data, workspace_id }) => [workspace_id, String(data.payment_id)]));
  const wanted = [
    ...notices
      .filter(({ sent_at }) => sent_at !== null)
      .map(({ message_id: id, name, stage }) => ({ id, what: `the notice ${stage} of ${name}` })),
    ...disputes.map(({ id, state }) => ({ id: `msg_${id}_${state}`, what: `the dispute ${id}` })),
    ...[...last.values()].map((id) => ({ id: `msg_${id}`, what: `the decline of ${id}` })),
  ];
  const sent = new Set(mails.map((content) => /^message-id: <([^@>]+)@/im.exec(content)?.[1]));
  return wanted.filter(({ id }) => !sent.has(id)).map(({ what }) => `no mail of ${what}`);
}

function kindOf(failure: unknown): unknown {
  return typeof failure === 'object' && failure !== null && 'kind' in failure ? failure.kind : undefined;
}
