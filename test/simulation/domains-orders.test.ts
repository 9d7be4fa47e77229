/** What customers buy, at a service whose replica crashes at any effect. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call, CallKind } from '../faults/order-driver.ts';
import { type DomainsReplica, type DomainsWorld, openDomainsWorld, type SimulatedWorkspace } from './domains-world.ts';
import { runScenario } from './run-scenario.ts';

const VISA = 'pm_card_visa';
const PRICE = 11.9;

interface Order {
  readonly workspace: SimulatedWorkspace;
  readonly call: Call;
}

async function prepareOrder(
  world: DomainsWorld,
  kind: CallKind,
  name: string,
  path: string,
  body: Record<string, unknown>,
): Promise<Order> {
  const workspace = await world.createWorkspace();
  const call: Call = { kind, key: `key-of-${name}`, token: workspace.token, name, path, body };
  world.calls.push(call);
  return { workspace, call };
}

/** Sends the call under its key. An answer that comes after a refusal is the one that counts. */
async function send(replica: DomainsReplica, { call, workspace }: Order): Promise<void> {
  call.answer = await workspace.at(replica).post(call.path, call.body, { 'idempotency-key': call.key });
}

async function judgeOrder(world: DomainsWorld, { call, workspace }: Order, wanted: string): Promise<string[]> {
  const { body } = await workspace.at(world.other).get('/orders');
  const states = body.orders.map(({ status }: { status: string }) => status);
  const problems = String(states) === wanted ? [] : [`the orders of ${call.name} are ${states}: ${call.answer?.text}`];
  const again = await workspace.at(world.other).post(call.path, call.body, { 'idempotency-key': call.key });
  // It was told to ask again.
  if (call.answer?.body.error === 'internal') call.answer = again;
  if (again.status !== call.answer?.status || again.body.order_id !== call.answer.body.order_id) {
    problems.push(`the same key was answered ${call.answer?.text} and then ${again.text}`);
  }
  return problems;
}

test('a registration paid by card is charged once and registered once whatever effect a crash hits', async (t) => {
  const report = await runScenario<DomainsWorld, DomainsReplica, Order>({
    openWorld: () => openDomainsWorld(),
    prepare: (world, tag) => {
      const domain = `card-${tag}.com`;
      return prepareOrder(world, 'register', domain, '/domains', {
        domain,
        confirm_price: PRICE,
        payment_method: VISA,
      });
    },
    act: send,
    repeat: ({ other }, order) => send(other, order),
    judge: (world, order) => judgeOrder(world, order, 'Completed'),
  });
  t.diagnostic(`${report.effects.length} effects, ${report.interruptions} interruptions`);
  if (process.env.SHOW)
    console.log(
      report.effects
        .map(
          ({ label, isInTransaction, isChange }, n) =>
            `${n + 1} ${isInTransaction ? '  ' : ''}${label}${isChange ? ' *' : ''}`,
        )
        .join('\n'),
    );
  assert.ok(report.effects.length > 0);
});
