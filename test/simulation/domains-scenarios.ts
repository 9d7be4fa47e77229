/** What the domain service promises of each of its works when the replica that does it crashes. The gate runs them, and the soak at every effect. */
import assert from 'node:assert/strict';
import { readBill } from '../../src/domains/registry/simulated/index.ts';
import { readWallet } from '../../src/domains/wallet/index.ts';
import type { FakeDispute } from '../fakes/stripe-api.ts';
import type { Call, CallKind } from '../faults/order-driver.ts';
import type { Answer } from '../support/http-client.ts';
import {
  type DomainsReplica,
  type DomainsWorld,
  type DomainsWorldOptions,
  openDomainsWorld,
  type SimulatedWorkspace,
} from './domains-world.ts';
import { type Crashes, runScenario, type Scenario, type ScenarioReport, type Scenarios } from './run-scenario.ts';

const VISA = 'pm_card_visa';
const PRICE = 11.9;
const CENTS = 1_190;
const RESTORE_PRICE = 99;
const FUNDS_CENTS = 50_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const GRACE_FEE_CENTS = 20;

type DomainsScenario<Case> = Scenario<DomainsWorld, DomainsReplica, Case>;

interface Tenant {
  readonly workspace: SimulatedWorkspace;
}

export interface Order extends Tenant {
  readonly call: Call;
}

const worldWith = (options: DomainsWorldOptions) => () => openDomainsWorld(options);
const run =
  <Case>(scenario: DomainsScenario<Case>) =>
  (crashes: Crashes): Promise<ScenarioReport> =>
    runScenario(scenario, crashes);

function newCall(world: DomainsWorld, call: Omit<Call, 'key' | 'token'> & Tenant): Order {
  const { workspace, ...asked } = call;
  const made: Call = { ...asked, key: `${asked.kind}-${asked.name}`, token: workspace.token };
  world.calls.push(made);
  return { workspace, call: made };
}

async function prepareOrder(
  world: DomainsWorld,
  kind: CallKind,
  name: string,
  path: string,
  body: Record<string, unknown>,
): Promise<Order> {
  return newCall(world, { workspace: await world.createWorkspace(), kind, name, path, body });
}

async function send(replica: DomainsReplica, { call, workspace }: Order): Promise<void> {
  const headers = { 'idempotency-key': call.key };
  const client = workspace.at(replica);
  call.answer =
    call.kind === 'delete' ? await client.delete(call.path, headers) : await client.post(call.path, call.body, headers);
}

/** Its orders, and that the same key gets the answer that it got. */
async function judgeOrder(world: DomainsWorld, order: Order, wanted: string): Promise<string[]> {
  const { call, workspace } = order;
  const problems = await judgeStates(world, order, wanted);
  const first = call.answer;
  await send(world.other, order);
  // It was told to ask again.
  if (first?.body.error === 'internal') return problems;
  if (call.answer?.status !== first?.status || call.answer?.body.order_id !== first?.body.order_id) {
    problems.push(`${workspace.workspaceId}: the same key was answered ${first?.text} and then ${call.answer?.text}`);
  }
  return problems;
}

async function judgeStates(world: DomainsWorld, { call, workspace }: Order, wanted: string): Promise<string[]> {
  const { body } = await workspace.at(world.other).get('/orders');
  const states = body.orders.map(({ kind, status }: { kind: string; status: string }) => `${kind} ${status}`);
  if (states.join(', ') === wanted) return [];
  return [`the orders of ${call.name} are: ${states}; it was answered ${call.answer?.text}`];
}

async function judgeWallet(world: DomainsWorld, { workspace }: Tenant, wantedCents: number): Promise<string[]> {
  const { availableCents, heldCents } = await readWallet(world.db, workspace.workspaceId);
  if (availableCents === wantedCents && heldCents === 0) return [];
  return [`the wallet of ${workspace.workspaceId} has ${availableCents} of ${wantedCents} and holds ${heldCents}`];
}

/** What a customer of its own is about to buy. */
export function buyOrder(
  world: DomainsWorld,
  kind: 'card' | 'wallet' | 'transfer' | 'refused',
  tag: string,
): Promise<Order> {
  if (kind === 'transfer') {
    const name = `taken-${tag}.com`;
    const body = { auth_code: 'simulated-auth', confirm_price: PRICE };
    return prepareOrder(world, 'transfer', name, `/domains/${name}/transfer`, body);
  }
  const domain = `${kind === 'refused' ? 'refuse' : kind}-${tag}.com`;
  const payment = kind === 'wallet' ? {} : { payment_method: VISA };
  return prepareOrder(world, 'register', domain, '/domains', { domain, confirm_price: PRICE, ...payment });
}

