/**
 * Years of a registrar at a registry that renews by itself, loses commands and answers: customers register, renew, pay late, release and delete
 * names. In the end the registry has billed what customers have paid for, no name is lost, and every order has ended.
 * IRONCRAFT_YEARS sets the years, IRONCRAFT_TEST_SEED other choices. Which command meets which fault depends on the order in which they arrive
 * as well: the same seed need not take the same course.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createRandom } from '../../../test/faults/seeded-random.ts';
import type { TestWorkspace } from '../../../test/support/domains.ts';
import { DAY_MS, startOrders } from '../../../test/support/orders.ts';
import { seedFor } from '../../../test/support/seed.ts';
import { readBill, registryDb } from '../registry/simulated/index.ts';
import { systemDb } from '../workspace-scope.ts';

const YEARS = Number(process.env.IRONCRAFT_YEARS ?? 1.1);
const SEED = seedFor('years');
const HOUR_MS = DAY_MS / 24;
const GRACE_DAYS = 45;
const CUSTOMERS = 4;
const LONGEST_STEP_DAYS = 9;
/** After each of those, an hour apart, as the service does: what a fault has kept from being done is tried again. */
const PASSES = 5;
const FAULT_SHARE = 0.04;
const PRICE = 11.9;
const PATIENCE = 20;

const random = createRandom(SEED);
let isKind = false;
let faultCount = 0;
const fault = () => {
  if (isKind || random.next() >= FAULT_SHARE) return 'ok';
  faultCount += 1;
  return random.pick(['timeout', 'disconnect'] as const);
};
const service = await startOrders({
  mailer: { send: async () => undefined },
  simulated: {
    autoRenewGraceDays: GRACE_DAYS,
    addGrace: { days: 5, feeCents: 0 },
    delays: { createSeconds: 0, renewSeconds: 0 },
    faults: { before: fault, after: fault },
  },
});
after(() => service.close());
const { clock, db } = service;

async function workAll(): Promise<void> {
  for (let pass = 1; pass <= PASSES; pass += 1) {
    await workOnce();
    if (pass < PASSES) clock.advance(HOUR_MS);
  }
}

async function workOnce(): Promise<void> {
  const { orders, renewals, resendDeletions, unpaidNames } = service.domains;
  await orders.sweep();
  await resendDeletions();
  await renewals.runDue();
  await unpaidNames.runDue();
  await orders.sweep();
}

const names: { readonly name: string; readonly owner: TestWorkspace }[] = [];
const customers = await Promise.all(
  // The last cannot pay for all of what he has.
  Array.from({ length: CUSTOMERS }, (_, at) => service.fundedWorkspace(at === CUSTOMERS - 1 ? 20_000 : 10_000_000)),
);

const acts = {
  async register() {
    const [owner, name] = [random.pick(customers), `year-${names.length}.com`];
    const { status } = await owner.post('/domains', { domain: name, confirm_price: PRICE });
    if (status !== 402) names.push({ name, owner });
  },
  async renew() {
    if (names.length === 0) return;
    const { owner, name } = random.pick(names);
    const duration = random.integer(1, 2);
    await owner.post(`/domains/${name}/renew`, { confirm_price: PRICE * duration, duration });
  },
  async payLate() {
    const { names: late } = await lateNames();
    const name = late[0];
    const owner = names.find((known) => known.name === name)?.owner;
    await owner?.post(`/domains/${name}/renew`, { confirm_price: PRICE });
  },
  async release() {
    if (names.length === 0) return;
    const { owner, name } = random.pick(names);
    await owner.delete(`/domains/${name}?when=${random.pick(['now', 'at_expiry'])}`);
  },
  /** Registers a name, and gives it up at once. */
  async regret() {
    await acts.register();
    const { owner, name } = names.at(-1) ?? {};
    await owner?.delete(`/domains/${name}?when=now`);
  },
  async toggle() {
    if (names.length === 0) return;
    const { owner, name } = random.pick(names);
    await owner.patch(`/domains/${name}/settings`, {
      auto_renew: random.next() < 0.3,
      ...(random.next() < 0.3 ? { registrar_lock: random.next() < 0.5 } : {}),
    });
  },
};

async function lateNames(): Promise<{ names: string[] }> {
  const rows = await systemDb(db)
    .selectFrom('domains')
    .select('name')
    .where('state', '=', 'active')
    .where('billed_until', '<=', clock.now())
    .orderBy('name')
    .execute();
  return { names: rows.map(({ name }) => name) };
}

async function countLive(): Promise<number> {
  const { rows } = await db.query<{ live: number }>({
    text: `select count(*)::int as live from domains.orders where state not in ('completed', 'failed')`,
    values: [],
  });
  return rows[0]?.live ?? 0;
}

