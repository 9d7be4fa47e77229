/** Our account at a registry that tells its balance, over EPP. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { openTestLogger } from '../../../test/support/test-log.ts';
import { eventually } from '../../../test/support/turns.ts';
import { createMetrics, renderSum } from '../../kernel/metrics/metrics.ts';
import { createOperator } from '../operator/index.ts';
import { measureBalances } from './index.ts';

const confirm_price = 11.9;
const MINUTE_MS = 60_000;

let creditCents = 3_500;
const service = await startDomainsOverEpp({
  credit: (registrarId) => (registrarId.startsWith('ours') ? { cents: creditCents, warnBelowCents: 2_000 } : undefined),
  endpoint: { warnBelowCents: 2_000 },
  habits: { balance: true },
});
after(() => service.close());
const { db, domains, later, owner, registry } = service;
const { clock } = service.epp;
const operator = createOperator({ db, clock, registries: registry.members });
/** Of two processes, as one page shows them. */
const pages = [createMetrics(), createMetrics()];
for (const metrics of pages) measureBalances({ db, metrics, registry, logger: openTestLogger() });

async function shown() {
  const [balance] = (await operator.registry_balances({})).balances;
  const page = await renderSum(await Promise.all(pages.map((metrics) => metrics.snapshot())));
  const lines = page.split('\n').filter((line) => line.startsWith('domains_registry_balance'));
  return { balance, values: lines.map((line) => line.replace(/^.*\} /, '')) };
}

test('the balance is asked for now and then, learnt from messages, and told while it is low', async () => {
  // The service has begun to ask by itself.
  await eventually(async () => (await shown()).balance?.observed_at ?? undefined, 'the registry has told its balance');
  const { balance, values } = await shown();
  assert.deepEqual([balance?.available_cents, balance?.is_low, values], [3_500, false, ['35', '0']]);

  // The registry queues a message with the second of them.
  const workspace = await owner('first.com', 'second.com');
  await domains.lookAtBalances();
  assert.equal((await shown()).balance?.available_cents, 3_500, 'it is not asked again so soon');
  await later(1_000);
  const told = await shown();
  assert.deepEqual([told.balance?.available_cents, told.balance?.is_low, told.values], [1_500, true, ['15', '1']]);
  assert.deepEqual((await operator.unknown_messages({})).messages, []);

  await workspace.post('/domains', { domain: 'third.com', confirm_price });
  await workspace.post('/domains', { domain: 'fourth.com', confirm_price });
  const refused = await shown();
  assert.deepEqual([refused.balance?.orders_waiting, refused.balance?.is_low], [1, true]);
  assert.notEqual(refused.balance?.refused_at, null);
});

test('the verb of a running server asks at once, and shows what is known, and of when, where there is no answer', async () => {
  const asking = createOperator({ db, clock, registries: registry.members, logger: openTestLogger() });
  const read = async () => (await asking.registry_balances({})).balances[0];
  clock.advance(MINUTE_MS);
  const told = await read();
  const at = clock.now().toISOString();
  assert.equal(told?.observed_at, at);
  service.deliver(({ kind }) => (kind === 'balance:info' ? { kind: 'refused', code: 2400 } : undefined));
  clock.advance(MINUTE_MS);
  const known = await read();
  service.deliver(undefined);
  assert.deepEqual([known?.observed_at, known?.available_cents], [at, told?.available_cents]);
});

test('orders that wait for credit are sent as soon as the balance is seen to have grown', async () => {
  // Refused once more, and sent by itself again in 25 minutes.
  await later(100 * MINUTE_MS);
  const [order] = (await operator.orders_needing_attention({})).orders;
  clock.advance(11 * MINUTE_MS);
  assert.ok(new Date(order?.next_look_at ?? 0) > clock.now(), `it is sent at ${order?.next_look_at}`);
  creditCents = 10_000;
  await domains.lookAtBalances();
  await domains.orders.sweep();
  assert.equal((await operator.show_order({ id: order?.id ?? '' })).state, 'completed');
  const { balance } = await shown();
  assert.deepEqual([balance?.is_low, balance?.refused_at, balance?.orders_waiting], [false, null, 0]);
});