/** As long as it has no answer that says what came of it. */
export async function repeatOrder(replica: DomainsReplica, order: Order): Promise<void> {
  const { answer } = order.call;
  if (answer === undefined || answer.body.error === 'internal') await send(replica, order);
}

const registerByCard = run<Order>({
  openWorld: worldWith({}),
  prepare: (world, tag) => buyOrder(world, 'card', tag),
  act: send,
  repeat: ({ other }, order) => send(other, order),
  judge: (world, order) => judgeOrder(world, order, 'registration Completed'),
});

const registerByWallet = run<Order>({
  openWorld: worldWith({ creditCents: FUNDS_CENTS }),
  prepare: (world, tag) => buyOrder(world, 'wallet', tag),
  act: send,
  repeat: ({ other }, order) => send(other, order),
  judge: (world, order) => judgeOrder(world, order, 'registration Completed'),
});

/** Refused by the registry after the card was charged. Errors are not stored: a repetition is another order, which ends in the same way. */
const refundFailed = run<Order>({
  openWorld: worldWith({}),
  prepare: (world, tag) => buyOrder(world, 'refused', tag),
  async act(replica, order) {
    await send(replica, order);
    await replica.domains.orders.sweep();
  },
  repeat: ({ other }, order) => repeatOrder(other, order),
  async judge(world, order) {
    const { call } = order;
    const { body } = await order.workspace.at(world.other).get('/orders');
    const isUndone = body.orders.every(({ status }: { status: string }) => status === 'Failed');
    const isTold = call.answer?.body.error === 'registration_failed';
    return isUndone && isTold
      ? []
      : [`${call.name} is not undone: ${call.answer?.text} ${JSON.stringify(body.orders)}`];
  },
  isSweep: true,
});

const transferIn = run<Order>({
  // The first event of such a name is its transfer.
  openWorld: worldWith({
    creditCents: FUNDS_CENTS,
    simulated: { delays: { transferSeconds: 600 } },
    auditsTill: false,
  }),
  prepare: (world, tag) => buyOrder(world, 'transfer', tag),
  act: send,
  repeat: ({ other }, order) => send(other, order),
  judge: (world, order) => judgeOrder(world, order, 'transfer Completed'),
});

/** A name of the workspace, bought at the other replica. */
async function buyName(world: DomainsWorld, workspace: SimulatedWorkspace, domain: string): Promise<void> {
  const body = { domain, confirm_price: PRICE };
  const order = newCall(world, { workspace, kind: 'register', name: domain, path: '/domains', body });
  await send(world.other, order);
  assert.equal(order.call.answer?.status, 201, order.call.answer?.text);
}

/** As if a name had been bought, for a year, so many days earlier. A year of the calendar: not each has as many days. */
async function makeOlder(world: DomainsWorld, name: string, days: number): Promise<void> {
  const columns = {
    'domains.registry_domains': { moved: ['created_at'], ended: ['expires_at'] },
    'domains.domains': { moved: ['created_at', 'registrant_since'], ended: ['expires_at', 'billed_until'] },
  };
  for (const [table, { moved, ended }] of Object.entries(columns)) {
    const changes = [
      ...moved.map((column) => `${column} = ${column} - make_interval(days => $2)`),
      ...ended.map((column) => `${column} = created_at - make_interval(days => $2) + interval '1 year'`),
    ];
    await world.db.query({ text: `update ${table} set ${changes.join(', ')} where name = $1`, values: [name, days] });
  }
}

interface OwnedName extends Tenant {
  readonly name: string;
}

async function prepareName(world: DomainsWorld, name: string, days = 0): Promise<OwnedName> {
  const workspace = await world.createWorkspace();
  await buyName(world, workspace, name);
  if (days > 0) await makeOlder(world, name, days);
  return { workspace, name };
}

const renewByWorker = run<OwnedName>({
  // Notices of names that end soon are another matter.
  openWorld: worldWith({ creditCents: FUNDS_CENTS, auditsTill: false }),
  prepare: (world, tag) => prepareName(world, `renew-${tag}.com`, 340),
  act: ({ domains }) => domains.renewals.runDue(),
  async judge(world, owned) {
    const { body } = await owned.workspace.at(world.other).get('/orders');
    const states = body.orders.map(({ kind, status }: { kind: string; status: string }) => `${kind} ${status}`);
    const wanted = 'renewal Completed,registration Completed';
    const problems = String(states) === wanted ? [] : [`the orders of ${owned.name} are ${states}`];
    return [...problems, ...(await judgeWallet(world, owned, FUNDS_CENTS - 2 * CENTS))];
  },
  isSweep: true,
});

