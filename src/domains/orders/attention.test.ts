/** A registry that never says how an order ends, over EPP. */
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { insertZone } from '../../../test/support/dnssec-zones.ts';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { openTestLogger } from '../../../test/support/test-log.ts';
import { createJobs } from '../../kernel/jobs/jobs.ts';
import { createMetrics } from '../../kernel/metrics/metrics.ts';
import { createOperator } from '../operator/index.ts';
import { auditLedger, readWallet } from '../wallet/index.ts';
import { systemDb } from '../workspace-scope.ts';
import { defineOrderAudit } from './index.ts';

const HOUR_MS = 3_600_000;
const confirm_price = 11.9;
const FULL = 1_000_000;

const service = await startDomainsOverEpp();
const { answerWrongly, db, epp, later, owner } = service;
const operator = createOperator({ db, clock: epp.clock });
after(() => service.close());
afterEach(() => service.letNamesGo());

/** An order whose every command is answered with 2400. */
async function failingOrder(name: string) {
  const workspace = await owner();
  let sent = 0;
  answerWrongly((command, asked) => {
    if (command !== 'create' || asked !== name) return undefined;
    sent += 1;
    return 2400;
  });
  const answer = await workspace.post('/domains', { domain: name, confirm_price });
  assert.deepEqual([answer.status, answer.body.status], [201, 'Pending'], answer.text);
  const order = await systemDb(db).selectFrom('orders').select('id').where('name', '=', name).executeTakeFirstOrThrow();
  const wallet = () => readWallet(db, workspace.workspaceId);
  return { workspace, id: order.id, wallet, sent: () => sent };
}

const needing = async () => (await operator.orders_needing_attention({})).orders.map(({ id }) => id);

/** What needs attention needs it whether it was asked about often or not. */
async function aDay(): Promise<void> {
  await later(HOUR_MS);
  await later(25 * HOUR_MS);
}

/** As the sweep would, but every few hours. */
async function hours(count: number, step: number): Promise<void> {
  for (let hour = 0; hour < count; hour += step) await later(step * HOUR_MS);
}

test('an order that fails for ever is asked about less and less often, and needs attention after a day', async () => {
  const { id, sent, wallet, workspace } = await failingOrder('for-ever.com');
  await hours(5, 1);
  await hours(18, 3);
  assert.deepEqual(await needing(), []);
  const inTheFirstDay = sent();
  await hours(2, 1);
  assert.deepEqual(await needing(), [id]);
  const [order] = (await operator.orders_needing_attention({})).orders;
  assert.match(order?.attention_reason ?? '', /2400/);
  await hours(48, 3);
  assert.ok(sent() - inTheFirstDay <= 12, `${sent() - inTheFirstDay} commands in two further days`);
  assert.deepEqual(await wallet(), { availableCents: FULL - 1_190, heldCents: 1_190 }, 'what is held stays held');

  const cancelled = await operator.end_order({ id, end: 'failed', reason: 'The registry has never seen it.' });
  assert.deepEqual([cancelled.state, cancelled.settled_by_hand], ['failed', 'The registry has never seen it.']);
  assert.deepEqual(await wallet(), { availableCents: FULL, heldCents: 0 });
  assert.deepEqual((await workspace.get('/domains')).body.domains, []);
  assert.deepEqual(await needing(), []);
  await assert.rejects(operator.end_order({ id, end: 'failed', reason: 'again' }), /has ended already: it is failed/);
  await assert.rejects(operator.retry_order({ id }), /has ended already/);
  assert.deepEqual(await auditLedger(db), []);
});

test('retried, it is looked at now, and ends as soon as the registry does it', async () => {
  const { id, wallet, workspace } = await failingOrder('healed.com');
  await aDay();
  assert.deepEqual(await needing(), [id]);
  answerWrongly(undefined);
  const retried = await operator.retry_order({ id });
  assert.deepEqual([retried.attention_since, retried.state], [null, 'submitted']);
  await later(0);
  assert.equal((await operator.show_order({ id })).state, 'completed');
  assert.equal((await workspace.get('/domains/healed.com')).status, 200);
  assert.deepEqual(await wallet(), { availableCents: FULL - 1_190, heldCents: 0 });
});

test('completed by hand, it takes the money, and the name is the workspace’s', async () => {
  const { id, wallet, workspace } = await failingOrder('by-hand.com');
  await aDay();
  const completed = await operator.end_order({ id, end: 'completed', reason: 'Registered by telephone.' });
  assert.deepEqual([completed.state, completed.settled_by_hand], ['completed', 'Registered by telephone.']);
  assert.deepEqual(await wallet(), { availableCents: FULL - 1_190, heldCents: 0 });
  const [listed] = (await workspace.get('/domains')).body.domains;
  assert.equal(listed.domain, 'by-hand.com');
  assert.deepEqual(await auditLedger(db), []);
  await assert.rejects(operator.show_order({ id: 'ord_none' }), /no order ord_none/);
});

test('an order that a process works on is not ended under its hands', async () => {
  const { id } = await failingOrder('busy.com');
  await systemDb(db)
    .updateTable('orders')
    .set({ lease_until: new Date(epp.clock.now().getTime() + 60_000) })
    .where('id', '=', id)
    .execute();
  await assert.rejects(operator.end_order({ id, end: 'failed', reason: 'x' }), /is being worked on/);
});

test('the job tells of orders that need attention', async (t) => {
  const database: TestDatabase = await openTestDatabase();
  t.after(() => database.close());
  const { promise: logged, resolve } = Promise.withResolvers<object>();
  const logger = Object.assign(openTestLogger(), { error: resolve });
  const metrics = createMetrics();
  const jobs = createJobs(database.db, { logger });
  defineOrderAudit(jobs, { db: database.db, logger, metrics });
  assert.match(await metrics.render(), /^domains_orders_needing_attention 0$/m);
  const { workspaceId, domainId, name } = await insertZone(database.db, 'stuck.com');
  const order = {
    workspace_id: workspaceId,
    id: 'ord_stuck',
    kind: 'renewal',
    origin: 'request',
    domain_id: domainId,
    name,
  } as const;
  await systemDb(database.db)
    .insertInto('orders')
    .values({
      ...order,
      years: 1,
      amount_cents: 0,
      pays_with: 'wallet',
      state: 'submitted',
      attention_since: new Date(),
      attention_reason: 'why',
    })
    .execute();
  await jobs.start();
  t.after(() => jobs.stop());
  await jobs.enqueue(database.db, 'domains-audit-orders', {});
  assert.deepEqual(await logged, { count: 1, orders: [{ id: 'ord_stuck', name, reason: 'why' }] });
  assert.match(await metrics.render(), /^domains_orders_needing_attention 1$/m);
});
