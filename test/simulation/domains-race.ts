/** One race of two replicas on the same orders. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../src/kernel/db/database.ts';
import type { Random } from '../faults/seeded-random.ts';
import type { Answer } from '../support/http-client.ts';
import { buyOrder, type Order, repeatOrder } from './domains-scenarios.ts';
import { type DomainsReplica, type DomainsWorld, openDomainsWorld } from './domains-world.ts';
import { Effects } from './effects.ts';

const ORDERS = 4;
/** No order has more before it is done. */
const EFFECTS_MAX = 42;
const KINDS = ['card', 'wallet', 'transfer', 'refused'] as const;
const FUNDS_CENTS = 50_000;

export interface RaceReport {
  readonly problems: readonly string[];
  /** The effects of both replicas, in the order in which they were carried out. */
  readonly order: readonly string[];
}

export async function race(random: Random): Promise<RaceReport> {
  const world = await openDomainsWorld({
    creditCents: FUNDS_CENTS,
    simulated: { delays: { transferSeconds: 30 } },
    // The first event of a name that comes by a transfer is that.
    auditsTill: false,
  });
  try {
    const orders: Order[] = [];
    for (let place = 0; place < ORDERS; place += 1) orders.push(await crashInOrder(world, random, place));
    world.passLeases();
    const effects = new Effects({
      chooseNext: (labels) => random.integer(0, labels.length - 1),
      ...(world.db.kind === 'server' ? { countLockWaits: () => countLockWaits(world.db) } : {}),
    });
    effects.arm();
    const replicas = [await world.startReplica(effects), await world.startReplica(effects)] as const;
    const answers: Answers[] = orders.map((order) => ({ order, heard: [] }));
    await startTogether(effects, [
      ...replicas.map((replica) => () => work(replica)),
      // Each customer repeats the call at both at once, under one key.
      ...answers.flatMap((each) => replicas.map((replica) => () => repeatAt(replica, each))),
    ]);
    await effects.idle();
    effects.crash();
    await Promise.all(replicas.map((replica) => replica.close()));
    await world.settle();
    for (const order of orders) await repeatOrder(world.other, order);
    await world.settle();
    const problems = [...answers.flatMap(compareAnswers), ...(await world.audit())];
    return { problems, order: effects.log.map(({ label }) => label) };
  } finally {
    await world.close();
  }
}

interface Answers {
  readonly order: Order;
  readonly heard: Answer[];
}

/** One begins after the other has its first effect waiting, and none is carried out before all do: where they begin is no matter of time. */
async function startTogether(effects: Effects, works: readonly (() => Promise<unknown>)[]): Promise<void> {
  const done: Promise<unknown>[] = [];
  effects.enterTransit();
  for (const work of works) {
    const before = effects.waiting;
    done.push(work());
    while (effects.waiting === before) await nextTurn();
  }
  effects.leaveTransit();
  await Promise.all(done);
}

async function repeatAt(replica: DomainsReplica, { heard, order: { call, workspace } }: Answers): Promise<void> {
  const answer = await workspace.at(replica).post(call.path, call.body, { 'idempotency-key': call.key });
  heard.push(answer);
  // A refusal of one that has failed is followed by another order of the same key: what counts is what was bought.
  if (call.answer === undefined || call.answer.status >= 300) call.answer = answer;
}

/** Two answers of one key that say that something is bought are about one order. */
function compareAnswers({ heard, order: { call } }: Answers): string[] {
  const bought = heard.filter(({ status }) => status < 300).map(({ body }) => String(body.order_id));
  const conflicts = heard.filter(({ body }) => body.error === 'already_in_portfolio');
  return [
    ...(new Set(bought).size > 1 ? [`${call.name}: one key was answered with the orders ${bought}`] : []),
    ...conflicts.map(({ text }) => `${call.name}: a repetition was refused as another call: ${text}`),
  ];
}

async function work({ domains, jobs }: DomainsReplica): Promise<void> {
  await domains.orders.sweep();
  await jobs.runScheduled('domains.receipts');
  await domains.orders.sweep();
}

/** An order at a replica that crashes at one of its effects, or after the last. */
async function crashInOrder(world: DomainsWorld, random: Random, place: number): Promise<Order> {
  const order = await buyOrder(world, random.pick(KINDS), `race-${place}`);
  const effects = new Effects();
  const replica = await world.startReplica(effects);
  effects.arm({ number: random.integer(1, EFFECTS_MAX), moment: 'after' });
  const sent = repeatOrder(replica, order).catch(() => undefined);
  await Promise.race([sent, effects.crashed.catch(() => undefined)]);
  await effects.idle();
  effects.crash();
  await replica.close();
  return order;
}

async function countLockWaits(db: Database): Promise<number> {
  const { rows } = await db.query<{ waits: number }>({
    text: `select count(*)::int as waits from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    values: [],
  });
  return rows[0]?.waits ?? 0;
}
