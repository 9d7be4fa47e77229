/** DS records of zones that others sign, at registries that are reached by EPP (RFC 5910). */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { startDomainsOverEpp } from '../../../../test/support/domains-over-epp.ts';
import { dsRecordOf } from '../../registry/dns-key.ts';

const EXTERNAL = ['ns1.example.net', 'ns2.example.net'];
const FIRST = { key_tag: 12_345, algorithm: 13, digest_type: 2, digest: 'AB'.repeat(32) };
const SECOND = { key_tag: 54_321, algorithm: 15, digest_type: 4, digest: 'CD'.repeat(48) };

/** A name with nameservers of others at a registry with those habits. */
async function own(t: TestContext, name: string, options: Parameters<typeof startDomainsOverEpp>[0] = {}) {
  const service = await startDomainsOverEpp(options);
  t.after(() => service.close());
  const workspace = await service.owner(name);
  const settings = `/domains/${name}/settings`;
  const moved = await workspace.patch(settings, { registrar_lock: false, nameservers: EXTERNAL });
  assert.equal(moved.status, 200, moved.text);
  return { service, workspace, settings, path: `/domains/${name}/ds` };
}

/** As a caller writes the DS record of a key that is made up here, and what the registry makes of it. */
function newKey(name: string, digestType: 2 | 4 = 2) {
  const key = { flags: 257, publicKey: randomBytes(64).toString('base64') };
  const shown = (type: 2 | 4) => {
    const { keyTag, algorithm, digest } = dsRecordOf(name, 13, key, type);
    const record = { key_tag: keyTag, algorithm, digest_type: type, digest };
    return { ...record, flags: key.flags, public_key: key.publicKey };
  };
  return { given: shown(digestType), reported: shown(2) };
}

describe('a registry that takes DS records', () => {
  test('adds, removes and replaces them in one update each, and nothing where nothing differs', async (t) => {
    const { service, workspace, path } = await own(t, 'digests.com');
    let updates = 0;
    service.deliver(({ kind }) => {
      if (kind === 'domain:update') updates += 1;
      return undefined;
    });
    const steps: [object[], number][] = [
      [[FIRST], 1],
      [[FIRST, SECOND], 2],
      [[SECOND], 3],
      [[SECOND], 3],
      [[FIRST], 4],
      [[], 5],
    ];
    for (const [records, count] of steps) {
      const set = await workspace.put(path, { ds_records: records });
      assert.deepEqual([set.status, set.body.ds_records, set.body.status], [200, records, 'Completed'], set.text);
      assert.deepEqual((await workspace.get(path)).body.ds_records, records);
      const info = await service.epp.core.infoDomain(service.epp.ours, { name: 'digests.com' });
      assert.equal(info.ok && info.data.dsRecords.length, records.length);
      assert.equal(updates, count);
    }
  });

  test('whose answer is lost has them, and the call that is repeated finds them there', async (t) => {
    const { service, workspace, path } = await own(t, 'lost.com');
    let updates = 0;
    service.deliver(({ kind }) => {
      if (kind !== 'domain:update') return undefined;
      updates += 1;
      return { kind: 'cut' };
    });
    const headers = { 'idempotency-key': 'lost-1' };
    const lost = await workspace.put(path, { ds_records: [FIRST] }, headers);
    assert.deepEqual([lost.status, lost.body.error], [500, 'internal'], lost.text);
    const again = await workspace.put(path, { ds_records: [FIRST] }, headers);
    assert.deepEqual([again.status, again.body.ds_records, updates], [200, [FIRST], 1], again.text);
  });

  test('that never carried the update out is sent it again', async (t) => {
    const { service, workspace, path } = await own(t, 'unsent.com');
    service.deliver(({ kind }) => (kind === 'domain:update' ? { kind: 'refused', code: 2500 } : undefined));
    assert.equal((await workspace.put(path, { ds_records: [FIRST] })).body.error, 'internal');
    assert.deepEqual((await workspace.get(path)).body.ds_records, []);
    service.deliver(undefined);
    assert.equal((await workspace.put(path, { ds_records: [FIRST] })).status, 200);
    assert.deepEqual((await workspace.get(path)).body.ds_records, [FIRST]);
  });

  test('keeps the key that comes with a digest from being sent', async (t) => {
    const name = 'both.com';
    const { workspace, path } = await own(t, name);
    const { given } = newKey(name);
    assert.equal((await workspace.put(path, { ds_records: [given] })).status, 200);
    const { flags: _, public_key: __, ...digest } = given;
    assert.deepEqual((await workspace.get(path)).body.ds_records, [digest]);
  });
});

