import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomains } from '../../../test/support/domains.ts';
import { silent, testCa } from '../../../test/support/epp.ts';
import { standardPrices } from '../../../test/support/prices.ts';
import { answerWith, openScriptedEpp } from '../../../test/support/scripted-epp.ts';
import { systemClock } from '../../kernel/clock/clock.ts';
import { createBackgroundWork } from '../background-work.ts';
import { createOperator } from '../operator/index.ts';
import { createEppRegistry } from '../registry/epp/index.ts';
import { createRoutingRegistry } from '../registry/routing-registry.ts';
import { unconfiguredPayments } from '../wallet/index.ts';
import { createOrderWorker } from './order-worker.ts';

const service = await startDomains();
after(() => service.close());

/** A registry whose queue has one message, with the same id and time as any other's. */
async function openQueue(id: string) {
  const queuedAt = '2026-11-01T00:00:00.000Z';
  let isRead = false;
  const server = await openScriptedEpp((command, clTRID) => {
    if (command === 'hello' || command.kind !== 'poll') return undefined;
    if (command.operation === 'ack') isRead = true;
    if (isRead) return answerWith(command.operation === 'ack' ? 1000 : 1300, clTRID);
    return answerWith(1301, clTRID, { queue: { count: 1, id: '1', queuedAt, text: `Maintenance of ${id}` } });
  });
  const registry = createEppRegistry({
    ...{ id, zones: [id], host: '127.0.0.1', port: server.port, clientId: 'us', password: 'secret' },
    ...{ tls: { ca: testCa }, logger: silent, reconnectDelayMs: 1 },
  });
  return { registry, close: () => Promise.all([server.close(), registry.stop()]) };
}

test('messages of two registries that have the same id and time are both kept, each with its registry', async (t) => {
  const [alpha, beta] = await Promise.all([openQueue('alpha'), openQueue('beta')]);
  t.after(() => Promise.all([alpha.close(), beta.close()]));
  const registry = createRoutingRegistry([alpha.registry, beta.registry]);
  await registry.start();
  const { db, vault } = service;
  const background = createBackgroundWork(silent);
  const parts = {
    db,
    vault,
    clock: systemClock,
    logger: silent,
    payments: unconfiguredPayments,
    background,
    prices: standardPrices,
  };
  await createOrderWorker({ ...parts, registry, nameservers: [] }).sweep();
  const { messages } = await createOperator(parts).unknown_messages({});
  const ours = messages.filter(({ message_id }) => message_id === '1').map(({ registry, text }) => [registry, text]);
  assert.deepEqual(ours.sort(), [
    ['alpha', 'Maintenance of alpha'],
    ['beta', 'Maintenance of beta'],
  ]);
});
