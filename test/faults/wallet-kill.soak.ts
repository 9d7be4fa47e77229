/**
 * An organization's turns draw its wallet, which is topped up, reloaded and refunded meanwhile, by calls, by Stripe's events and by
 * itself, while server processes are killed with -9 and Stripe declines and fails. In the end the ledger sums to zero, the wallet
 * is the sum of its entries, what came by card is what Stripe has, and what was drawn is what usage has cost, exactly.
 * IRONCRAFT_FAULT_WALLET sets the number of operations, IRONCRAFT_TEST_SEED repeats the choices of a run, not
 * its timing.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../src/kernel/db/database.ts';
import { openDatabase } from '../../src/kernel/db/open-database.ts';
import { auditWallets } from '../../src/platform/billing/index.ts';
import { auditUsage } from '../../src/platform/usage/index.ts';
import type { ServerProcess } from '../boot/server-process.ts';
import { waitFor } from '../boot/server-process.ts';
import { startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { startStripe } from '../fakes/stripe-server.ts';
import { seedFor } from '../support/seed.ts';
import { type Fleet, NEEDS_NO_SERVER, NEEDS_SERVER, openFleet, patiently } from './fleet.ts';
import { createRandom } from './seeded-random.ts';
import { driveWallet, type Tally, type Till } from './wallet-driver.ts';

const OPERATIONS = Number(process.env.IRONCRAFT_FAULT_WALLET ?? 600);
const EMBEDDED_OPERATIONS = Math.round(OPERATIONS / 2);
const SEED = seedFor('wallet-kill');

const MARKUP_PERCENT = 37;
const USD_RATE = '0.917';
/** Of the markup and the rate: units of 10^-12 cents a micro-dollar. */
const UNITS = BigInt(100 + MARKUP_PERCENT) * 917_000n;
const STARTER_CENTS = 300;
const CLIENTS = 6;
/** Operations between two kills. */
const LIFE = { min: 15, max: 40 };
/** Of the worker that looks payments up. */
const SWEEPS_MS = 3_000;
const SETTLE_MS = 60_000;
const LOOK_MS = 10;
const STARTS = 3;

/** What the tests of both stores share: the fakes, the organization's client, and the end. */
async function openTill(t: TestContext, store: 'server' | 'embedded', seed: number, operations: number) {
  const [stripe, upstream] = [await startStripe(), await startOpenAiUpstream()];
  t.after(async () => {
    await stripe.close();
    await upstream.close();
  });
  const random = createRandom(seed);
  // More than the turns will need: a turn that is taken over calls the model again.
  upstream.respondWith(
    Array.from({ length: operations * 4 }, () => ({
      type: 'answer',
      deltas: ['Hi'],
      firstDelayMs: random.integer(0, 25),
      usage: { promptTokens: random.integer(1, 400_000), completionTokens: random.integer(1, 60_000) },
    })),
  );
  const fleet = await openFleet(t, {
    store,
    only: 'platform',
    variables: {
      IRONCRAFT_BILLING: 'credits',
      IRONCRAFT_BILLING_MARKUP_PERCENT: String(MARKUP_PERCENT),
      IRONCRAFT_BILLING_USD_RATE: USD_RATE,
      IRONCRAFT_BILLING_STARTER_CENTS: String(STARTER_CENTS),
      IRONCRAFT_STRIPE_KEY: stripe.secretKey,
      IRONCRAFT_STRIPE_URL: stripe.url,
      IRONCRAFT_STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
      IRONCRAFT_LOG_LEVEL: 'fatal',
    },
  });
  const alive = new Set<ServerProcess>();
  const tally: Tally = {
    turns: 0,
    refused: 0,
    cut: 0,
    declined: 0,
    stripeFaults: 0,
    races: 0,
    refunds: 0,
    unexplained: [],
  };
  const till: Till = {
    stripe,
    upstream,
    fleet,
    tally,
    operations,
    begun: 0,
    pick: (choice) => (alive.size === 0 ? undefined : choice.pick([...alive])),
  };
  return { stripe, random, fleet, alive, till, tally };
}

type Opened = Awaited<ReturnType<typeof openTill>>;

/** A supervisor starts again what does not start: a busy machine may be slow to take a connection. */
async function startOne({ fleet, alive }: Opened): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      alive.add(await fleet.start());
      return;
    } catch (error) {
      if (attempt === STARTS) throw error;
    }
  }
}

/** Works until there are enough operations, and kills a process now and then. Returns the number of kills. */
async function work({ till, random, alive }: Opened, replace: () => Promise<void>): Promise<number> {
  let isWorking = true;
  let kills = 0;
  const driven = driveWallet(till, random.fork(), CLIENTS).finally(() => {
    isWorking = false;
  });
  driven.catch(() => undefined);
  while (isWorking) {
    const strikeAt = till.begun + random.integer(LIFE.min, LIFE.max);
    while (isWorking && till.begun < strikeAt) await wait(LOOK_MS);
    if (!isWorking) break;
    const victim = random.pick([...alive]);
    alive.delete(victim);
    victim.kill('SIGKILL');
    assert.equal((await victim.ended).signal, 'SIGKILL', 'it lived until then');
    kills += 1;
    await replace();
  }
  await driven;
  return kills;
}

async function stopAll(alive: Set<ServerProcess>): Promise<void> {
  for (const server of alive) assert.deepEqual(await server.stop(), { code: 0, signal: null });
  alive.clear();
}

