/**
 * Years of a registrar whose registry, over EPP, renews by itself, answers wrongly, cuts connections after it has done what it was told, is out of order
 * for days, and tells its messages twice: customers register, move names in with right and wrong codes, renew, pay late, release and delete. In the
 * end the ledger is right, the registry has billed what customers have paid for, no name is lost or taken over, and every order has ended or needs attention.
 * IRONCRAFT_UNKIND_ORDERS sets how many orders are placed, over IRONCRAFT_UNKIND_YEARS; IRONCRAFT_UNKIND_SEED other choices.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { listAttention } from '../../src/domains/orders/attention.ts';
import { readBill, registryDb } from '../../src/domains/registry/simulated/index.ts';
import { auditLedger } from '../../src/domains/wallet/index.ts';
import { systemDb } from '../../src/domains/workspace-scope.ts';
import type { TestWorkspace } from '../support/domains.ts';
import { startDomainsOverEpp } from '../support/domains-over-epp.ts';
import { createRandom } from './seeded-random.ts';

const ORDERS = Number(process.env.IRONCRAFT_UNKIND_ORDERS ?? 60);
const YEARS = Number(process.env.IRONCRAFT_UNKIND_YEARS ?? 1.2);
/** The same each time, so that a change is judged by what it did. */
const SEED = Number(process.env.IRONCRAFT_UNKIND_SEED ?? 7);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CUSTOMERS = 5;
const OWNED_CENTS = 100_000_000;
const LONGEST_STEP_DAYS = 8;
const WRONG_SHARE = 0.02;
const CUT_SHARE = 0.03;
const OUTAGE_SHARE = 0.03;
const PRICE = 11.9;
const PATIENCE = 60;

const random = createRandom(SEED);
const service = await startDomainsOverEpp({
  autoRenewGraceDays: 45,
  mailer: { send: async () => undefined },
  messages: { newestFirst: true, twice: true },
  endpoint: { connections: 4 },
});
after(() => service.close());
const { db, answerWrongly, deliver } = service;
const { clock } = service.epp;

const counts = { wrong: 0, cut: 0, outages: 0, placed: 0 };
let isOut = false;

function beUnkind(): void {
  answerWrongly(() => {
    if (isOut) return 2400;
    if (random.next() >= WRONG_SHARE) return undefined;
    counts.wrong += 1;
    return random.pick([2303, 2201, 2400] as const);
  });
  deliver(({ kind }) => {
    if (!kind.startsWith('domain:') || random.next() >= CUT_SHARE) return undefined;
    counts.cut += 1;
    return { kind: 'cut' };
  });
}

async function workAll(): Promise<void> {
  const { orders, renewals, unpaidNames } = service.domains;
  await orders.sweep();
  await renewals.runDue();
  await unpaidNames.runDue();
  await service.domains.resendDeletions();
  await orders.sweep();
}

const names: { readonly name: string; readonly owner: TestWorkspace }[] = [];
const customers: TestWorkspace[] = [];
for (let made = 0; made < CUSTOMERS; made += 1) {
  const customer = await service.owner();
  // The last cannot pay for all of what he has.
  if (made < CUSTOMERS - 1) await customer.fund(OWNED_CENTS);
  customers.push(customer);
}

function note(owner: TestWorkspace, name: string, status: number): void {
  if (status >= 300 && status !== 503) return;
  counts.placed += 1;
  if (!names.some((known) => known.name === name)) names.push({ name, owner });
}

const acts = {
  async register() {
    const [owner, name] = [random.pick(customers), `unkind-${names.length}.com`];
    const { status } = await owner.post('/domains', { domain: name, confirm_price: PRICE });
    note(owner, name, status);
  },
  async moveIn() {
    const [owner, name] = [random.pick(customers), `quick-transfer-${names.length}.com`];
    const auth_code = random.next() < 0.8 ? 'simulated-auth' : 'of-nobody';
    const { status } = await owner.post(`/domains/${name}/transfer`, { auth_code, confirm_price: PRICE });
    note(owner, name, status);
  },
  async renew() {
    if (names.length === 0) return;
    const { owner, name } = random.pick(names);
    const duration = random.integer(1, 2);
    const { status } = await owner.post(`/domains/${name}/renew`, { confirm_price: PRICE * duration, duration });
    note(owner, name, status);
  },
  async payLate() {
    const late = await systemDb(db)
      .selectFrom('domains')
      .select('name')
      .where('state', '=', 'active')
      .where('billed_until', '<=', clock.now())
      .orderBy('name')
      .executeTakeFirst();
    const found = names.find(({ name }) => name === late?.name);
    if (found === undefined) return;
    const { status } = await found.owner.post(`/domains/${found.name}/renew`, { confirm_price: PRICE });
    note(found.owner, found.name, status);
  },
  async release() {
    if (names.length === 0) return;
    const { owner, name } = random.pick(names);
    await owner.delete(`/domains/${name}?when=${random.pick(['now', 'at_expiry', 'at_expiry'])}`);
  },
  async set() {
    if (names.length === 0) return;
    const { owner, name } = random.pick(names);
    await owner.patch(`/domains/${name}/settings`, {
      auto_renew: random.next() < 0.4,
      ...(random.next() < 0.3 ? { registrar_lock: random.next() < 0.5 } : {}),
    });
  },
};

