import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dig, digMissing, hasDig } from '../../../../test/support/dig.ts';
import { NAMESERVERS, startDomains, type TestDomains, type TestWorkspace } from '../../../../test/support/domains.ts';
import { createHostedZone } from '../../../../test/support/zones.ts';
import { systemClock } from '../../../kernel/clock/clock.ts';
import { json } from '../../../kernel/db/values.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { createEmbeddedPublisher, type EmbeddedPublisher } from '../../dns/embedded/index.ts';
import { closeZone } from '../../dns/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';

let domains: TestDomains;
let publisher: EmbeddedPublisher;
before(async () => {
  domains = await startDomains({
    publisher({ db, logger }) {
      publisher = createEmbeddedPublisher({
        db,
        logger,
        nameservers: NAMESERVERS,
        host: '127.0.0.1',
        port: 0,
        clock: systemClock,
      });
      return publisher;
    },
  });
});
after(() => domains.close());

const newName = () => `${mintId('zone').replace('_', '-')}.example`;

async function createZone(records: readonly string[] = []) {
  const w = await domains.createWorkspace();
  const name = newName();
  const zone = await createHostedZone(domains.db, name, records, w.workspaceId);
  return { w, name, zone, path: `/domains/${name}/zone` };
}

/** A name without a zone, as the registry shows it. */
async function createDomain(w: TestWorkspace, nameservers: readonly string[] | null, state: 'active' | 'acquiring') {
  const name = newName();
  const snapshot = nameservers === null ? null : json({ name, nameservers });
  await workspaceDb(domains.db, w.workspaceId)
    .insertInto('domains')
    .values({ id: mintId('dom'), name, state, added_via: 'transfer', snapshot })
    .execute();
  return name;
}

const remove = async (w: { open: TestWorkspace['open'] }, path: string, body: object) => {
  const response = await w.open('DELETE', path, body);
  const answer = (await response.json()) as { error?: string; deleted?: boolean; record?: { value: string } };
  return { status: response.status, body: answer };
};

const ownRecords = (records: { managed: boolean }[]) => records.filter(({ managed }) => !managed);

test('a record is created, listed with those of the service, and deleted by subdomain, type and value', async () => {
  const { w, name, path } = await createZone();
  const created = await w.post(path, { subdomain: 'www', type: 'A', value: '192.0.2.1' });
  assert.equal(created.status, 201, created.text);
  const { id, created_at, ...rest } = created.body;
  assert.match(id, /^rec_/);
  assert.ok(!Number.isNaN(Date.parse(created_at)));
  const record = { subdomain: 'www', name: `www.${name}`, type: 'A', value: '192.0.2.1', ttl: 3600, managed: false };
  assert.deepEqual(rest, record);

  const listed = await w.get(path);
  assert.deepEqual([listed.status, listed.headers.get('cache-control')], [200, 'private, no-store']);
  assert.deepEqual(listed.body.nameservers, [...NAMESERVERS]);
  assert.deepEqual(
    listed.body.records.map((shown: { type: string; managed: boolean }) => [shown.type, shown.managed]),
    [
      ['SOA', true],
      ['NS', true],
      ['NS', true],
      ['A', false],
    ],
  );
  assert.deepEqual(listed.body.records.at(-1), created.body);

  const deleted = await remove(w, path, { subdomain: 'WWW', type: 'A', value: ' 192.0.2.1' });
  assert.deepEqual([deleted.status, deleted.body], [200, { deleted: true, record: created.body }]);
  assert.deepEqual(ownRecords((await w.get(path)).body.records), []);
  const again = await remove(w, path, { subdomain: 'www', type: 'A', value: '192.0.2.1' });
  assert.deepEqual([again.status, again.body.error], [404, 'not_found']);
});

test('what is to be deleted may be named in the query, and in any form that means the same', async () => {
  const { w, path } = await createZone([
    '@ 300 MX 10 mail.example.net.',
    '@ 300 TXT "v=spf1 -all"',
    'x 300 AAAA 2001:db8::1',
  ]);
  const queries = [
    'subdomain=&type=MX&value=MAIL.example.net&priority=10',
    'subdomain=@&type=TXT&value=v%3Dspf1%20-all',
    'subdomain=x&type=AAAA&value=2001:0DB8::0001',
  ];
  for (const query of queries) assert.equal((await w.delete(`${path}?${query}`)).status, 200, query);
  assert.deepEqual(ownRecords((await w.get(path)).body.records), []);
  const unnamed = await w.delete(`${path}?subdomain=x&type=A`);
  assert.deepEqual([unnamed.status, unnamed.body.error, unnamed.body.details.param], [400, 'bad_request', 'value']);
});