const deleteInGrace = run<Order>({
  openWorld: worldWith({
    creditCents: FUNDS_CENTS,
    simulated: { addGrace: { days: 5, feeCents: GRACE_FEE_CENTS } },
    // What comes back is no part of any order.
    auditsOrders: false,
  }),
  async prepare(world, tag) {
    const name = `grace-${tag}.com`;
    const { workspace } = await prepareName(world, name);
    return newCall(world, { workspace, kind: 'delete', name, path: `/domains/${name}`, body: undefined });
  },
  act: send,
  repeat: ({ other }, order) => send(other, order),
  async judge(world, order) {
    const problems = await judgeWallet(world, order, FUNDS_CENTS - GRACE_FEE_CENTS);
    const { body } = await order.workspace.at(world.other).get('/domains');
    if (body.domains.length > 0) problems.push(`${order.call.name} is in the portfolio still`);
    if ((await world.registry.info(order.call.name)) !== undefined)
      problems.push(`${order.call.name} is registered still`);
    return problems;
  },
});

const restore = run<Order>({
  openWorld: worldWith({ creditCents: FUNDS_CENTS, auditsOrders: false, auditsTill: false }),
  async prepare(world, tag) {
    const name = `restore-${tag}.com`;
    const { workspace } = await prepareName(world, name, 10);
    const deleted = await workspace.at(world.other).delete(`/domains/${name}`);
    assert.equal(deleted.body.status, 'Pending', deleted.text);
    const body = { confirm_price: RESTORE_PRICE };
    return newCall(world, { workspace, kind: 'renew', name, path: `/domains/${name}/restore`, body });
  },
  act: send,
  repeat: ({ other }, order) => send(other, order),
  async judge(world, order) {
    const { name } = order.call;
    const problems = await judgeOrder(world, order, 'restoration Completed, registration Completed');
    const bill = (await readBill(world.db, 'ironcraft')).filter((one) => one.name === name && one.kind === 'restore');
    if (bill.length !== 1) problems.push(`${name} was restored ${bill.length} times`);
    return [...problems, ...(await judgeWallet(world, order, FUNDS_CENTS - CENTS - RESTORE_PRICE * 100))];
  },
});

interface TopUp extends Tenant {
  key: string;
  answer?: Answer;
}

const TOP_UP = 25;

function pageOf(world: DomainsWorld, answer: Answer | undefined) {
  return [...world.stripe.sessions.values()].find(({ url }) => url === answer?.body.url);
}

async function openTopUp(replica: DomainsReplica, topUp: TopUp, world: DomainsWorld): Promise<void> {
  const headers = { 'idempotency-key': topUp.key };
  topUp.answer = await topUp.workspace.at(replica).post('/wallet/top-ups', { amount: TOP_UP }, headers);
  assert.equal(topUp.answer.status, 201, topUp.answer.text);
  const page = pageOf(world, topUp.answer) ?? assert.fail('Stripe has no such page');
  if (page.status === 'open') world.stripe.paySession(page.id, { hasIntent: true });
  // Nobody was there for a day: it is another top-up.
  else if (page.status === 'expired')
    await openTopUp(replica, Object.assign(topUp, { key: `${topUp.key}-again` }), world);
}

const topUpByCard = run<TopUp>({
  openWorld: worldWith({ auditsOrders: false }),
  prepare: async (world, tag) => ({ workspace: await world.createWorkspace(), key: `top-up-${tag}` }),
  async act(replica, topUp, world) {
    await openTopUp(replica, topUp, world);
    world.clock.advance(MINUTE_MS);
    await replica.jobs.runScheduled('domains-settle-top-ups');
    await replica.jobs.runScheduled('domains.receipts');
  },
  repeat: (world, topUp) => openTopUp(world.other, topUp, world),
  judge: (world, topUp) => judgeWallet(world, topUp, TOP_UP * 100),
  isSweep: true,
});

const AUTO_TOP_UP = { enabled: true, threshold: 20, amount: 50, monthly_limit: 1_000 };