describe('a registry that takes keys alone', () => {
  const habits = { habits: { dnssec: 'keyData' }, endpoint: { dnssecInterface: 'keyData' } } as const;

  test('is given the keys, and reports them with the digests that it publishes', async (t) => {
    const name = 'keys.com';
    const { service, workspace, path } = await own(t, name, habits);
    const [one, two] = [newKey(name, 4), newKey(name)];
    const set = await workspace.put(path, { ds_records: [one.given] });
    assert.equal(set.status, 200, set.text);
    assert.deepEqual((await workspace.get(path)).body.ds_records, [one.reported]);
    service.deliver(({ kind }) => (kind === 'domain:update' ? { kind: 'refused', code: 2500 } : undefined));
    const same = await workspace.put(path, { ds_records: [one.given] });
    assert.equal(same.status, 200, 'a key that is there is not sent again for another digest of it');
    service.deliver(undefined);
    assert.equal((await workspace.put(path, { ds_records: [one.given, two.given] })).status, 200);
    const byTag = (records: { key_tag: number; digest: string }[]) => records.map(({ digest }) => digest).sort();
    assert.deepEqual(byTag((await workspace.get(path)).body.ds_records), byTag([one.reported, two.reported]));
    assert.equal((await workspace.put(path, { ds_records: [two.given] })).status, 200);
    assert.deepEqual((await workspace.get(path)).body.ds_records, [two.reported]);
    service.deliver(({ kind }) => (kind === 'domain:update' ? { kind: 'cut' } : undefined));
    assert.equal((await workspace.put(path, { ds_records: [] })).body.error, 'internal');
    assert.deepEqual((await workspace.put(path, { ds_records: [] })).body.ds_records, []);
  });

  test('is sent no digest whose key is not known: the caller is told to send it', async (t) => {
    const { workspace, path } = await own(t, 'digest-only.com', habits);
    const { status, body } = await workspace.put(path, { ds_records: [FIRST] });
    assert.equal(status, 400);
    assert.match(body.details.message, /send `public_key` with each DS record/);
    assert.deepEqual((await workspace.get(path)).body.ds_records, []);
  });

  test('refuses what is configured as if it took DS records', async (t) => {
    const { workspace, path } = await own(t, 'misconfigured.com', { habits: { dnssec: 'keyData' } });
    const { status, body } = await workspace.put(path, { ds_records: [FIRST] });
    assert.deepEqual([status, body.details.reason], [400, 'policy']);
  });
});

test('a registry without DNSSEC is asked for nothing', async (t) => {
  const { service, workspace, path } = await own(t, 'unsigned.com', { habits: { dnssec: 'none' } });
  let updates = 0;
  service.deliver(({ kind }) => {
    if (kind === 'domain:update') updates += 1;
    return undefined;
  });
  const { status, body } = await workspace.put(path, { ds_records: [FIRST] });
  assert.deepEqual([status, body.details.message, updates], [400, 'The registry takes no DS records.', 0]);
  assert.deepEqual((await workspace.get(path)).body.ds_records, []);
});

test('a key that the digest is not of is refused', async (t) => {
  const name = 'mixed-up.com';
  const { workspace, path } = await own(t, name);
  const { given } = newKey(name);
  const cases: [object, string][] = [
    [{ ...given, public_key: newKey(name).given.public_key }, 'public_key'],
    [{ ...given, flags: 256 }, 'public_key'],
    [{ ...FIRST, flags: 257 }, 'flags'],
  ];
  for (const [record, member] of cases) {
    const { body } = await workspace.put(path, { ds_records: [record] });
    assert.deepEqual([body.error, body.details?.param], ['bad_request', `ds_records.0.${member}`]);
  }
});
