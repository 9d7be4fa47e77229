/** What one replica answered is what the other reads next, although no notification of a change reaches it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NAMESERVERS, startDomains, type TestDomains } from '../../test/support/domains.ts';
import { noteStatements } from '../../test/support/noted-database.ts';
import { type Client, createClient } from '../../test/support/platform.ts';
import { takingPublisher } from '../../test/support/taking-publisher.ts';
import { createHostedZone } from '../../test/support/zones.ts';
import type { Database } from '../kernel/db/database.ts';
import { mintId } from '../kernel/ids/ids.ts';
import { issueToken, revokeToken } from './access/tokens.ts';

let one: TestDomains;
let other: TestDomains;
before(async () => {
  one = await startDomains({ publisher: () => takingPublisher });
  const deaf: Database = { ...noteStatements(one.db).db, listen: async () => async () => undefined };
  other = await startDomains({ publisher: () => takingPublisher, sharing: { db: deaf, vault: one.vault } });
});
after(async () => {
  await other.close();
  await one.close();
});

/** A workspace as both replicas serve it, through one token. */
async function openWorkspace() {
  const { workspaceId, fund } = await one.createWorkspace();
  const issued = await issueToken(one.db, workspaceId, { userId: null, scope: 'write', name: 'test' });
  const at = (replica: TestDomains): Client => createClient(replica.url, issued.token);
  const revoke = () => revokeToken(one.db, workspaceId, issued.id, new Date());
  return { workspaceId, fund, here: at(one), there: at(other), revoke };
}

const newName = (tld: string) => `${mintId('n').replace('_', '-')}.${tld}`;

test('a record is read from the other replica once it is made, and no more once it is deleted', async () => {
  const { workspaceId, here, there } = await openWorkspace();
  const name = newName('example');
  await createHostedZone(one.db, name, [], workspaceId);
  const path = `/domains/${name}/zone`;
  const read = async () => (await there.get(path)).body.records.map(({ value }: { value: string }) => value).slice(3);
  assert.deepEqual(await read(), []);
  for (let number = 1; number <= 20; number += 1) {
    const value = `192.0.2.${number}`;
    assert.equal((await here.post(path, { subdomain: 'www', type: 'A', value })).status, 201);
    assert.deepEqual(await read(), [value]);
    assert.equal((await here.delete(`${path}?subdomain=www&type=A&value=${value}`)).status, 200);
    assert.deepEqual(await read(), []);
  }
  const imported = await (
    await here.open('PUT', `${path}/file`, { zone_file: 'a A 192.0.2.1\nb A 192.0.2.2\n' })
  ).text();
  assert.deepEqual(await read(), ['192.0.2.1', '192.0.2.2'], imported);
});

test('a token that was revoked is refused by the other replica at once, however busy it is with it', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { workspaceId, there, revoke } = await openWorkspace();
    const name = newName('example');
    await createHostedZone(one.db, name, [], workspaceId);
    const ask = () => there.get(`/domains/${name}/zone`);
    const before = await Promise.all(Array.from({ length: 8 }, ask));
    assert.deepEqual(new Set(before.map(({ status }) => status)), new Set([200]));
    const meanwhile = Array.from({ length: 8 }, ask);
    await revoke();
    const later = await Promise.all(Array.from({ length: 8 }, ask));
    for (const { status, body } of later) assert.deepEqual([status, body.error], [401, 'revoked_token']);
    await Promise.all(meanwhile);
  }
});

test('a name is taken on both replicas once it was ordered', async () => {
  const { here, fund } = await openWorkspace();
  await fund(10_000);
  for (let round = 0; round < 5; round += 1) {
    const name = newName('com');
    const check = async ({ anybody }: TestDomains) => (await anybody.get(`/check?q=${name}`)).body.results[0].status;
    assert.deepEqual([await check(one), await check(other)], ['available', 'available']);
    const ordered = await here.post('/domains', { domain: name, confirm_price: 11.9 });
    assert.equal(ordered.status, 201, ordered.text);
    assert.deepEqual([await check(other), await check(one)], ['taken', 'taken']);
  }
});

test('one call is answered as many are, and nameservers are the service’s', async () => {
  const { workspaceId, here, there } = await openWorkspace();
  const name = newName('example');
  await createHostedZone(one.db, name, ['@ 300 A 192.0.2.1'], workspaceId);
  const answers = await Promise.all([here, there, here, there].map((client) => client.get(`/domains/${name}/zone`)));
  for (const { text, headers, body } of answers) {
    assert.deepEqual(body.nameservers, [...NAMESERVERS]);
    assert.deepEqual(Object.keys(body.records[0]).slice(0, 3), ['id', 'subdomain', 'name']);
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(headers.get('cache-control'), 'private, no-store');
    assert.deepEqual(JSON.parse(text).records, answers[0]?.body.records);
  }
});

test('a zone is answered compressed where that is taken, and is as fresh', async () => {
  const { workspaceId, here, there } = await openWorkspace();
  const name = newName('example');
  const records = Array.from({ length: 20 }, (_, number) => `host-${number} 300 A 192.0.2.${number}`);
  await createHostedZone(one.db, name, records, workspaceId);
  const path = `/domains/${name}/zone`;
  for (const [accepted, encoding] of [
    ['gzip', 'gzip'],
    ['gzip, br', 'br'],
    ['identity', null],
    ['*', 'gzip'],
  ] as const) {
    const value = `198.51.100.${accepted.length}`;
    await here.post(path, { subdomain: 'www', type: 'A', value });
    for (const round of ['made', 'kept']) {
      const answer = await there.open('GET', path, undefined, { 'accept-encoding': accepted });
      assert.equal(answer.headers.get('content-encoding'), encoding, `${accepted}, ${round}`);
      assert.match(await answer.text(), new RegExp(`"value":"${value}"`));
    }
  }
});