async function countLive(): Promise<number> {
  const { rows } = await db.query<{ live: number }>({
    text: `select count(*)::int as live from domains.orders
           where state not in ('completed', 'failed') and attention_since is null`,
    values: [],
  });
  return rows[0]?.live ?? 0;
}

test(`${ORDERS} orders over ${YEARS} years at an unkind registry: no cent, no name and no order is lost`, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  beUnkind();
  const end = clock.now().getTime() + YEARS * 365 * DAY_MS;
  const steps = (YEARS * 365 * 2) / LONGEST_STEP_DAYS;
  const most = Math.ceil((2 * ORDERS * 2) / steps);
  const choices = [
    ...[acts.register, acts.register, acts.moveIn, acts.renew, acts.renew, acts.payLate],
    ...[acts.release, acts.set, acts.set],
  ];
  for (let at = clock.now().getTime(); at < end || counts.placed < ORDERS; at = clock.now().getTime()) {
    isOut = random.next() < OUTAGE_SHARE;
    if (isOut) counts.outages += 1;
    clock.advance(random.integer(1, LONGEST_STEP_DAYS * 24) * HOUR_MS);
    for (let left = random.integer(0, most); left > 0; left -= 1) await random.pick(choices)();
    await workAll();
  }
  answerWrongly(undefined);
  deliver(undefined);
  // What is unpaid leaves, what was deleted is purged, and every order ends.
  for (let look = 0; look < PATIENCE / 2 || (await countLive()) > 0; look += 1) {
    assert.ok(look < PATIENCE, `${await countLive()} orders do not end`);
    clock.advance(5 * DAY_MS);
    await workAll();
  }
  assert.deepEqual(await auditLedger(db), []);
  const attention = await listAttention(systemDb(db), ORDERS);
  const { problems, completed, failed } = await audit();
  t.diagnostic(
    `${names.length} names, ${completed} orders done and ${failed} failed, ${attention.length} need attention; ` +
      `${counts.wrong} wrong answers, ${counts.cut} cuts, ${counts.outages} outages`,
  );
  assert.ok(
    counts.wrong > 0 && counts.cut > 0 && counts.outages > 0 && completed > 0 && failed > 0,
    'all of it happened',
  );
  const explained = new Set(attention.map(({ name }) => name));
  assert.deepEqual(
    problems.filter(({ name }) => !explained.has(name)),
    [],
  );
});

interface Problem {
  readonly name: string;
  readonly problem: string;
}

async function audit() {
  const problems: Problem[] = [];
  const bill = await readBill(db, service.epp.ours.registrarId);
  const { rows: paid } = await db.query<{ name: string; years: number; done: number; failed: number }>({
    text: `select name, coalesce(sum(years) filter (where state = 'completed'), 0)::int as years,
             count(*) filter (where state = 'completed')::int as done, count(*) filter (where state = 'failed')::int as failed
           from domains.orders group by name`,
    values: [],
  });
  const rows = await systemDb(db).selectFrom('domains').selectAll().where('state', '=', 'active').execute();
  const held = await registryDb(db)
    .selectFrom('registry_domains')
    .selectAll()
    .where('sponsor', '=', service.epp.ours.registrarId)
    .execute();
  const unassigned = await systemDb(db).selectFrom('unassigned_names').select('name').execute();
  for (const { name, years } of paid) {
    const billed = bill.reduce((sum, charge) => sum + (charge.name === name ? charge.years : 0), 0);
    const row = rows.find((kept) => kept.name === name);
    const isUnpaid = row !== undefined && row.billed_until !== null && row.billed_until <= clock.now();
    // The registry takes it back still.
    if (isUnpaid && billed === years + 1) continue;
    if (billed > years) problems.push({ name, problem: `${billed} years billed, ${years} paid for` });
    if (row !== undefined && billed < years)
      problems.push({ name, problem: `${years} years paid for, ${billed} billed` });
  }
  for (const row of rows) {
    const { name } = row;
    const owner = names.find((known) => known.name === name)?.owner;
    if (owner?.workspaceId !== row.workspace_id) problems.push({ name, problem: 'is another customer’s' });
    if (!held.some((there) => there.name === name)) problems.push({ name, problem: 'is not at the registry' });
  }
  for (const { name, phase } of held) {
    const isKnown = rows.some((row) => row.name === name) || unassigned.some((one) => one.name === name);
    if (phase === 'active' && !isKnown) problems.push({ name, problem: 'is lost' });
  }
  const sum = (of: 'done' | 'failed') => paid.reduce((total, row) => total + row[of], 0);
  return { problems, completed: sum('done'), failed: sum('failed') };
}
