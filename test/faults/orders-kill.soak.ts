/**
 * Customers buy, renew, transfer and delete names, with a card or from the wallet, while server processes are killed with
 * -9, the registry loses commands and answers, and the payment provider declines and fails. In the end the ledger sums to zero,
 * no name is bought twice, no charge is without a name and no name without a charge, and no hold is left.
 * IRONCRAFT_FAULT_ORDERS sets the number of orders, IRONCRAFT_TEST_SEED repeats the choices of a run, not
 * its timing.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { addFault, type FaultCommand, registryDb } from '../../src/domains/registry/simulated/index.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { openDatabase } from '../../src/kernel/db/open-database.ts';
import type { ServerProcess } from '../boot/server-process.ts';
import { waitFor } from '../boot/server-process.ts';
import { type FakeStripe, startStripe } from '../fakes/stripe-server.ts';
import { seedFor } from '../support/seed.ts';
import { auditOrders, countOpen, listOrders } from './audit-orders.ts';
import { type Fleet, NEEDS_NO_SERVER, NEEDS_SERVER, openFleet } from './fleet.ts';
import { lapseLeases, letTimePass } from './lapse-orders.ts';
import { type Call, driveOrders, type Shop, settleCalls, type Tally } from './order-driver.ts';
import { createRandom, type Random } from './seeded-random.ts';

const ORDERS = Number(process.env.IRONCRAFT_FAULT_ORDERS ?? 900);
const EMBEDDED_ORDERS = Math.round(ORDERS / 3);
const SEED = seedFor('orders-kill');

const CUSTOMERS = 12;
const EMBEDDED_CUSTOMERS = 6;
/** Orders between two kills, and how many more are begun before the dead are replaced. */
const ORDERS_OF_A_LIFE = { min: 10, max: 40 };
/** A process of the embedded store takes longer to start. */
const EMBEDDED_ORDERS_OF_A_LIFE = { min: 20, max: 50 };
const ORDERS_AHEAD = 15;
/** From an order's beginning to the kill: somewhere in its steps. */
const STRIKE_MS = { min: 0, max: 250 };
const LOOK_MS = 10;
/** Some sweeps, for refunds too. */
const LAST_SWEEPS_MS = 3_000;
const BOTH_AT_ONCE_SHARE = 0.15;
const SETTLE_MS = 180_000;
/** Enough for whatever a wallet is asked for. */
const CREDIT_CENTS = 20_000_000;

const commandOf = { register: 'create', renew: 'renew', transfer: 'transfer', delete: 'delete' } as const;
const COMMANDS: readonly FaultCommand[] = [...Object.values(commandOf), 'create', 'info', 'poll', 'acknowledge'];
const FAULTS_OF_A_LIFE = 10;

/** The processes of one store, and the customers who use whichever lives. */
class Market {
  readonly #fleet: Fleet;
  readonly #random: Random;
  readonly #alive = new Set<ServerProcess>();
  readonly #shop: Shop;
  readonly #orders: number;
  #begun = 0;
  #strikeAt = 0;
  readonly tally: Tally = { cut: 0, cardFaults: 0, unexplained: [] };
  kills = 0;
  plannedFaults = 0;

  constructor(fleet: Fleet, stripe: FakeStripe, random: Random, orders: number) {
    this.#fleet = fleet;
    this.#random = random;
    this.#orders = orders;
    this.#shop = {
      pick: (choice) => (this.#alive.size === 0 ? undefined : choice.pick(this.alive).url),
      next: () => this.#next(),
      contested: Math.max(3, Math.round(orders / 60)),
      stripe,
      harm: (choice, call) => this.#harm(choice, call),
    };
  }