test('a record that cannot be is refused by the member at fault', async () => {
  const { w, path } = await createZone(['www 300 A 192.0.2.1']);
  const cases: [object, string][] = [
    [{ type: 'A', value: '192.0.2.1' }, 'subdomain'],
    [{ subdomain: 'x', value: '192.0.2.1' }, 'type'],
    [{ subdomain: 'x', type: 'A' }, 'value'],
    [{ subdomain: 'x', type: 'A', value: '' }, 'value'],
    [{ subdomain: 'x', type: 'SOA', value: 'x' }, 'type'],
    [{ subdomain: 'x', type: 'DS', value: '1 13 2 AB' }, 'type'],
    [{ subdomain: 'x', type: 'A', value: 'nowhere' }, 'value'],
    [{ subdomain: 'x', type: 'A', value: '192.0.2.1', ttl: 59 }, 'ttl'],
    [{ subdomain: 'x', type: 'A', value: '192.0.2.1', ttl: 604_801 }, 'ttl'],
    [{ subdomain: 'x', type: 'MX', value: 'mail.example.net', priority: 65_536 }, 'priority'],
    [{ subdomain: 'x', type: 'MX', value: 'mail.example.net', priority: '10' }, 'priority'],
    [{ subdomain: 'x', type: 'A', value: '192.0.2.1', proxied: true }, 'proxied'],
    [{ subdomain: '@', type: 'CNAME', value: 'example.net' }, 'type'],
    [{ subdomain: 'www', type: 'CNAME', value: 'example.net' }, 'subdomain'],
    [{ subdomain: 'www', type: 'A', value: '192.0.2.1' }, 'value'],
    [{ subdomain: '@', type: 'NS', value: 'ns.example.net' }, 'type'],
  ];
  for (const [body, param] of cases) {
    const { status, body: answer } = await w.post(path, body);
    assert.deepEqual([status, answer.error, answer.details.param], [400, 'bad_request', param], JSON.stringify(body));
    assert.ok(answer.details.message.length > 10);
  }
});

test('all records of a name and type have one TTL: the last that was given', async () => {
  const { w, path } = await createZone(['@ 300 A 192.0.2.1', '@ 900 TXT "x"']);
  assert.equal((await w.post(path, { subdomain: '@', type: 'A', value: '192.0.2.2' })).body.ttl, 300);
  assert.equal((await w.post(path, { subdomain: '@', type: 'A', value: '192.0.2.3', ttl: 60 })).body.ttl, 60);
  const { records } = (await w.get(path)).body;
  assert.deepEqual(
    ownRecords(records).map((record) => 'ttl' in record && record.ttl),
    [60, 60, 60, 900],
  );
});

test('a token that may only read cannot change, and without one there is nothing', async () => {
  const { w, path } = await createZone();
  const body = { subdomain: '@', type: 'A', value: '192.0.2.1' };
  assert.equal((await w.reader.get(path)).status, 200);
  assert.equal((await w.reader.post(path, body)).body.error, 'insufficient_scope');
  assert.equal((await remove(w.reader, path, body)).body.error, 'insufficient_scope');
  assert.equal((await domains.anybody.get(path)).body.error, 'missing_token');
  assert.equal((await domains.anybody.post(path, body)).body.error, 'missing_token');
});

test('another workspace’s zone is answered as one that never was', async () => {
  const { path } = await createZone(['@ 300 A 192.0.2.1']);
  const stranger = await domains.createWorkspace();
  const body = { subdomain: '@', type: 'A', value: '192.0.2.1' };
  for (const call of [
    (to: string) => stranger.get(to),
    (to: string) => stranger.post(to, body),
    (to: string) => stranger.delete(`${to}?subdomain=@&type=A&value=192.0.2.1`),
  ]) {
    const [theirs, nobodys] = [await call(path), await call('/domains/never-was.example/zone')];
    assert.deepEqual([theirs.status, theirs.body.error], [404, 'not_found']);
    assert.equal(theirs.text, nobodys.text);
  }
});

