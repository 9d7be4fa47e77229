import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../../../kernel/metrics/metrics.ts';
import { ConnectionTable, type Place } from './connection-table.ts';

/** A table of eight: a share is two, once four are taken. `ended` has the addresses of those that gave way. */
function openTable() {
  const metrics = createMetrics();
  const table = new ConnectionTable({ limit: 8, metrics });
  const ended: string[] = [];
  const enter = (address: string) => table.enter(address, () => ended.push(address));
  return { ended, enter, metrics };
}

function enterAll(enter: (address: string) => Place | undefined, addresses: readonly string[]): Place[] {
  return addresses.map((address) => {
    const place = enter(address);
    assert.ok(place, `${address} has no room`);
    return place;
  });
}

test('one address has half of the table at most, and a quarter where others have the rest', () => {
  const { ended, enter } = openTable();
  enterAll(
    enter,
    Array.from({ length: 5 }, () => '192.0.2.1'),
  );
  assert.deepEqual(ended, ['192.0.2.1']);
  enterAll(enter, ['192.0.2.2', '192.0.2.2', '192.0.2.2']);
  assert.deepEqual(ended, ['192.0.2.1', '192.0.2.2']);
  enterAll(enter, ['192.0.2.3', '192.0.2.3']);
  enterAll(enter, ['192.0.2.4']);
  assert.deepEqual(ended, ['192.0.2.1', '192.0.2.2', '192.0.2.1'], 'the longest idle one, once all is taken');
});

test('addresses of one /64 of IPv6 have a share together, and a mapped address is that of IPv4', () => {
  const { ended, enter } = openTable();
  enterAll(enter, ['192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8::ffff:2']);
  enterAll(enter, ['2001:db8:0:1::1', '2001:db8::3']);
  assert.deepEqual(ended, ['2001:db8::1']);
  enterAll(enter, ['::ffff:192.0.2.1', '::ffff:192.0.2.1']);
  assert.deepEqual(ended, ['2001:db8::1', '192.0.2.1']);
});

test('a connection gives way only while nothing is answered on it, and the one that has been idle longest first', () => {
  const { ended, enter } = openTable();
  const addresses = Array.from({ length: 8 }, (_, at) => `192.0.2.${at}`);
  const places = enterAll(enter, addresses);
  for (const place of places) place.setBusy();
  assert.equal(enter('192.0.2.9'), undefined);
  places[5]?.setIdle();
  places[2]?.setIdle();
  enterAll(enter, ['192.0.2.9'])[0]?.setBusy();
  enterAll(enter, ['192.0.2.10'])[0]?.setBusy();
  assert.deepEqual(ended, ['192.0.2.5', '192.0.2.2']);
  assert.equal(enter('192.0.2.11'), undefined);
  places[5]?.setIdle();
  places[5]?.leave();
  assert.equal(enter('192.0.2.11'), undefined, 'one that gave way has no place any more');
  places[0]?.leave();
  enterAll(enter, ['192.0.2.11']);
  assert.deepEqual(ended, ['192.0.2.5', '192.0.2.2']);
});

test('connections are counted by what became of them', async () => {
  const { enter, metrics } = openTable();
  enterAll(
    enter,
    Array.from({ length: 6 }, () => '192.0.2.1'),
  )[5]?.leave();
  const page = await metrics.render();
  assert.match(page, /dns_tcp_connections\{outcome="accepted"\} 6/);
  assert.match(page, /dns_tcp_connections\{outcome="displaced"\} 2/);
  assert.match(page, /dns_tcp_connections\{outcome="refused"\} 0/);
  assert.match(page, /dns_tcp_open_connections 3/);
});