/** So that one is for certain, whatever is chosen: no act but this one touches it. */
async function leaveToExpire(): Promise<void> {
  const [owner] = customers;
  isKind = true;
  const bought = await owner?.post('/domains', { domain: 'years-left-to-expire.com', confirm_price: PRICE });
  assert.equal(bought?.body.status, 'Completed', bought?.text);
  const left = await owner?.patch('/domains/years-left-to-expire.com/settings', { auto_renew: false });
  assert.equal(left?.status, 200, left?.text);
  isKind = false;
}

test(`${YEARS} years of late payers: what the registry bills is what customers have paid for`, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const end = clock.now().getTime() + YEARS * 365 * DAY_MS;
  await leaveToExpire();
  let steps = 0;
  while (clock.now().getTime() < end) {
    steps += 1;
    clock.advance(random.integer(1, LONGEST_STEP_DAYS * 24) * HOUR_MS);
    const choices = [
      acts.register,
      acts.register,
      acts.renew,
      acts.payLate,
      acts.release,
      acts.regret,
      acts.toggle,
      acts.toggle,
    ];
    for (let count = random.integer(0, 3); count > 0; count -= 1) await random.pick(choices)();
    await workAll();
  }
  isKind = true;
  // What is unpaid leaves, what was deleted is purged, and every order ends.
  for (let look = 0; look < PATIENCE || (await countLive()) > 0; look += 1) {
    assert.ok(look < 2 * PATIENCE, `${await countLive()} orders do not end`);
    clock.advance(6 * DAY_MS);
    await workAll();
  }
  await service.assertBooksAreRight();
  const findings = await audit();
  const { back, completed, charged, unpaid } = findings;
  t.diagnostic(
    `${steps} steps, ${names.length} names, ${completed} orders, ${faultCount} faults, ${charged} charges, ${back} given back`,
  );
  assert.ok(faultCount > 0 && unpaid > 0 && completed > 0 && back > 0, 'every kind of thing happened');
  assert.deepEqual(findings.problems, []);
});

async function audit() {
  const problems: string[] = [];
  const bill = await readBill(db, 'ironcraft');
  const { rows: paid } = await db.query<{ name: string; years: number; orders: number }>({
    text: `select name, sum(years)::int as years, count(*)::int as orders from domains.orders where state = 'completed' group by name`,
    values: [],
  });
  const rows = await systemDb(db).selectFrom('domains').selectAll().where('state', '=', 'active').execute();
  const held = await registryDb(db)
    .selectFrom('registry_domains')
    .selectAll()
    .where('sponsor', '=', 'ironcraft')
    .execute();
  for (const { name, years } of paid) {
    const billed = bill.reduce((sum, charge) => sum + (charge.name === name ? charge.years : 0), 0);
    const row = rows.find((kept) => kept.name === name);
    const isUnpaid = row !== undefined && row.billed_until !== null && row.billed_until <= clock.now();
    // The registry takes it back still.
    if (isUnpaid && billed === years + 1) continue;
    if (billed > years) problems.push(`${name}: ${billed} years billed, ${years} paid for`);
    if (row !== undefined && billed < years) problems.push(`${name}: ${years} years paid for, ${billed} billed`);
  }
  for (const row of rows) {
    const there = held.find(({ name }) => name === row.name);
    if (there === undefined) problems.push(`${row.name} is not at the registry`);
    if (row.unpaid_problem !== null) problems.push(`${row.name}: ${row.unpaid_problem}`);
    const isHeld = there?.client_statuses.includes('clientHold') ?? false;
    if (isHeld && row.billed_until !== null && row.billed_until > clock.now())
      problems.push(`${row.name} is paid for and suspended`);
  }
  for (const { name, phase } of held) {
    if (phase === 'active' && !rows.some((row) => row.name === name)) problems.push(`${name} is lost`);
  }
  const takenBack = bill.filter(({ kind, years }) => kind === 'create' && years < 0).map(({ name }) => name);
  const { rows: refunds } = await db.query<{ name: string; cents: number; paid: number }>({
    text: `select booked.description as name, entry.amount_cents::int as cents,
        (select sum(amount_cents)::int from domains.orders o where o.name = booked.description and o.state = 'completed') as paid
      from domains.ledger_transactions booked
      join domains.ledger_entries entry on entry.transaction_id = booked.id and entry.account = 'available'
      where booked.kind = 'grace_refund'`,
    values: [],
  });
  for (const { name, cents, paid } of refunds) {
    if (cents !== paid) problems.push(`${name}: ${cents} of ${paid} cents were given back`);
    if (!takenBack.includes(name)) problems.push(`${name} was given back, and the registry has billed it`);
  }
  for (const name of takenBack) {
    if (!refunds.some((refund) => refund.name === name))
      problems.push(`${name} was billed for nothing, and not given back`);
  }
  const unpaid = bill.filter(({ kind, years }) => kind === 'auto_renew' && years < 0).length;
  return {
    problems,
    completed: paid.reduce((sum, { orders }) => sum + orders, 0),
    charged: bill.length,
    unpaid,
    back: refunds.length,
  };
}
