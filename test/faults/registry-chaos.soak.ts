/**
 * Years of a registrar whose registry, over EPP, renews by itself, answers wrongly, cuts connections after it has done what it was told, is out of order
 * for days, and tells its messages twice, while the service is killed with -9 in the midst of it: customers register, move names in with right and
 * wrong codes, renew, pay late, release and delete. In the end the ledger is right, the registry has billed what customers have paid for, no name
 * is lost or taken over, and every order has ended or needs attention.
 * IRONCRAFT_UNKIND_ORDERS sets how many orders are placed, over IRONCRAFT_UNKIND_YEARS; IRONCRAFT_TEST_SEED makes other choices, not another timing.
 * IRONCRAFT_UNKIND_MINUTES ends the years early, for a machine that has no more time: all is looked at that has come about by then.
 */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import pLimit from 'p-limit';
import { listAttention } from '../../src/domains/orders/attention.ts';
import { readBill, registryDb } from '../../src/domains/registry/simulated/index.ts';
import { auditLedger } from '../../src/domains/wallet/index.ts';
import { systemDb } from '../../src/domains/workspace-scope.ts';
import { connectEmbedded } from '../../src/kernel/db/connect-embedded.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { announceSeed } from '../support/announce-seed.ts';
import { openTestDatabase } from '../support/database.ts';
import { openTestEpp } from '../support/epp.ts';
import { isConnectionLost } from '../support/http-client.ts';
import { createClient } from '../support/platform.ts';
import { seedFor } from '../support/seed.ts';
import { KillableService } from './killable-service.ts';
import { createRandom, type Random } from './seeded-random.ts';

const ORDERS = Number(process.env.IRONCRAFT_UNKIND_ORDERS ?? 60);
const YEARS = Number(process.env.IRONCRAFT_UNKIND_YEARS ?? 1.2);
const MINUTES = Number(process.env.IRONCRAFT_UNKIND_MINUTES ?? Number.POSITIVE_INFINITY);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CUSTOMERS = 5;
const OWNED_CENTS = 100_000_000;
const POOR_CENTS = 1_000_000;
const LONGEST_STEP_DAYS = 8;
const WRONG_SHARE = 0.02;
const CUT_SHARE = 0.03;
const OUTAGE_SHARE = 0.03;
/** Of steps; then after so many commands to the registry, and a moment. */
const KILL_SHARE = 0.15;
const KILLED_AFTER_COMMANDS = 150;
const KILLED_WITHIN_MS = 20;
/** Of deletions that did not succeed: the service has two weeks for them, and tries each hour; a step takes days. */
const RETRIES = 5;
/** What customers do at a time. */
const LANES = 6;
const PRICE = 11.9;
const PATIENCE = 60;

announceSeed('npm run test:all test/faults/registry-chaos.soak.ts');
const random = createRandom(seedFor('unkind-years'));
// Of its own: which command it is that is cut must not change what customers do.
const harm = random.fork();
const counts = { wrong: 0, cut: 0, outages: 0, kills: 0, unanswered: 0, placed: 0 };
/** Failures of which no silence of the registry is the cause. */
const faults: string[] = [];
let isOut = false;
let isKind = false;
let commandsUntilKill: number | undefined;

const atRegistry = await openTestDatabase();
const registry = await openTestEpp(atRegistry.db, {
  autoRenewGraceDays: 45,
  messages: { newestFirst: true, twice: true },
  delays: { createSeconds: 0, renewSeconds: 0 },
  wrongAnswers() {
    if (isKind) return undefined;
    if (isOut) return 2400;
    if (harm.next() >= WRONG_SHARE) return undefined;
    counts.wrong += 1;
    return harm.pick([2303, 2201, 2400] as const);
  },
  deliver({ kind }) {
    if (isKind) return undefined;
    countDownToKill();
    if (!kind.startsWith('domain:') || harm.next() >= CUT_SHARE) return undefined;
    counts.cut += 1;
    return { kind: 'cut' };
  },
});
const { clock } = registry;
const store = await openStore();
const service = new KillableService({
  store: store.name,
  port: registry.server.port,
  clientId: registry.ours.registrarId,
  now: () => clock.now(),
});
after(async () => {
  await service.stop();
  await registry.close();
  await store.close();
  await atRegistry.close();
});