const topUpByItself = run<Tenant>({
  openWorld: worldWith({ creditCents: 3_000, auditsOrders: false }),
  async prepare(world, tag) {
    const workspace = await world.createWorkspace();
    const client = workspace.at(world.other);
    const page = await client.post('/wallet/card', {});
    world.stripe.saveCard(pageOf(world, page)?.id ?? assert.fail(page.text));
    world.clock.advance(MINUTE_MS);
    await world.other.domains.topUpWallets();
    const set = await client.put('/wallet/auto-top-up', AUTO_TOP_UP);
    assert.equal(set.status, 200, set.text);
    await buyName(world, workspace, `auto-${tag}.com`);
    return { workspace };
  },
  act: ({ domains }) => domains.topUpWallets(),
  judge: (world, tenant) => judgeWallet(world, tenant, 3_000 - CENTS + AUTO_TOP_UP.amount * 100),
  isSweep: true,
});

interface Dispute extends Tenant {
  readonly dispute: FakeDispute;
}

/** As Stripe does, again and again until it is taken. */
async function tellDispute(world: DomainsWorld, replica: DomainsReplica, { dispute }: Dispute): Promise<void> {
  const id = `evt_${dispute.id}`;
  const event = world.stripe.signEvent('charge.dispute.created', dispute, { id, at: world.clock.now() });
  const response = await fetch(`${replica.url}/stripe/webhook`, { method: 'POST', ...event });
  const text = await response.text();
  assert.equal(response.status, 200, text);
}

const disputed = run<Dispute>({
  openWorld: worldWith({ auditsOrders: false }),
  async prepare(world, tag) {
    const topUp: TopUp = { workspace: await world.createWorkspace(), key: `disputed-${tag}` };
    await openTopUp(world.other, topUp, world);
    const intent = pageOf(world, topUp.answer)?.payment_intent ?? assert.fail('nobody paid');
    world.clock.advance(MINUTE_MS);
    await world.other.jobs.runScheduled('domains-settle-top-ups');
    return { workspace: topUp.workspace, dispute: world.stripe.dispute(intent, TOP_UP * 100) };
  },
  act: (replica, dispute, world) => tellDispute(world, replica, dispute),
  repeat: (world, dispute) => tellDispute(world, world.other, dispute),
  judge: (world, tenant) => judgeWallet(world, tenant, 0),
});

const deliverWebhook = run<Tenant>({
  openWorld: worldWith({ auditsOrders: false }),
  async prepare(world) {
    const workspace = await world.createWorkspace();
    const path = `/${workspace.workspaceId}`;
    const hook = await workspace.at(world.other).post('/webhooks', { url: `${world.receiver.url}${path}` });
    assert.equal(hook.status, 201, hook.text);
    world.receiver.secrets.set(path, hook.body.secret);
    // What tells of the webhook itself.
    await world.other.deliverWebhooks();
    await workspace.fund(1_000);
    return { workspace };
  },
  act: (replica) => replica.deliverWebhooks(),
  // The audit looks for each event at the receiver.
  judge: async () => [],
  isSweep: true,
});

interface Holder extends OwnedName {
  readonly key: string;
}

const NEW_HOLDER = { name: 'Grace Hopper' };

async function changeHolder(replica: DomainsReplica, { key, workspace }: Holder): Promise<void> {
  const answer = await workspace.at(replica).patch('/registrant', NEW_HOLDER, { 'idempotency-key': key });
  assert.equal(answer.status, 200, answer.text);
}

const changeRegistrant = run<Holder>({
  openWorld: worldWith({ creditCents: FUNDS_CENTS }),
  prepare: async (world, tag) => ({ ...(await prepareName(world, `holder-${tag}.com`)), key: `holder-${tag}` }),
  async act(replica, holder) {
    await changeHolder(replica, holder);
    await replica.domains.resendChanges();
  },
  repeat: ({ other }, holder) => changeHolder(other, holder),
  async judge(world, { name, workspace }) {
    const { body } = await workspace.at(world.other).get('/registrant');
    const { rows } = await world.db.query<{ holder: string }>({
      text: `select c.data #>> '{postalInfo,0,name}' as holder from domains.registry_domains d
        join domains.registry_contacts c on c.id = d.registrant where d.name = $1`,
      values: [name],
    });
    const holders = [body.name, rows[0]?.holder];
    if (holders.every((holder) => holder === NEW_HOLDER.name)) return [];
    return [`the holder of ${name} is ${holders[0]} here and ${holders[1]} at the registry`];
  },
  isSweep: true,
});

