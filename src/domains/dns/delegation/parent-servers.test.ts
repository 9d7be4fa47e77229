import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { startParentServer } from '../../../../test/fakes/parent-server.ts';
import { DelegationUnknown } from './delegations.ts';
import { createParentServers } from './parent-servers.ts';

const first = await startParentServer();
const second = await startParentServer();
after(() => Promise.all([first.close(), second.close()]));

const addressOf = ({ port }: { port: number }) => ({ address: '127.0.0.1', port });
const ask = (name: string, servers = [first], timeoutMs = 10_000) =>
  createParentServers({ findServers: async () => servers.map(addressOf), timeoutMs }).find(name);

beforeEach(() => {
  for (const server of [first, second]) {
    server.mode = 'right';
    server.delegations.clear();
  }
});

test('a referral is the delegation, asked for without recursion', async () => {
  first.delegations.set('a.com', { nameservers: ['NS1.There.example', 'ns2.there.example'], ttlSeconds: 172_800 });
  const found = await ask('a.com');
  assert.deepEqual(found, { nameservers: ['ns1.there.example', 'ns2.there.example'], ttlSeconds: 172_800 });
  assert.equal(first.asked.recursive, 0);
});

test('a name that is not there is delegated to none', async () => {
  assert.deepEqual(await ask('gone.com'), { nameservers: [], ttlSeconds: undefined });
});

test('where servers differ, the name is delegated to what any of them says', async () => {
  first.delegations.set('b.com', { nameservers: ['ns1.new.example'], ttlSeconds: 60 });
  second.delegations.set('b.com', { nameservers: ['ns1.old.example'], ttlSeconds: 3_600 });
  assert.deepEqual(await ask('b.com', [first, second]), {
    nameservers: ['ns1.new.example', 'ns1.old.example'],
    ttlSeconds: 3_600,
  });
});

test('servers that are silent or fail say nothing, and nothing is known when all do', async () => {
  second.delegations.set('c.com', { nameservers: ['ns1.old.example'], ttlSeconds: 60 });
  for (const mode of ['silent', 'failing'] as const) {
    first.mode = mode;
    assert.deepEqual((await ask('c.com', [first, second], 1_500)).nameservers, ['ns1.old.example'], mode);
    await assert.rejects(ask('c.com', [first], 300), DelegationUnknown, mode);
  }
  await assert.rejects(ask('c.com', []), DelegationUnknown);
});

test('an answer under another id is none', async () => {
  first.mode = 'forged';
  first.delegations.set('d.com', { nameservers: ['ns1.old.example'], ttlSeconds: 60 });
  assert.deepEqual((await ask('d.com')).nameservers, ['ns1.old.example']);
});
