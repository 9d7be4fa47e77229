/** DS records of zones that others sign, at registries that are reached by EPP (RFC 5910). */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, describe, test } from 'node:test';
import { dsRecordOf } from '../../src/domains/registry/dns-key.ts';
import type { Share } from '../conformance/take-turns.ts';
import { startDomainsOverEpp, type TestDomainsOverEpp } from './domains-over-epp.ts';

export async function testSignersOverEpp(share: Share): Promise<void> {
  const EXTERNAL = ['ns1.example.net', 'ns2.example.net'];
  const FIRST = { key_tag: 12_345, algorithm: 13, digest_type: 2, digest: 'AB'.repeat(32) };
  const SECOND = { key_tag: 54_321, algorithm: 15, digest_type: 4, digest: 'CD'.repeat(48) };

  /** A registry with that policy, for the tests of one block. */
  function serve(options: Parameters<typeof startDomainsOverEpp>[0] = {}): () => TestDomainsOverEpp {
    let service: TestDomainsOverEpp | undefined;
    before(async () => {
      service = await startDomainsOverEpp(options);
    });
    afterEach(() => service?.deliver(undefined));
    after(() => service?.close());
    return () => service ?? assert.fail('the service is not started');
  }

  /** A name there with nameservers of others. */
  async function own(service: TestDomainsOverEpp, name: string) {
    const workspace = await service.owner(name);
    const moved = await workspace.patch(`/domains/${name}/settings`, { registrar_lock: false, nameservers: EXTERNAL });
    assert.equal(moved.status, 200, moved.text);
    return { service, workspace, path: `/domains/${name}/ds` };
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
    const current = serve();
    test('adds, removes and replaces them in one update each, and nothing where nothing differs', async () => {
      const { service, workspace, path } = await own(current(), 'digests.com');
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

    test('whose answer is lost has them, and the call that is repeated finds them there', async () => {
      const { service, workspace, path } = await own(current(), 'lost.com');
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

    test('that never carried the update out is sent it again', async () => {
      const { service, workspace, path } = await own(current(), 'unsent.com');
      service.deliver(({ kind }) => (kind === 'domain:update' ? { kind: 'refused', code: 2500 } : undefined));
      assert.equal((await workspace.put(path, { ds_records: [FIRST] })).body.error, 'internal');
      assert.deepEqual((await workspace.get(path)).body.ds_records, []);
      service.deliver(undefined);
      assert.equal((await workspace.put(path, { ds_records: [FIRST] })).status, 200);
      assert.deepEqual((await workspace.get(path)).body.ds_records, [FIRST]);
    });

    test('keeps the key that comes with a digest from being sent', async () => {
      const name = 'both.com';
      const { workspace, path } = await own(current(), name);
      const { given } = newKey(name);
      assert.equal((await workspace.put(path, { ds_records: [given] })).status, 200);
      const { flags: _, public_key: __, ...digest } = given;
      assert.deepEqual((await workspace.get(path)).body.ds_records, [digest]);
    });

    test('a key that the digest is not of is refused', async () => {
      const name = 'mixed-up.com';
      const { workspace, path } = await own(current(), name);
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
  });

  describe('a registry that takes keys alone', () => {
    const current = serve({ habits: { dnssec: 'keyData' }, endpoint: { dnssecInterface: 'keyData' } });

    test('is given the keys, and reports them with the digests that it publishes', async () => {
      const name = 'keys.com';
      const { service, workspace, path } = await own(current(), name);
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

    test('is sent no digest whose key is not known: the caller is told to send it', async () => {
      const { workspace, path } = await own(current(), 'digest-only.com');
      const { status, body } = await workspace.put(path, { ds_records: [FIRST] });
      assert.equal(status, 400);
      assert.match(body.details.message, /send `public_key` with each DS record/);
      assert.deepEqual((await workspace.get(path)).body.ds_records, []);
    });
  });

  if (share === 'all') {
    describe('a registry that takes keys alone, and is configured as if it took DS records', () => {
      const current = serve({ habits: { dnssec: 'keyData' } });
      test('refuses them', async () => {
        const { workspace, path } = await own(current(), 'misconfigured.com');
        const { status, body } = await workspace.put(path, { ds_records: [FIRST] });
        assert.deepEqual([status, body.details.reason], [400, 'policy']);
      });
    });
    describe('a registry without DNSSEC', () => {
      const current = serve({ habits: { dnssec: 'none' } });
      test('is asked for nothing', async () => {
        const { service, workspace, path } = await own(current(), 'unsigned.com');
        let updates = 0;
        service.deliver(({ kind }) => {
          if (kind === 'domain:update') updates += 1;
          return undefined;
        });
        const { status, body } = await workspace.put(path, { ds_records: [FIRST] });
        assert.deepEqual([status, body.details.message, updates], [400, 'The registry takes no DS records.', 0]);
        assert.deepEqual((await workspace.get(path)).body.ds_records, []);
      });
    });
  }
}
