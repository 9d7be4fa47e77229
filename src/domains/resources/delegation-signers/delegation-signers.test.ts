import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomains } from '../../../../test/support/domains.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { addFault, registryDb } from '../../registry/simulated/index.ts';

const service = await startDomains({ simulated: { faults: 'stored' } });
after(() => service.close());

const EXTERNAL = ['ns1.example.net', 'ns2.example.net'];
const SHA256 = { key_tag: 12_345, algorithm: 13, digest_type: 2, digest: 'AB'.repeat(32) };
const SHA384 = { key_tag: 54_321, algorithm: 15, digest_type: 4, digest: 'CD'.repeat(48) };

/** A name that is registered, with nameservers of others unless it is hosted here. */
async function own(where: 'here' | 'elsewhere' = 'elsewhere') {
  const workspace = await service.createWorkspace();
  await workspace.fund(10_000);
  const name = `${mintId('dom').replace('_', '-').toLowerCase()}.com`;
  const bought = await workspace.post('/domains', { domain: name, confirm_price: 11.9 });
  assert.equal(bought.status, 201, bought.text);
  const settings = `/domains/${name}/settings`;
  if (where === 'elsewhere') {
    const moved = await workspace.patch(settings, { registrar_lock: false, nameservers: EXTERNAL });
    assert.equal(moved.status, 200, moved.text);
  }
  return { workspace, name, settings, path: `/domains/${name}/ds` };
}

test('DS records are replaced as a whole, listed as the registry has them, and taken away', async () => {
  const { workspace, name, path, settings } = await own();
  assert.deepEqual((await workspace.get(path)).body.ds_records, []);
  const given = { ...SHA256, digest: ` ${SHA256.digest.toLowerCase().replace(/(.{56})/, '$1 ')}` };
  const set = await workspace.put(path, { ds_records: [given, SHA384, SHA256] });
  assert.deepEqual([set.status, set.body.status, set.body.ds_records], [200, 'Completed', [SHA256, SHA384]], set.text);
  const { keyTag, digest } = (await service.registry.info(name))?.dsRecords[0] ?? {};
  assert.deepEqual([keyTag, digest], [SHA256.key_tag, SHA256.digest]);
  assert.equal((await workspace.get(`/domains/${name}`)).body.dnssec, true);
  assert.equal((await workspace.put(path, { ds_records: [SHA384] })).status, 200);
  assert.deepEqual((await workspace.get(path)).body.ds_records, [SHA384]);
  // Other nameservers would not have its keys.
  const moved = await workspace.patch(settings, { nameservers: 'hosted' });
  assert.deepEqual([moved.status, moved.body.details.param], [400, 'nameservers']);
  assert.deepEqual((await workspace.put(path, { ds_records: [] })).body.ds_records, []);
  assert.deepEqual((await service.registry.info(name))?.dsRecords, []);
});

test('what no resolver validates by is refused, and so is what the service signs itself', async () => {
  const { workspace, path } = await own();
  const cases: [object, string][] = [
    [{ ...SHA256, algorithm: 5 }, 'ds_records.1.algorithm'],
    [{ ...SHA256, digest_type: 1, digest: 'AB'.repeat(20) }, 'ds_records.1.digest_type'],
    [{ ...SHA256, digest: 'AB'.repeat(31) }, 'ds_records.1.digest'],
    [{ ...SHA256, digest: 'XY'.repeat(32) }, 'ds_records.1.digest'],
    [{ ...SHA256, key_tag: 65_536 }, 'ds_records.1.key_tag'],
  ];
  for (const [bad, param] of cases) {
    const { body } = await workspace.put(path, { ds_records: [SHA384, bad] });
    assert.deepEqual([body.error, body.details.param], ['bad_request', param]);
  }
  assert.deepEqual((await workspace.get(path)).body.ds_records, []);
  const here = await own('here');
  const { body } = await here.workspace.put(here.path, { ds_records: [SHA256] });
  assert.deepEqual([body.error, body.details.param], ['bad_request', 'ds_records']);
  assert.equal((await here.workspace.put(here.path, { ds_records: [] })).status, 200);
});

test('a locked name keeps its DS records, and a registry that is cut off is asked again', async () => {
  const { workspace, name, path, settings } = await own();
  await workspace.patch(settings, { registrar_lock: true });
  const locked = await workspace.put(path, { ds_records: [SHA256] });
  assert.deepEqual([locked.body.error, locked.body.details.param], ['bad_request', 'registrar_lock']);
  await workspace.patch(settings, { registrar_lock: false });
  const fault = { command: 'update', namePattern: name, moment: 'after', outcome: 'disconnect' } as const;
  await addFault(registryDb(service.db), fault);
  const headers = { 'idempotency-key': mintId('key') };
  assert.equal((await workspace.put(path, { ds_records: [SHA256] }, headers)).body.error, 'internal');
  const again = await workspace.put(path, { ds_records: [SHA256] }, headers);
  assert.deepEqual([again.status, again.body.ds_records], [200, [SHA256]]);
  assert.equal((await workspace.put(path, { ds_records: [SHA256] }, headers)).headers.get('idempotent-replay'), 'true');
});

test('while the registry does not answer, DS records are those that it reported last', async () => {
  const { workspace, name, path } = await own();
  await workspace.put(path, { ds_records: [SHA256] });
  const fault = { command: 'info', namePattern: name, moment: 'before', outcome: 'disconnect' } as const;
  await addFault(registryDb(service.db), fault);
  const { status, body } = await workspace.get(path);
  assert.deepEqual([status, body.ds_records], [200, [SHA256]]);
});