const syncDaily = run<OwnedName>({
  // Another program of ours has paid for the further year.
  openWorld: worldWith({ creditCents: FUNDS_CENTS, auditsOrders: false }),
  async prepare(world, tag) {
    const owned = await prepareName(world, `sync-${tag}.com`);
    const info = (await world.registry.info(owned.name)) ?? assert.fail(`${owned.name} is not registered`);
    const currentExpiresAt = info.expiresAt ?? assert.fail('it has no expiry');
    await world.registry.renew({ name: owned.name, years: 1, currentExpiresAt, transactionId: `elsewhere-${tag}` });
    world.clock.advance(DAY_MS + MINUTE_MS);
    return owned;
  },
  act: ({ domains }) => domains.orders.sweep(),
  async judge(world, { name, workspace }) {
    const info = await world.registry.info(name);
    const { body } = await workspace.at(world.other).get(`/domains/${name}`);
    const listed = (await workspace.at(world.other).get('/domains')).body.domains[0];
    if (Date.parse(listed.expires_at) === Date.parse(info?.expiresAt ?? '')) return [];
    return [
      `${name} ends on ${info?.expiresAt} at the registry, and here on ${listed.expires_at} (${body.expires_at})`,
    ];
  },
  isSweep: true,
  // Its name would be due again tomorrow.
  retire: ({ db }, { name }) =>
    db.query({
      text: `update domains.domains set synced_at = synced_at + interval '10 years' where name = $1`,
      values: [name],
    }),
  // A day passes in each: after a month the worker has other duties, too.
  runsAWorld: 20,
});

interface SignIn extends Tenant {
  readonly key: string;
  token?: string;
}

/** Tries what has come by mail, the newest first, and asks for a link where nothing works. */
async function signIn(replica: DomainsReplica, made: SignIn, world: DomainsWorld, isAsking = false): Promise<void> {
  const { workspace, key } = made;
  const client = workspace.at(replica).as('');
  for (const { text, to } of world.mails.toReversed()) {
    const [, code] = /sign-in#(\S+)$/m.exec(text) ?? [];
    if (to !== workspace.email || code === undefined) continue;
    const done = await client.post('/sign-ins/complete', { code }, { 'idempotency-key': key });
    if (done.status !== 201) continue;
    made.token = done.body.token.token;
    return;
  }
  assert.ok(!isAsking, 'the mail that was asked for gives no token');
  const asked = await client.post('/sign-ins', { email: workspace.email });
  assert.equal(asked.status, 202, asked.text);
  await replica.jobs.runQueued();
  await signIn(replica, made, world, true);
}

const signInByMail = run<SignIn>({
  openWorld: worldWith({}),
  prepare: async (world, tag) => ({ workspace: await world.createWorkspace(), key: `sign-in-${tag}` }),
  act: (replica, made, world) => signIn(replica, made, world),
  repeat: (world, made) => signIn(world.other, made, world),
  async judge(world, { token = '', workspace }) {
    const { body, status, text } = await workspace.at(world.other).as(token).get('/tokens');
    if (status !== 200) return [`the token of ${workspace.email} does not work: ${text}`];
    const minted = body.tokens.filter(({ name }: { name: string }) => name === 'sign-in').length;
    return minted === 1 ? [] : [`${workspace.email} has signed in once and has ${minted} tokens of that`];
  },
  isSweep: true,
});

/** By their promises, those that guard money first. */
export const orderScenarios: Scenarios = {
  'a registration paid by card is charged once and registered once': registerByCard,
  'a registration paid from the wallet is charged once and registered once': registerByWallet,
  'a refused registration gives the card its money back once': refundFailed,
  'a renewal by the worker is charged once and renewed once': renewByWorker,
  'a transfer is charged once and carried out once': transferIn,
  'a restoration is charged once and carried out once': restore,
};

export const walletScenarios: Scenarios = {
  'a top-up by card is credited once': topUpByCard,
  'an automatic top-up is charged once and credited once': topUpByItself,
  'a disputed payment is taken from the wallet once': disputed,
  'a deletion in the days of grace gives the price back once': deleteInGrace,
};

export const nameScenarios: Scenarios = {
  'a webhook is delivered': deliverWebhook,
  'a change of the registrant reaches the registry': changeRegistrant,
  'the daily look shows what the registry has of a name': syncDaily,
  'a sign-in by mail mints one token': signInByMail,
};