  get alive(): readonly ServerProcess[] {
    return [...this.#alive];
  }

  async start(): Promise<void> {
    this.#alive.add(await this.#fleet.start());
  }

  /** Ends one process as a power cut would. */
  async kill(server: ServerProcess): Promise<void> {
    this.#alive.delete(server);
    server.kill('SIGKILL');
    assert.equal((await server.ended).signal, 'SIGKILL', 'it lived until then');
    this.kills += 1;
  }

  async stop(): Promise<void> {
    for (const server of this.alive) assert.deepEqual(await server.stop(), { code: 0, signal: null });
    this.#alive.clear();
  }

  async #next(): Promise<number | undefined> {
    while (this.#begun < this.#orders && this.#begun >= this.#strikeAt + ORDERS_AHEAD) await wait(LOOK_MS);
    if (this.#begun >= this.#orders) return undefined;
    this.#begun += 1;
    return this.#begun;
  }

  /** Has customers order until there are enough orders, and calls `strike` now and then meanwhile. */
  async trade(customers: number, life: typeof ORDERS_OF_A_LIFE, strike: () => Promise<void>): Promise<Call[]> {
    let isTrading = true;
    const driven = Promise.all(
      Array.from({ length: customers }, (_, index) =>
        driveOrders(this.#shop, this.#random.fork(), this.tally, `customer-${index}`),
      ),
    ).finally(() => {
      isTrading = false;
    });
    // Awaited below; a failure before is no unhandled one.
    driven.catch(() => undefined);
    while (isTrading) {
      this.#strikeAt = this.#begun + this.#random.integer(life.min, life.max);
      while (isTrading && this.#begun < this.#strikeAt) await wait(LOOK_MS);
      await wait(this.#random.integer(STRIKE_MS.min, STRIKE_MS.max));
      if (isTrading) await strike();
    }
    return (await driven).flat();
  }

  /** Whether some customer still waits for the registry. */
  settle(calls: readonly Call[]): Promise<void> {
    return settleCalls(this.#shop, this.#random.fork(), this.tally, calls);
  }

  async #harm(random: Random, { kind, name }: Pick<Call, 'kind' | 'name'>): Promise<void> {
    if (this.#fleet.db === undefined) return;
    const ofName = random.next() < 0.9;
    const commands: readonly FaultCommand[] = [commandOf[kind], commandOf[kind], 'info', 'check'];
    await this.#addFault(this.#fleet.db, random, ofName ? { commands, name } : { commands: COMMANDS, name: '*' });
  }

  /** On the embedded store faults cannot be arranged while a process lives. */
  async harmNextLife(db: Database): Promise<void> {
    for (let count = 0; count < FAULTS_OF_A_LIFE; count += 1) {
      await this.#addFault(db, this.#random, { commands: COMMANDS, name: '*' });
    }
  }

  async #addFault(
    db: Database,
    random: Random,
    { commands, name }: { readonly commands: readonly FaultCommand[]; readonly name: string },
  ): Promise<void> {
    const times = random.integer(1, 3);
    this.plannedFaults += times;
    await addFault(registryDb(db), {
      command: random.pick(commands),
      moment: random.pick(['before', 'after']),
      outcome: random.pick(['timeout', 'disconnect']),
      times,
      namePattern: name,
    });
  }
}

test(`two replicas on one PostgreSQL killed with -9 during ${ORDERS} orders: every name is bought once and paid for once`, {
  skip: NEEDS_SERVER,
}, async (t) => {
  const startedMs = performance.now();
  const random = createRandom(SEED);
  const stripe = await openStripe(t);
  const fleet = await openFleet(t, { store: 'server', only: 'domains', variables: variablesOf(stripe) });
  const db = fleet.db ?? assert.fail('the fleet has no database of its own');
  const market = new Market(fleet, stripe, random, ORDERS);
  await market.start();
  await market.start();
  const calls = await market.trade(CUSTOMERS, ORDERS_OF_A_LIFE, async () => {
    const victims = random.next() < BOTH_AT_ONCE_SHARE ? market.alive : [random.pick(market.alive)];
    await Promise.all(victims.map((server) => market.kill(server)));
    if (market.alive.length === 0) await lapseLeases(db);
    await Promise.all(victims.map(() => market.start()));
  });
  await market.stop();
  await lapseLeases(db);
  await market.start();
  await market.start();
  const settled = market.settle(calls);
  // Who asks again learns more only once the service has looked again.
  await waitFor('outcome of every order', SETTLE_MS, async () => {
    await letTimePass(db);
    return Promise.race([settled.then(() => true), wait(LAST_SWEEPS_MS)]);
  });
  await waitFor('end of every order and deletion', SETTLE_MS, async () => {
    const { live, openRefunds, deletions } = await countOpen(db);
    if (live + openRefunds + deletions === 0) return true;
    await letTimePass(db);
    await wait(LAST_SWEEPS_MS);
    return undefined;
  });
  await market.stop();
  await assertAllIsPaid(t, { db, stripe, calls, market, startedMs });
});

test(`one process on the embedded store killed with -9 during ${EMBEDDED_ORDERS} orders: every name is bought once and paid for once`, {
  skip: NEEDS_NO_SERVER,
}, async (t) => {
  const startedMs = performance.now();
  const random = createRandom(SEED + 1);
  const stripe = await openStripe(t);
  const fleet = await openFleet(t, { store: 'embedded', only: 'domains', variables: variablesOf(stripe) });
  const market = new Market(fleet, stripe, random, EMBEDDED_ORDERS);
  const visit = async <Value>(work: (db: Database) => Promise<Value>): Promise<Value> => {
    const db = await openDatabase({ url: undefined, dataDir: fleet.dataDir, poolSize: 1 });
    try {
      return await work(db);
    } finally {
      await db.close();
    }
  };
  await market.start();
  const calls = await market.trade(EMBEDDED_CUSTOMERS, EMBEDDED_ORDERS_OF_A_LIFE, async () => {
    await Promise.all(market.alive.map((server) => market.kill(server)));
    await visit(async (db) => {
      await lapseLeases(db);
      await market.harmNextLife(db);
    });
    await market.start();
  });
  await market.stop();
  await visit(lapseLeases);
  await market.start();
  await market.settle(calls);
  await waitFor('end of every order and deletion', SETTLE_MS, async () => {
    await wait(LAST_SWEEPS_MS);
    await market.stop();
    const { live, openRefunds, deletions } = await visit(async (db) => {
      await letTimePass(db);
      return countOpen(db);
    });
    if (live + openRefunds + deletions === 0) return true;
    await market.start();
    return undefined;
  });
  await visit((db) => assertAllIsPaid(t, { db, stripe, calls, market, startedMs }));
});

async function openStripe(t: TestContext): Promise<FakeStripe> {
  const stripe = await startStripe();
  t.after(() => stripe.close());
  return stripe;
}

function variablesOf(stripe: FakeStripe): Record<string, string> {
  return {
    IRONCRAFT_DOMAINS_STRIPE_KEY: stripe.secretKey,
    IRONCRAFT_DOMAINS_STRIPE_URL: stripe.url,
    IRONCRAFT_DOMAINS_DEMO_CREDIT_CENTS: String(CREDIT_CENTS),
    IRONCRAFT_LOG_LEVEL: 'error',
  };
}

interface Outcome {
  readonly db: Database;
  readonly stripe: FakeStripe;
  readonly calls: readonly Call[];
  readonly market: Market;
  readonly startedMs: number;
}

async function assertAllIsPaid(t: TestContext, { db, stripe, calls, market, startedMs }: Outcome): Promise<void> {
  const orders = await listOrders(db);
  const { kills, plannedFaults, tally } = market;
  const { rows } = await db.query<{ left: number }>({
    text: 'select coalesce(sum(remaining), 0)::int as left from domains.registry_faults',
    values: [],
  });
  const registryFaults = plannedFaults - (rows[0]?.left ?? 0);
  const declined = orders.filter(({ error_code }) => error_code === 'payment_failed').length;
  const repeated = orders.filter(({ submissions }) => submissions > 1).length;
  const completed = orders.filter(({ state }) => state === 'completed').length;
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  t.diagnostic(
    `${calls.length} orders, ${kills} kills that cut ${tally.cut} calls, ${registryFaults} registry faults, ` +
      `${tally.cardFaults} faults and ${declined} declines of the payment provider, ${stripe.refunds.size} refunds; ` +
      `${orders.length} placed, ${completed} completed, ${repeated} sent again; ${seconds} s`,
  );
  assert.deepEqual(await auditOrders({ db, stripe, calls, creditCents: CREDIT_CENTS }), []);
  assert.deepEqual(tally.unexplained, []);
  assert.ok(kills > 0 && tally.cut > 0 && repeated > 0 && declined > 0, 'every kind of harm was done');
}