test('a name that is gone has no zone any more', async () => {
  const { w, zone, path } = await createZone(['@ 300 A 192.0.2.1']);
  await domains.db.transaction(async (tx) => {
    await workspaceDb(tx, w.workspaceId)
      .updateTable('domains')
      .set({ state: 'gone' })
      .where('id', '=', zone.domainId)
      .execute();
    await closeZone(tx, zone);
  });
  assert.equal((await w.get(path)).body.error, 'not_found');
});

test('no_hosted_zone: records of a name with other nameservers are kept elsewhere', async () => {
  const w = await domains.createWorkspace();
  const body = { subdomain: '@', type: 'A', value: '192.0.2.1' };
  const [one, other] = NAMESERVERS;
  for (const nameservers of [
    ['ns1.elsewhere.net', 'ns2.elsewhere.net'],
    [one],
    [one, other, 'ns3.elsewhere.net'],
    [],
    null,
  ]) {
    const path = `/domains/${await createDomain(w, nameservers, nameservers === null ? 'acquiring' : 'active')}/zone`;
    for (const answer of [
      await w.get(path),
      await w.post(path, body),
      await w.delete(`${path}?subdomain=@&type=A&value=192.0.2.1`),
    ]) {
      assert.deepEqual([answer.status, answer.body.error], [409, 'no_hosted_zone'], answer.text);
      for (const server of NAMESERVERS) assert.ok(answer.body.details.message.includes(server));
    }
  }
});

test('a name that was switched to our nameservers has a zone from its first record on', async () => {
  const w = await domains.createWorkspace();
  const path = `/domains/${await createDomain(w, [...NAMESERVERS].reverse(), 'active')}/zone`;
  const empty = await w.get(path);
  assert.deepEqual([empty.status, ownRecords(empty.body.records)], [200, []]);
  assert.equal((await w.delete(`${path}?subdomain=@&type=A&value=192.0.2.1`)).body.error, 'not_found');
  assert.equal((await w.post(path, { subdomain: '@', type: 'A', value: '192.0.2.1' })).status, 201);
  assert.equal(ownRecords((await w.get(path)).body.records).length, 1);
});

test('the name in the path is read like any other, and one that cannot be is refused', async () => {
  const { w, name } = await createZone();
  assert.equal((await w.get(`/domains/${name.toUpperCase()}./zone`)).status, 200);
  const bad = await w.get('/domains/not%20a%20name/zone');
  assert.deepEqual([bad.status, bad.body.error], [400, 'bad_request']);
});

test('an Idempotency-Key adds a record once', async () => {
  const { w, path } = await createZone();
  const body = { subdomain: '@', type: 'A', value: '192.0.2.1' };
  const headers = { 'idempotency-key': mintId('key') };
  const [first, second] = [await w.post(path, body, headers), await w.post(path, body, headers)];
  assert.deepEqual([first.status, second.status, second.headers.get('idempotent-replay')], [201, 201, 'true']);
  assert.deepEqual(second.body, first.body);
});

test('records that come at once are checked one after the other', async () => {
  const { w, path } = await createZone();
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, at) =>
      w.post(path, { subdomain: 'www', type: 'CNAME', value: `h${at}.example.net` }),
    ),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 400, 400, 400, 400, 400, 400, 400]);
});

test('a record is answered by the nameserver as soon as it is made', {
  skip: hasDig() ? false : digMissing,
}, async () => {
  const { w, name, path } = await createZone();
  assert.equal(await dig(publisher.port, [`*.${name}`, 'TXT', '+short']), '');
  const made = await w.post(path, { subdomain: '*', type: 'TXT', value: 'say "hi"' });
  assert.equal(await dig(publisher.port, [`anything.${name}`, 'TXT', '+short']), made.body.value);
});

test('bad_request: an address beyond what is taken is refused as any other request is', async () => {
  const workspace = await domains.createWorkspace();
  const remove = (length: number) =>
    workspace.delete(`/domains/long.com/zone?subdomain=www&type=TXT&value=${'a'.repeat(length)}`);
  const refused = await remove(20_000);
  assert.deepEqual([refused.status, refused.body.error], [400, 'bad_request'], refused.text);
  assert.match(refused.body.details.message, /16384 are taken/);
  assert.ok(refused.headers.get('x-request-id'));
  const taken = await remove(10_000);
  assert.deepEqual([taken.status, taken.body.error], [404, 'not_found']);
});
