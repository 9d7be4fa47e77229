/** The whole way with a real PowerDNS: what the registry holds is what validators need. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { delv, delvMissing, dig, digShort, hasDelv } from '../../../../test/support/dig.ts';
import {
  createDnssecWorld,
  type DnssecWorld,
  DS_TTL_MS,
  insertZone,
  type TestZone,
} from '../../../../test/support/dnssec-zones.ts';
import { verifyZone } from '../../../../test/support/ldns.ts';
import { findNsdPort, hasNsd, nsdMissing, startNsd } from '../../../../test/support/nsd.ts';
import { hasPowerDns, type PowerDns, powerDnsMissing, startPowerDns } from '../../../../test/support/power-dns.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { DsRecord } from '../../registry/registry.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { createZoneReconciler, type ZoneReconciler } from '../index.ts';
import { createPowerDnsPublisher } from '../powerdns/power-dns-publisher.ts';
import type { ZonePublisher } from '../publisher.ts';
import { zoneChanged } from '../zone-store.ts';
import { createDnssecReconciler, type DnssecReconciler, listKeys, requestDnssec, requestRoll } from './index.ts';

const HOUR_MS = 3_600_000;
const skipNsd = hasNsd() ? false : nsdMissing;

const skip = (!hasPowerDns() && powerDnsMissing) || (!hasDelv() && delvMissing) || false;

describe('DNSSEC with PowerDNS', { skip }, () => {
  const name = 'signed.example';
  let folder: string;
  let database: TestDatabase;
  let server: PowerDns;
  let world: DnssecWorld;
  let publisher: ZonePublisher;
  let zones: ZoneReconciler;
  let reconciler: DnssecReconciler;
  let zone: TestZone;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ironcraft-delv-'));
    [database, server] = await Promise.all([openTestDatabase(), startPowerDns()]);
    world = createDnssecWorld();
    const { db } = database;
    const { clock, options } = world;
    publisher = createPowerDnsPublisher({ url: server.url, apiKey: server.apiKey, logger: options.logger });
    zones = createZoneReconciler({ db, publisher, clock, logger: options.logger, nameservers: ['ns1.dns.test'] });
    reconciler = createDnssecReconciler({ ...options, db, publisher, zones });
    zone = await insertZone(db, name);
    world.registry.add(name);
    await addRecord('@', 'A', '192.0.2.1');
    await addRecord('www', 'CNAME', `${name}.`);
    await addRecord('*.any', 'TXT', '"wild"');
    await zones.publishNow(name);
  });
  after(async () => {
    await zones?.stop();
    await publisher?.stop();
    await server?.close();
    await database?.close();
    await rm(folder, { recursive: true, force: true });
  });

  function addRecord(subdomain: string, type: string, value: string): Promise<void> {
    const { workspaceId, domainId: domain_id } = zone;
    const record = { id: mintId('rec'), domain_id, subdomain, type, value, ttl: 300 };
    return database.db.transaction(async (tx) => {
      await workspaceDb(tx, workspaceId).insertInto('dns_records').values(record).execute();
      await zoneChanged(tx, zone);
    });
  }

  function request(on: boolean): Promise<string> {
    const { workspaceId, domainId } = zone;
    return database.db.transaction((tx) => requestDnssec(tx, { workspaceId, domainId, on, publisher }));
  }

  /** What delv makes of the answer, with these DS records for trust anchor as a validator has them from the parent. */
  async function validate(
    dsRecords: readonly DsRecord[],
    query: string,
    type: string,
    port = server.port,
  ): Promise<string> {
    const file = join(folder, 'anchors');
    const anchors = dsRecords.map(
      ({ keyTag, algorithm, digestType, digest }) =>
        `"${name}." static-ds ${keyTag} ${algorithm} ${digestType} "${digest}";`,
    );
    await writeFile(file, `trust-anchors { ${anchors.join(' ')} };\n`);
    return delv(port, ['-a', file, `+root=${name}`, query, type]);
  }

  it('answers validate by the DS records at the registry, as soon as those are there', async () => {
    // Answers that the server remembers from before it had a key.
    for (const type of ['A', 'DNSKEY']) assert.doesNotMatch(await dig(server.port, [name, type, '+dnssec']), /RRSIG/);
    await request(true);
    await reconciler.advanceDue();
    for (const type of ['A', 'DNSKEY']) assert.match(await dig(server.port, [name, type, '+dnssec']), /RRSIG/);
    const dsRecords = world.registry.dsOf(name);
    assert.equal(dsRecords.length, 1);
    assert.deepEqual(
      dsRecords.map(({ algorithm, digestType }) => [algorithm, digestType]),
      [[13, 2]],
    );
    assert.match(dsRecords[0]?.digest ?? '', /^[0-9A-F]{64}$/);
    assert.match(await validate(dsRecords, name, 'A'), /^; fully validated\n.*192\.0\.2\.1\n/m);
    assert.match(await validate(dsRecords, `www.${name}`, 'A'), /^; fully validated\n/);
    assert.match(await validate(dsRecords, `x.any.${name}`, 'TXT'), /^; fully validated\n/);
  });

  it('records that are added to a signed zone validate, and so does that others are not there', async () => {
    const dsRecords = world.registry.dsOf(name);
    await addRecord('new.deep', 'A', '192.0.2.7');
    await zones.publishNow(name);
    assert.match(await validate(dsRecords, `new.deep.${name}`, 'A'), /^; fully validated\n.*192\.0\.2\.7\n/m);
    assert.match(await validate(dsRecords, `nothing.${name}`, 'A'), /negative response, fully validated/);
    assert.match(await validate(dsRecords, `new.deep.${name}`, 'TXT'), /negative response, fully validated/);
    assert.match(await dig(server.port, [`deep.${name}`, 'A']), /status: NOERROR/, 'a name without records, but below');
  });

  it('the zone as a whole verifies with ldns, by the DS records at the registry, and not with a record that was changed', async () => {
    const dsRecords = world.registry.dsOf(name);
    const zoneFile = await dig(server.port, [name, 'AXFR', '+onesoa', '+noall', '+answer']);
    assert.match(zoneFile, /RRSIG[\s\S]*NSEC/);
    assert.match(await verifyZone(name, zoneFile, dsRecords), /^Zone is verified and complete/m);
    await assert.rejects(verifyZone(name, zoneFile.replace('192.0.2.1', '192.0.2.66'), dsRecords), /Bogus|error/i);
    const [ds] = dsRecords;
    assert.ok(ds);
    await assert.rejects(verifyZone(name, zoneFile, [{ ...ds, digest: 'AB'.repeat(32) }]));
  });

  it('answers do not validate by another key', async () => {
    const [ds] = world.registry.dsOf(name);
    assert.ok(ds);
    const forged = { ...ds, digest: 'AB'.repeat(32) };
    await assert.rejects(async () => {
      assert.match(await validate([forged], name, 'A'), /^; fully validated/);
    });
  });

  it('signing again gives the same DS records, with one key', async () => {
    assert.deepEqual(await publisher.sign(name), world.registry.dsOf(name));
    assert.equal((await server.ask(`/zones/${name}./cryptokeys`)).length, 1);
  });

  it('a zone that is not there cannot be signed, and unsigning it is no error', async () => {
    await assert.rejects(publisher.sign('missing.example'), /publish it before it is signed/);
    await publisher.unsign('missing.example');
  });

  it('a secondary that copies the signed zone answers validly, and copies it again once it is told that it changed', {
    skip: skipNsd,
  }, async (t) => {
    const dsRecords = world.registry.dsOf(name);
    const port = await findNsdPort();
    const nsd = await startNsd({ port, primaryPort: server.port, zones: [name] });
    t.after(() => nsd.close());
    const serialAt = async (at: number) => (await digShort(at, name, 'SOA').catch(() => []))[0]?.split(' ')[2];
    const copied = await eventually(() => serialAt(port), 'the secondary has the zone');
    assert.equal(copied, await serialAt(server.port));
    for (const [query, type] of [
      [name, 'A'],
      [`x.any.${name}`, 'TXT'],
      [`nothing.${name}`, 'A'],
    ] as const) {
      assert.match(await validate(dsRecords, query, type, port), /fully validated/, `${query} ${type}`);
    }
    world.clock.advance(3 * 24 * HOUR_MS - 1);
    await reconciler.advanceDue();
    await zones.publishNow(name);
    assert.equal(await serialAt(server.port), copied);
    world.clock.advance(1);
    await Promise.all([reconciler.advanceDue(), reconciler.advanceDue()]);
    await zones.publishNow(name);
    assert.equal(await serialAt(server.port), String(Number(copied) + 1));
    assert.match(await validate(dsRecords, name, 'A'), /fully validated/);
  });

  it('a new key takes the place of the old one, and answers validate at every step of it', async () => {
    const old = world.registry.dsOf(name);
    const keys = async () => (await digShort(server.port, name, 'DNSKEY')).length;
    const isValid = async (anchors: readonly DsRecord[]) => {
      for (const [query, type] of [
        [name, 'A'],
        [`www.${name}`, 'A'],
        [`nothing.${name}`, 'A'],
        [name, 'DNSKEY'],
      ] as const) {
        assert.match(await validate(anchors, query, type), /fully validated/, `${query} ${type}`);
      }
    };
    assert.equal((await requestRoll(database.db, name))?.roll_state, 'signing');
    await reconciler.advanceDue();
    assert.equal(await keys(), 2);
    assert.deepEqual(world.registry.dsOf(name), old);
    await isValid(old);
    // An hour for the longest TTL, and one for the servers.
    world.clock.advance(2 * HOUR_MS - 1);
    await reconciler.advanceDue();
    assert.deepEqual(world.registry.dsOf(name), old, 'answers with the old signature alone may be remembered');
    world.clock.advance(1);
    await reconciler.advanceDue();
    const changed = world.registry.dsOf(name);
    assert.deepEqual([changed.length, changed[0]?.digest === old[0]?.digest], [1, false]);
    await isValid(old);
    await isValid(changed);
    world.clock.advance(DS_TTL_MS - 1);
    await reconciler.advanceDue();
    assert.equal(await keys(), 2);
    await isValid(old);
    world.clock.advance(1);
    await reconciler.advanceDue();
    assert.equal(await keys(), 1);
    await isValid(changed);
    await assert.rejects(isValid(old));
    assert.deepEqual(await publisher.sign(name), changed);
    await assert.rejects(publisher.retireKeys(name, old), /does not sign .* with the key that is to stay/);
    const [shown] = await listKeys(database.db, { all: true, limit: 10 });
    assert.deepEqual([shown?.name, shown?.roll_state, shown?.key_since], [name, null, world.clock.now()]);
  });

  it('turned off, the DS records go first and the keys when nobody remembers those', async () => {
    const dsRecords = world.registry.dsOf(name);
    assert.match(await dig(server.port, [name, 'A', '+dnssec']), /RRSIG/);
    await request(false);
    await reconciler.advanceDue();
    assert.deepEqual(world.registry.dsOf(name), []);
    assert.match(await validate(dsRecords, name, 'A'), /^; fully validated/, 'for those who remember the DS record');
    world.clock.advance(DS_TTL_MS - 1);
    await reconciler.advanceDue();
    assert.equal((await server.ask(`/zones/${name}./cryptokeys`)).length, 1);
    world.clock.advance(1);
    await reconciler.advanceDue();
    assert.deepEqual(await server.ask(`/zones/${name}./cryptokeys`), []);
    assert.doesNotMatch(await dig(server.port, [name, 'A', '+dnssec']), /RRSIG/);
    assert.deepEqual(await digShort(server.port, name, 'DNSKEY'), []);
    assert.deepEqual(await digShort(server.port, name, 'A'), ['192.0.2.1']);
  });
});
