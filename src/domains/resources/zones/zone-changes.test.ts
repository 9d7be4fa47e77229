/** Several changes at once, and one record updated in place. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomains } from '../../../../test/support/domains.ts';
import { createHostedZone } from '../../../../test/support/zones.ts';
import { mintId } from '../../../kernel/ids/ids.ts';

const service = await startDomains();
after(() => service.close());

interface ShownRecord {
  readonly id: string;
  readonly subdomain: string;
  readonly type: string;
  readonly value: string;
  readonly ttl: number;
  readonly managed: boolean;
}

async function openZone(records: readonly string[]) {
  const w = await service.createWorkspace();
  const name = `${mintId('zone').replace('_', '-').toLowerCase()}.example`;
  await createHostedZone(service.db, name, records, w.workspaceId);
  const path = `/domains/${name}/zone`;
  const list = async () => {
    const { body } = await w.get(path);
    const records: ShownRecord[] = body.records.filter(({ managed }: ShownRecord) => !managed);
    return { serial: body.serial as number, records };
  };
  return {
    w,
    name,
    path,
    list,
    change: (changes: readonly object[], headers = {}) => w.post(`${path}/changes`, { changes }, headers),
    update: (id: string, body: object) => w.patch(`${path}/records/${id}`, body),
    async idOf(subdomain: string, value: string): Promise<string> {
      const found = (await list()).records.find((one) => one.subdomain === subdomain && one.value === value);
      assert.ok(found);
      return found.id;
    },
    async lines(): Promise<string[]> {
      return (await list()).records.map(({ subdomain, ttl, type, value }) => `${subdomain} ${ttl} ${type} ${value}`);
    },
  };
}

test('creations, updates and deletions are one change of the zone, whatever their order', async () => {
  const zone = await openZone(['@ 300 A 192.0.2.1', '@ 300 TXT "x"', 'www 300 A 192.0.2.2', 'old 300 A 192.0.2.3']);
  const { serial } = await zone.list();
  const id = await zone.idOf('old', '192.0.2.3');
  const { status, body, text } = await zone.change([
    { action: 'create', subdomain: 'www', type: 'CNAME', value: zone.name },
    { action: 'delete', subdomain: 'www', type: 'A', value: '192.0.2.2' },
    { action: 'update', id, subdomain: 'new', value: '192.0.2.4', ttl: 600 },
    { action: 'create', subdomain: '@', type: 'A', value: '192.0.2.5' },
    { action: 'delete', id: await zone.idOf('@', '"x"') },
  ]);
  assert.equal(status, 200, text);
  assert.deepEqual([body.serial, body.added, body.changed, body.deleted], [serial + 1, 2, 1, 2]);
  assert.deepEqual(
    body.records.map((record: ShownRecord) => `${record.subdomain} ${record.type} ${record.value}`),
    [`www CNAME ${zone.name}.`, 'www A 192.0.2.2', 'new A 192.0.2.4', '@ A 192.0.2.5', '@ TXT "x"'],
  );
  assert.equal(body.records[2].id, id);
  assert.deepEqual(await zone.lines(), [
    '@ 300 A 192.0.2.1',
    '@ 300 A 192.0.2.5',
    'new 600 A 192.0.2.4',
    `www 3600 CNAME ${zone.name}.`,
  ]);
  assert.equal((await zone.list()).serial, serial + 1);
});

test('where one change cannot be, none is made, and the answer says which', async () => {
  const zone = await openZone(['www 300 A 192.0.2.1', 'mx 300 MX 10 mail.example.net.']);
  const before = await zone.list();
  const id = await zone.idOf('www', '192.0.2.1');
  const good = { action: 'create', subdomain: 'a', type: 'A', value: '192.0.2.9' };
  const cases: [object, string, string][] = [
    [{ action: 'create', subdomain: 'www', type: 'CNAME', value: 'example.net' }, 'bad_request', 'subdomain'],
    [{ action: 'create', subdomain: 'a', type: 'A', value: '192.0.2.9' }, 'bad_request', 'value'],
    [{ action: 'create', subdomain: 'b', type: 'A', value: 'no' }, 'bad_request', 'value'],
    [{ action: 'update', id, value: '2001:db8::1' }, 'bad_request', 'value'],
    [{ action: 'update', id: await zone.idOf('mx', '10 mail.example.net.'), priority: 5 }, 'bad_request', 'value'],
    [{ action: 'update', id: 'rec_none', ttl: 60 }, 'not_found', ''],
    [{ action: 'delete', subdomain: 'www', type: 'A', value: '192.0.2.2' }, 'not_found', ''],
    [{ action: 'delete', id: 'rec_none' }, 'not_found', ''],
  ];
  for (const [bad, code, param] of cases) {
    const { body } = await zone.change([good, bad]);
    assert.deepEqual(
      [body.error, body.details.change, body.details.param ?? ''],
      [code, 1, param],
      JSON.stringify(bad),
    );
    assert.match(body.details.message, /^Change 1: /);
  }
  const malformed: [object, string][] = [
    [{ action: 'create', subdomain: 'b', type: 'A' }, 'changes.1.value'],
    [{ action: 'create', id, subdomain: 'b', type: 'A', value: '192.0.2.1' }, 'changes.1.id'],
    [{ action: 'update', value: '192.0.2.1' }, 'changes.1.id'],
    [{ action: 'update', id, type: 'AAAA', value: '2001:db8::1' }, 'changes.1.type'],
    [{ action: 'delete', id, subdomain: 'www' }, 'changes.1.id'],
    [{ action: 'delete', subdomain: 'www' }, 'changes.1.type'],
  ];
  for (const [bad, param] of malformed) {
    const { body } = await zone.change([good, bad]);
    assert.deepEqual([body.error, body.details.param], ['bad_request', param], JSON.stringify(bad));
  }
  const twice = await zone.change([
    { action: 'update', id, ttl: 60 },
    { action: 'delete', id },
  ]);
  assert.deepEqual([twice.body.error, twice.body.details.change], ['bad_request', 1]);
  for (const changes of [[], Array.from({ length: 501 }, () => good)]) {
    assert.equal((await zone.change(changes)).body.error, 'bad_request');
  }
  assert.deepEqual(await zone.list(), before);
});

test('what a record is may be exchanged with another, and its set has one TTL', async () => {
  const zone = await openZone(['@ 300 A 192.0.2.1', '@ 300 A 192.0.2.2', 'x 300 A 192.0.2.3']);
  const [one, two] = [await zone.idOf('@', '192.0.2.1'), await zone.idOf('@', '192.0.2.2')];
  const swapped = await zone.change([
    { action: 'update', id: one, value: '192.0.2.2' },
    { action: 'update', id: two, value: '192.0.2.1', ttl: 900 },
  ]);
  assert.deepEqual([swapped.status, swapped.body.changed], [200, 2], swapped.text);
  assert.equal(await zone.idOf('@', '192.0.2.2'), one);
  const moved = await zone.update(await zone.idOf('x', '192.0.2.3'), { subdomain: '@' });
  assert.deepEqual([moved.status, moved.body.ttl], [200, 900], moved.text);
  // By type and age: the first is the one that was 192.0.2.1.
  assert.deepEqual(await zone.lines(), ['@ 900 A 192.0.2.2', '@ 900 A 192.0.2.1', '@ 900 A 192.0.2.3']);
});

test('a record is updated in place: it keeps its id, its type and its age', async () => {
  const zone = await openZone(['mx 300 MX 10 mail.example.net.', 'www 300 CNAME a.example.net.']);
  const [before] = (await zone.list()).records.filter(({ subdomain }) => subdomain === 'mx');
  assert.ok(before);
  const updated = await zone.update(before.id, { value: 'other.example.net', priority: 5, ttl: 60 });
  assert.equal(updated.status, 200, updated.text);
  assert.deepEqual(updated.body, { ...before, value: '5 other.example.net.', ttl: 60 });
  assert.deepEqual((await zone.list()).records[0], updated.body);
  const { serial } = await zone.list();
  assert.equal((await zone.update(before.id, {})).status, 200);
  assert.equal((await zone.list()).serial, serial, 'nothing changes where nothing is different');
  for (const [body, error] of [
    [{ type: 'A' }, 'bad_request'],
    [{ ttl: 1 }, 'bad_request'],
    [{ subdomain: 'www' }, 'bad_request'],
  ] as const) {
    assert.equal((await zone.update(before.id, body)).body.error, error, JSON.stringify(body));
  }
  assert.equal((await zone.update('rec_none', { ttl: 60 })).body.error, 'not_found');
  const stranger = await openZone([]);
  assert.equal((await stranger.update(before.id, { ttl: 60 })).body.error, 'not_found');
});

test('an Idempotency-Key makes changes once', async () => {
  const zone = await openZone([]);
  const headers = { 'idempotency-key': mintId('key') };
  const changes = [{ action: 'create', subdomain: 'a', type: 'A', value: '192.0.2.9' }];
  const [first, second] = [await zone.change(changes, headers), await zone.change(changes, headers)];
  assert.deepEqual([first.status, second.status, second.headers.get('idempotent-replay')], [200, 200, 'true']);
  assert.deepEqual(second.body, first.body);
});
