import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DeliveredCommand, type Delivery, deliverAtRandom } from './deliveries.ts';

const info: DeliveredCommand = { kind: 'domain:info', name: 'a.com', registrarId: 'demo', earlier: 0 };
const draw = (seed: number, count = 2_000) => {
  const deliver = deliverAtRandom({ silentShare: 0.1, cutShare: 0.2, slowMs: 50, seed });
  return Array.from({ length: count }, () => deliver(info));
};
const countOf = (kind: Delivery['kind'], drawn: readonly (Delivery | undefined)[]) =>
  drawn.filter((each) => each?.kind === kind).length;

test('commands about names meet the shares that are asked for, the same ones for the same seed', () => {
  const drawn = draw(7);
  assert.ok(Math.abs(countOf('silent', drawn) - 200) < 60, `${countOf('silent', drawn)} are silent`);
  assert.ok(Math.abs(countOf('cut', drawn) - 400) < 80, `${countOf('cut', drawn)} are cut`);
  assert.equal(countOf('slow', drawn), drawn.length - countOf('silent', drawn) - countOf('cut', drawn));
  assert.deepEqual(draw(7), drawn);
  assert.notDeepEqual(draw(8), drawn);
});

test('logins, contacts and messages go through, and everything does where nothing is asked for', () => {
  const worst = deliverAtRandom({ silentShare: 1, cutShare: 0, slowMs: 50, seed: 1 });
  for (const kind of ['login', 'contact:create', 'host:check', 'poll'] as const) {
    assert.equal(worst({ ...info, kind }), undefined, kind);
  }
  const kind = deliverAtRandom({ silentShare: 0, cutShare: 0, slowMs: 0, seed: 1 });
  assert.equal(kind(info), undefined);
});