async function openStore() {
  const shared = await openTestDatabase();
  if (shared.url !== undefined) return { name: shared.url, open: async () => shared.db, close: shared.close };
  await shared.close();
  const folder = await mkdtemp(join(tmpdir(), 'unkind-'));
  let opened: Database | undefined;
  return {
    name: folder,
    async open() {
      opened = await connectEmbedded({ folder });
      return opened;
    },
    async close() {
      await opened?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** At that command, before or after the registry has done it. */
function countDownToKill(): void {
  if (commandsUntilKill === undefined) return;
  commandsUntilKill -= 1;
  if (commandsUntilKill > 0) return;
  commandsUntilKill = undefined;
  counts.kills += 1;
  void wait(harm.next() * KILLED_WITHIN_MS).then(() => service.kill());
}

interface Customer {
  readonly token: string;
  readonly workspaceId: string;
}

const names: { readonly name: string; readonly owner: Customer }[] = [];
const customers: Customer[] = [];
for (let made = 0; made < CUSTOMERS; made += 1) {
  // The last cannot pay for all of what he has.
  customers.push(await service.insist({ kind: 'customer', cents: made < CUSTOMERS - 1 ? OWNED_CENTS : POOR_CENTS }));
}

/** The status; undefined where the service was killed before it answered. */
async function call(owner: Customer, method: string, path: string, body?: object): Promise<number | undefined> {
  await service.start();
  try {
    const response = await createClient(service.url, owner.token).open(method, path, body);
    const text = await response.text();
    if (response.status === 500 && !/The registry (did|does) not (answer|show)/.test(text))
      faults.push(`${method} ${path}: ${text}`);
    return response.status;
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    counts.unanswered += 1;
    return undefined;
  }
}

/** It may be his from now on, whatever became of the order. */
function note(owner: Customer, name: string, status: number | undefined): void {
  if (status !== undefined && status >= 300 && status !== 503) return;
  counts.placed += 1;
  if (!names.some((known) => known.name === name)) names.push({ name, owner });
}

let namesMade = 0;

/** What a customer may do, with chance of its own: several do so at a time. */
const acts = {
  async register(random: Random) {
    namesMade += 1;
    const [owner, name] = [random.pick(customers), `unkind-${namesMade}.com`];
    note(owner, name, await call(owner, 'POST', '/domains', { domain: name, confirm_price: PRICE }));
  },
  async moveIn(random: Random) {
    namesMade += 1;
    const [owner, name] = [random.pick(customers), `quick-transfer-${namesMade}.com`];
    const auth_code = random.next() < 0.8 ? 'simulated-auth' : 'of-nobody';
    note(owner, name, await call(owner, 'POST', `/domains/${name}/transfer`, { auth_code, confirm_price: PRICE }));
  },
  async renew(random: Random) {
    if (names.length === 0) return;
    const { owner, name } = random.pick(names);
    const duration = random.integer(1, 2);
    note(
      owner,
      name,
      await call(owner, 'POST', `/domains/${name}/renew`, { confirm_price: PRICE * duration, duration }),
    );
  },
  async payLate() {
    const [late] = await service.insist({
      kind: 'read',
      text: `select name from domains.domains where state = 'active' and billed_until <= '${clock.now().toISOString()}' order by name limit 1`,
    });
    const found = names.find(({ name }) => name === late?.name);
    if (found === undefined) return;
    const { owner, name } = found;
    note(owner, name, await call(owner, 'POST', `/domains/${name}/renew`, { confirm_price: PRICE }));
  },
  async release(random: Random) {
    if (names.length === 0) return;
    const { owner, name } = random.pick(names);
    await call(owner, 'DELETE', `/domains/${name}?when=${random.pick(['now', 'at_expiry', 'at_expiry'])}`);
  },
  async set(random: Random) {
    if (names.length === 0) return;
    const { owner, name } = random.pick(names);
    await call(owner, 'PATCH', `/domains/${name}/settings`, {
      auto_renew: random.next() < 0.4,
      ...(random.next() < 0.3 ? { registrar_lock: random.next() < 0.5 } : {}),
    });
  },
};

/** So much later, with what is due by then. */
async function advance(ms: number, meanwhile: () => Promise<void> = async () => undefined): Promise<void> {
  clock.advance(ms);
  await service.insist({ kind: 'turn', nowMs: clock.now().getTime() });
  await meanwhile();
  await service.insist({ kind: 'work' });
  for (let retry = 0; retry < RETRIES; retry += 1) {
    clock.advance(HOUR_MS);
    await service.insist({ kind: 'turn', nowMs: clock.now().getTime() });
    await service.insist({ kind: 'retry' });
  }
}

async function countLive(): Promise<number> {
  const [row] = await service.insist({
    kind: 'read',
    text: `select count(*)::int as live from domains.orders
           where state not in ('completed', 'failed') and attention_since is null`,
  });
  return Number(row?.live ?? 0);
}

const startedMs = performance.now();
/** To the terminal: a long run says where it is. */
function tell(what: string): void {
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  process.stderr.write(
    `${seconds} s: ${what}, ${counts.placed} orders of ${names.length} names, ${counts.kills} kills\n`,
  );
}

test(`${ORDERS} orders over ${YEARS} years at an unkind registry: no cent, no name and no order is lost`, async (t) => {
  const begin = clock.now().getTime();
  const end = begin + YEARS * 365 * DAY_MS;
  const steps = (YEARS * 365 * 2) / LONGEST_STEP_DAYS;
  const most = Math.ceil((2 * ORDERS * 2) / steps);
  const choices = [
    ...[acts.register, acts.register, acts.moveIn, acts.renew, acts.renew, acts.payLate],
    ...[acts.release, acts.set, acts.set],
  ];
  const isOver = () => performance.now() - startedMs > MINUTES * 60_000;
  for (let step = 1; !isOver() && (clock.now().getTime() < end || counts.placed < ORDERS); step += 1) {
    isOut = random.next() < OUTAGE_SHARE;
    if (isOut) counts.outages += 1;
    if (random.next() < KILL_SHARE) commandsUntilKill = random.integer(1, KILLED_AFTER_COMMANDS);
    await advance(random.integer(1, LONGEST_STEP_DAYS * 24) * HOUR_MS, async () => {
      await pLimit(LANES).map(Array.from({ length: random.integer(0, most) }), () =>
        random.pick(choices)(random.fork()),
      );
    });
    if (step % 10 === 0) tell(`day ${Math.round((clock.now().getTime() - begin) / DAY_MS)}`);
  }
  const days = Math.round((clock.now().getTime() - begin) / DAY_MS);
  isKind = true;
  // What is unpaid leaves, what was deleted is purged, and every order ends.
  for (let look = 0; look < PATIENCE / 2 || (await countLive()) > 0; look += 1) {
    assert.ok(look < PATIENCE, `${await countLive()} orders do not end`);
    await advance(5 * DAY_MS);
  }
  tell('all orders have ended');
  await service.stop();
  const db = await store.open();
  assert.deepEqual(await auditLedger(db), []);
  const attention = await listAttention(systemDb(db), ORDERS);
  const { problems, completed, failed, compared } = await audit(db);
  t.diagnostic(
    `${counts.placed} orders of ${names.length} names in ${days} days, ${completed} orders done and ${failed} failed, ${attention.length} need attention; ${counts.kills} kills, ` +
      `${counts.unanswered} calls cut by them, ${counts.wrong} wrong answers, ${counts.cut} cuts, ${counts.outages} outages`,
  );
  t.diagnostic(`compared: ${compared}`);
  const explained = new Set(attention.map(({ name }) => name));
  const unexplained = problems.filter(({ name }) => !explained.has(name));
  for (const { name } of unexplained) t.diagnostic(await describe(db, name));
  assert.deepEqual([unexplained, faults], [[], []]);
  if (isOver()) return;
  for (const happened of [counts.wrong, counts.cut, counts.outages, counts.kills, completed, failed]) {
    assert.ok(happened > 0, 'all of it happened');
  }
});

/** All that is known of a name, to find out what became of it. */
async function describe(db: Database, name: string): Promise<string> {
  const read = (table: string) => ({ text: `select * from domains.${table} where name = $1`, values: [name] });
  const [rows, orders, charges, objects] = await Promise.all([
    db.query(read('domains')),
    db.query(read('orders')),
    atRegistry.db.query(read('registry_charges')),
    atRegistry.db.query(read('registry_domains')),
  ]);
  const parts = { rows: rows.rows, orders: orders.rows, charges: charges.rows, objects: objects.rows };
  return `${name} at ${clock.now().toISOString()}: ${JSON.stringify(parts)}`;
}

interface Problem {
  readonly name: string;
  readonly problem: string;
}

async function audit(db: Database) {
  const problems: Problem[] = [];
  const billedYears = new Map<string, number>();
  for (const { name, years } of await readBill(atRegistry.db, registry.ours.registrarId)) {
    billedYears.set(name, (billedYears.get(name) ?? 0) + years);
  }
  const owners = new Map(names.map(({ name, owner }) => [name, owner.workspaceId]));
  const { rows: paid } = await db.query<{ name: string; years: number; done: number; failed: number }>({
    text: `select name, coalesce(sum(years) filter (where state = 'completed'), 0)::int as years,
             count(*) filter (where state = 'completed')::int as done, count(*) filter (where state = 'failed')::int as failed
           from domains.orders group by name`,
    values: [],
  });
  const rows = await systemDb(db).selectFrom('domains').selectAll().where('state', '=', 'active').execute();
  const held = await registryDb(atRegistry.db)
    .selectFrom('registry_domains')
    .selectAll()
    .where('sponsor', '=', registry.ours.registrarId)
    .execute();
  const ours = new Map(rows.map((row) => [row.name, row]));
  const there = new Set(held.map(({ name }) => name));
  const unassigned = await systemDb(db).selectFrom('unassigned_names').select('name').execute();
  for (const { name, years } of paid) {
    const billed = billedYears.get(name) ?? 0;
    const row = ours.get(name);
    const isUnpaid = row !== undefined && row.billed_until !== null && row.billed_until <= clock.now();
    // The registry takes it back still.
    if (isUnpaid && billed === years + 1) continue;
    if (billed > years) problems.push({ name, problem: `${billed} years billed, ${years} paid for` });
    if (row !== undefined && billed < years)
      problems.push({ name, problem: `${years} years paid for, ${billed} billed` });
  }
  for (const row of rows) {
    const { name } = row;
    if (owners.get(name) !== row.workspace_id) problems.push({ name, problem: 'is another customer’s' });
    if (!there.has(name)) problems.push({ name, problem: 'is not at the registry' });
  }
  for (const { name, phase } of held) {
    const isKnown = ours.has(name) || unassigned.some((one) => one.name === name);
    if (phase === 'active' && !isKnown) problems.push({ name, problem: 'is lost' });
  }
  const sum = (of: 'done' | 'failed') => paid.reduce((total, row) => total + row[of], 0);
  const billed = [...billedYears.values()].reduce((total, years) => total + years, 0);
  const compared =
    `${paid.length} names with orders, ${paid.reduce((total, row) => total + row.years, 0)} years paid for and ${billed} billed, ` +
    `${rows.length} names of customers, ${held.length} of ours at the registry, ${unassigned.length} unassigned`;
  return { problems, completed: sum('done'), failed: sum('failed'), compared };
}