/** What Stripe has not told, or what nobody took, it tells again; nobody pays any more; the leases of the dead are over. */
async function settle({ till, alive, random, fleet }: Opened): Promise<void> {
  const { stripe } = till;
  for (const card of stripe.savedCards.values()) card.behaviour = 'pm_card_visa';
  for (const session of stripe.sessions.values()) if (session.status === 'open') stripe.expireSession(session.id);
  const server = random.pick([...alive]);
  const organization = fleet.organization(server);
  const put = await patiently(() => organization.put('/v1/organization/billing/autoreload', { enabled: false }));
  assert.equal(put.status, 200, put.text);
  const send = async (type: string, object: object) => {
    const { body, headers } = stripe.signEvent(type, object);
    // As Stripe does, until it is taken: a fault may be left for the call that asks it back.
    await waitFor(`taking of ${type}`, SETTLE_MS, async () => {
      const { status } = await fetch(`${server.url}/v1/billing/stripe/webhook`, { method: 'POST', body, headers });
      return status === 200 ? true : undefined;
    });
  };
  for (const session of stripe.sessions.values()) {
    await send(session.status === 'complete' ? 'checkout.session.completed' : 'checkout.session.expired', session);
  }
  for (const intent of stripe.intents.values()) {
    if (intent.status === 'succeeded') await send('payment_intent.succeeded', intent);
  }
  for (const { payment_intent } of stripe.refunds.values()) {
    const metadata = stripe.intents.get(payment_intent)?.metadata ?? {};
    await send('charge.refunded', { id: 'ch_end', payment_intent, metadata });
  }
}

/** Nobody works while nobody lives: what would lapse in a minute has lapsed. */
async function lapse(db: Database): Promise<void> {
  await db.query({ text: `update wallet_payments set next_look_at = now() where state = 'open'`, values: [] });
}

async function countOpen(db: Database): Promise<number> {
  const { rows } = await db.query<{ open: number }>({
    text: `select (select count(*) from wallet_payments where state = 'open' and session_id is not null or kind like '%reload' and state = 'open')
             + (select count(*) from runs where status = 'in_progress') as open`,
    values: [],
  });
  return rows[0]?.open ?? Number.NaN;
}

async function assertMoney(
  t: TestContext,
  db: Database,
  { stripe, tally, till }: Opened,
  kills: number,
): Promise<void> {
  const { rows } = await db.query<{
    card: number;
    balance: number;
    wallet: number;
    cost: string;
    usage: string;
    booked: number;
  }>({
    text: `select
        (select coalesce(sum(amount_cents), 0)::bigint from wallet_entries where account = 'card') as card,
        (select coalesce(sum(amount_cents), 0)::bigint from wallet_entries where account = 'balance') as balance,
        (select coalesce(sum(amount_cents), 0)::bigint from wallet_entries where account = 'usage') as booked,
        (select sum(balance_cents)::bigint from wallets) as wallet,
        (select coalesce(sum(cost), 0)::text from wallet_draws) as cost,
        (select coalesce(sum(cost_micros), 0)::text from usage_daily) as usage`,
    values: [],
  });
  const [sums] = rows;
  assert.ok(sums);
  const { turns, refused, cut, declined, stripeFaults, races, refunds } = tally;
  t.diagnostic(
    `${till.begun} operations, ${kills} kills that cut ${cut} calls; ${turns} turns, ${refused} refused for money; ${races} races of ` +
      `confirm and event, ${declined} declines, ${stripeFaults} faults of Stripe, ${refunds} refunds; ` +
      `${sums.booked} cents drawn, ${stripe.netCents()} at Stripe, ${sums.wallet} left`,
  );
  assert.deepEqual(await auditWallets(db), []);
  assert.deepEqual(await auditUsage(db), []);
  assert.equal(-sums.card, stripe.netCents(), 'what came by card is what Stripe has');
  assert.equal(sums.wallet, sums.balance);
  assert.equal(BigInt(sums.cost), BigInt(sums.usage) * UNITS, 'what usage has cost was drawn');
  assert.deepEqual(tally.unexplained, []);
  assert.ok(kills > 0 && turns > 0 && races > 0 && refunds > 0 && stripeFaults > 0, 'every kind of harm was done');
}

test(`two replicas on one PostgreSQL killed with -9 during ${OPERATIONS} operations: the money adds up`, {
  skip: NEEDS_SERVER,
}, async (t) => {
  const opened = await openTill(t, 'server', SEED, OPERATIONS);
  const { fleet, alive } = opened;
  const start = () => startOne(opened);
  const db = fleet.db ?? assert.fail('the fleet has no database of its own');
  await start();
  await start();
  const kills = await work(opened, start);
  await settle(opened);
  await lapse(db);
  await waitFor('end of every payment', SETTLE_MS, async () => ((await countOpen(db)) === 0 ? true : undefined));
  await stopAll(alive);
  await assertMoney(t, db, opened, kills);
});

test(`one process on the embedded store killed with -9 during ${EMBEDDED_OPERATIONS} operations: the money adds up`, {
  skip: NEEDS_NO_SERVER,
}, async (t) => {
  const opened = await openTill(t, 'embedded', SEED + 1, EMBEDDED_OPERATIONS);
  const { fleet, alive } = opened;
  const start = () => startOne(opened);
  await start();
  const kills = await work(opened, start);
  await settle(opened);
  await waitFor('end of every payment', SETTLE_MS, async () => {
    await stopAll(alive);
    const open = await visit(fleet, async (db) => {
      await lapse(db);
      return countOpen(db);
    });
    if (open === 0) return true;
    await start();
    await wait(SWEEPS_MS);
    return undefined;
  });
  await visit(fleet, (db) => assertMoney(t, db, opened, kills));
});

async function visit<Value>(fleet: Fleet, look: (db: Database) => Promise<Value>): Promise<Value> {
  const db = await openDatabase({ url: undefined, dataDir: fleet.dataDir, poolSize: 1 });
  try {
    return await look(db);
  } finally {
    await db.close();
  }
}
