import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { createPowerDnsPublisher } from '../../src/domains/dns/powerdns/power-dns-publisher.ts';
import type { RecordSet, ZoneContent, ZonePublisher } from '../../src/domains/dns/publisher.ts';
import { createLogger } from '../../src/kernel/log/log.ts';
import type { Share } from '../conformance/take-turns.ts';
import { dig, digMissing, digShort, hasDig } from './dig.ts';
import { type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts';
import { hasPowerDns, type PowerDns, powerDnsMissing, startPowerDns } from './power-dns.ts';

export async function testPowerDnsPublisher(share: Share): Promise<void> {
  const skip = (!hasPowerDns() && powerDnsMissing) || (!hasDig() && digMissing) || false;

  let lastZone = 0;

  function newZoneName(): string {
    lastZone += 1;
    return `zone${lastZone}.example`;
  }

  function zoneOf(
    name: string,
    serial: number,
    sets: readonly (readonly [string, string, ...string[]])[],
  ): ZoneContent {
    const own: RecordSet[] = [
      { name, type: 'SOA', ttl: 3600, values: [`ns1.dns.test. hostmaster.dns.test. ${serial} 10800 3600 604800 300`] },
      { name, type: 'NS', ttl: 3600, values: ['ns1.dns.test.', 'ns2.dns.test.'] },
    ];
    const others = sets.map(([subdomain, type, ...values]): RecordSet => {
      return { name: subdomain === '@' ? name : `${subdomain}.${name}`, type, ttl: 300, values: values.sort() };
    });
    return { name, serial, recordSets: [...own, ...others] };
  }

  describe('publishing to PowerDNS', { skip }, () => {
    let server: PowerDns;
    let proxy: FaultyProxy;
    let publisher: ZonePublisher;
    const log: string[] = [];
    const logger = createLogger({ logLevel: 'debug' }, { write: (line) => void log.push(line) });

    before(async () => {
      server = await startPowerDns();
      proxy = await startFaultyProxy(server.url);
      publisher = createPowerDnsPublisher({
        url: proxy.url,
        apiKey: server.apiKey,
        logger,
        timeoutMs: 5_000,
        firstRetryMs: 10,
      });
    });
    after(async () => {
      await publisher?.stop();
      await proxy?.close();
      await server?.close();
    });

    function ask(name: string, type: string): Promise<string[]> {
      return digShort(server.port, name, type, '+tries=3');
    }

    /** The addresses of these names, in their order, all asked for by one process. */
    async function askAddresses(names: readonly string[]): Promise<string[]> {
      const queries = names.flatMap((name) => [name, 'A', '+short', '+tries=3']);
      return (await dig(server.port, queries)).split('\n');
    }

    /** What was asked of PowerDNS while this ran, reads left out. */
    async function writesDuring(work: () => Promise<unknown>): Promise<string[]> {
      const from = proxy.requests.length;
      await work();
      return proxy.requests.slice(from).flatMap(({ method }) => (method === 'GET' ? [] : [method]));
    }

    it('serves every type of record as it was given', async () => {
      const name = newZoneName();
      const long = `${'k'.repeat(255)}${'e'.repeat(100)}`;
      const digest = '0c72ac70b745ac19998811b131d662c9ac69dbdbe7cb23e5b514b56664c5d3d6';
      const zone = zoneOf(name, 2026112101, [
        ['@', 'A', '192.0.2.1', '192.0.2.2'],
        ['@', 'MX', `10 mail.${name}.`, '20 mx.other.test.'],
        ['@', 'CAA', '0 issue "letsencrypt.org; validationmethods=dns-01"', '128 issuewild ";"'],
        ['@', 'TXT', '"v=spf1 -all"', '"say \\"hi\\" \\\\o/ ; caf\\195\\169"'],
        ['long', 'TXT', `"${'k'.repeat(255)}" "${'e'.repeat(100)}"`],
        ['longer', 'TXT', `"${long}"`],
        ['six', 'AAAA', '2001:DB8:0:0::1', '::ffff:192.0.2.1'],
        ['www', 'CNAME', `${name}.`],
        ['*', 'A', '192.0.2.9'],
        ['*.deep', 'TXT', '"any"'],
        ['_sip._tcp', 'SRV', `10 20 5060 sip.${name}.`, '0 0 0 .'],
        ['_443._tcp', 'TLSA', `3 1 1 ${digest.toUpperCase()}`],
        ['child', 'NS', 'ns.elsewhere.test.'],
      ]);
      await publisher.publish(zone);
      assert.deepEqual(await ask(name, 'A'), ['192.0.2.1', '192.0.2.2']);
      assert.deepEqual(await ask(name, 'MX'), [`10 mail.${name}.`, '20 mx.other.test.']);
      assert.deepEqual(await ask(name, 'CAA'), [
        '0 issue "letsencrypt.org; validationmethods=dns-01"',
        '128 issuewild ";"',
      ]);
      assert.deepEqual(await ask(name, 'TXT'), ['"say \\"hi\\" \\\\o/ ; caf\\195\\169"', '"v=spf1 -all"']);
      for (const subdomain of ['long', 'longer']) {
        const [text = ''] = await ask(`${subdomain}.${name}`, 'TXT');
        assert.equal(text, `"${'k'.repeat(255)}" "${'e'.repeat(100)}"`);
      }
      assert.deepEqual(await ask(`six.${name}`, 'AAAA'), ['2001:db8::1', '::ffff:192.0.2.1']);
      assert.deepEqual(await ask(`www.${name}`, 'CNAME'), [`${name}.`]);
      assert.deepEqual(await ask(`anything.${name}`, 'A'), ['192.0.2.9']);
      assert.deepEqual(await ask(`a.b.deep.${name}`, 'TXT'), ['"any"']);
      assert.deepEqual(await ask(`_sip._tcp.${name}`, 'SRV'), ['0 0 0 .', `10 20 5060 sip.${name}.`]);
      const [tlsa = ''] = await ask(`_443._tcp.${name}`, 'TLSA');
      assert.equal(tlsa.replaceAll(' ', ''), `311${digest.toUpperCase()}`);
      assert.deepEqual(await ask(name, 'NS'), ['ns1.dns.test.', 'ns2.dns.test.']);
      assert.deepEqual(await ask(name, 'SOA'), ['ns1.dns.test. hostmaster.dns.test. 2026112101 10800 3600 604800 300']);
      assert.match(
        await dig(server.port, [`x.child.${name}`, 'A', '+norecurse']),
        /child\S+\s+300\s+IN\s+NS\s+ns\.elsewh/,
      );
      assert.match(
        await dig(server.port, [`_tcp.${name}`, 'A']),
        /status: NOERROR/,
        'a name without records, but below',
      );
      assert.deepEqual(await writesDuring(() => publisher.publish(zone)), [], 'repeating it changes nothing');
    });

    it('changes, adds and takes away only what differs, in one request', async () => {
      const name = newZoneName();
      await publisher.publish(
        zoneOf(name, 1, [
          ['a', 'A', '192.0.2.1'],
          ['b', 'A', '192.0.2.2'],
          ['c', 'TXT', '"x"'],
        ]),
      );
      const next = zoneOf(name, 2, [
        ['a', 'A', '192.0.2.1', '192.0.2.7'],
        ['b', 'CNAME', 'a.test.'],
        ['d', 'TXT', '"y"'],
      ]);
      assert.deepEqual(await writesDuring(() => publisher.publish(next)), ['PATCH']);
      assert.deepEqual(await ask(`a.${name}`, 'A'), ['192.0.2.1', '192.0.2.7']);
      assert.deepEqual(await ask(`b.${name}`, 'CNAME'), ['a.test.']);
      assert.deepEqual(await ask(`c.${name}`, 'TXT'), []);
      assert.deepEqual(await ask(`d.${name}`, 'TXT'), ['"y"']);
      assert.match((await ask(name, 'SOA')).join(), / 2 10800 /);
    });

    it('puts right what someone else did to the zone', async () => {
      const name = newZoneName();
      await publisher.publish(zoneOf(name, 1, [['a', 'A', '192.0.2.1']]));
      const database = new DatabaseSync(server.databaseFile);
      database.exec(`update records set disabled = 1 where name = 'a.${name}'`);
      database.exec(`insert into domainmetadata (domain_id, kind, content)
      select id, 'SOA-EDIT-API', 'EPOCH' from domains where name = '${name}'`);
      database.close();
      await publisher.publish(zoneOf(name, 5, [['a', 'A', '192.0.2.1']]));
      assert.deepEqual(await ask(`a.${name}`, 'A'), ['192.0.2.1']);
      assert.match((await ask(name, 'SOA')).join(), / 5 10800 /);
    });

    it('publishes a zone of thousands of names in bounded requests', async () => {
      const name = newZoneName();
      const hosts = Array.from({ length: 1_600 }, (_, index) => [`h${index}`, 'A', '192.0.2.1'] as const);
      const writes = await writesDuring(() => publisher.publish(zoneOf(name, 1, hosts)));
      assert.deepEqual(writes, ['POST', 'PATCH', 'PATCH', 'PATCH']);
      assert.deepEqual(await ask(`h1599.${name}`, 'A'), ['192.0.2.1']);
      assert.deepEqual(await ask(`h0.${name}`, 'A'), ['192.0.2.1']);
    });

    it('serves a removed zone no more, and removing it again is no error', async () => {
      const name = newZoneName();
      await publisher.publish(zoneOf(name, 1, [['a', 'A', '192.0.2.1']]));
      await publisher.remove(name);
      assert.match(await dig(server.port, [`a.${name}`, 'A']), /status: REFUSED/);
      await publisher.remove(name);
    });

    const many = share === 'all' ? 50 : 8;
    it(`${many} zones that change at once all end right, one write at a time`, async () => {
      const names = Array.from({ length: many }, newZoneName);
      await Promise.all(names.map((name) => publisher.publish(zoneOf(name, 1, [['a', 'A', '192.0.2.1']]))));
      await Promise.all(
        names.map((name, index) => publisher.publish(zoneOf(name, 2, [['a', 'A', `198.51.100.${index}`]]))),
      );
      const answers = await askAddresses(names.map((name) => `a.${name}`));
      assert.deepEqual(
        answers,
        names.map((_, index) => `198.51.100.${index}`),
      );
      assert.equal(proxy.mostAtOnce('POST', 'PATCH', 'PUT', 'DELETE'), 1);
    });

    it('zones that two replicas and another program write at once all end right', async () => {
      const other = createPowerDnsPublisher({ url: server.url, apiKey: server.apiKey, logger });
      const names = Array.from({ length: 16 }, newZoneName);
      const database = new DatabaseSync(server.databaseFile);
      database.exec('begin exclusive');
      const published = Promise.all(
        names.map((name, index) =>
          (index % 2 === 0 ? publisher : other).publish(zoneOf(name, 1, [['a', 'A', `198.51.100.${index}`]])),
        ),
      );
      await proxy.waitFor('GET');
      database.exec('commit');
      database.close();
      await published;
      const answers = await askAddresses(names.map((name) => `a.${name}`));
      assert.deepEqual(
        answers,
        names.map((_, index) => `198.51.100.${index}`),
      );
      await other.stop();
    });

    it('a signed zone that is removed and published anew has no key, and then a new one', async () => {
      const name = newZoneName();
      await publisher.publish(zoneOf(name, 1, []));
      const first = await publisher.sign(name);
      await publisher.remove(name);
      await publisher.publish(zoneOf(name, 2, []));
      assert.deepEqual(await server.ask(`/zones/${name}./cryptokeys`), []);
      const second = await publisher.sign(name);
      assert.notEqual(second[0]?.digest, first[0]?.digest);
      assert.match(await dig(server.port, [name, 'SOA', '+dnssec']), /RRSIG/);
    });

    it('asks again when the database is locked or the server fails, and gives up after some time', async () => {
      const name = newZoneName();
      const locked = '{"error": "Unable to start transaction: database is locked"}';
      let failures = 0;
      proxy.harm(({ method }) => {
        failures += method === 'PATCH' ? 1 : 0;
        return method === 'PATCH' && failures < 4
          ? { kind: 'refuse', status: failures === 1 ? 422 : 500, text: locked }
          : undefined;
      });
      await publisher.publish(zoneOf(name, 1, []));
      await publisher.publish(zoneOf(name, 2, [['a', 'A', '192.0.2.1']]));
      assert.deepEqual(await ask(`a.${name}`, 'A'), ['192.0.2.1']);
      proxy.harm(({ method }) => (method === 'PATCH' ? { kind: 'refuse', status: 500, text: locked } : undefined));
      await assert.rejects(
        publisher.publish(zoneOf(name, 3, [])),
        /PowerDNS answered 500: Unable to start transaction/,
      );
      proxy.harm(() => undefined);
      await publisher.publish(zoneOf(name, 3, []));
      assert.deepEqual(await ask(`a.${name}`, 'A'), []);
    });

    it('does not repeat what PowerDNS refuses for good', async () => {
      const name = newZoneName();
      await publisher.publish(zoneOf(name, 1, []));
      const wrong = zoneOf(name, 2, [['a', 'MX', '10 no.last.dot']]);
      const writes = await writesDuring(() =>
        assert.rejects(publisher.publish(wrong), /422: .*Not in expected format/),
      );
      assert.deepEqual(writes, ['PATCH']);
    });

    it('a write whose answer was lost is looked into and made good', async () => {
      const name = newZoneName();
      const harmed = new Set<string>();
      proxy.harm(({ method, path }) => {
        if (method === 'GET' || harmed.has(method + path)) return undefined;
        harmed.add(method + path);
        return { kind: 'cut' };
      });
      await publisher.publish(zoneOf(name, 1, [['a', 'A', '192.0.2.1']]));
      await publisher.publish(zoneOf(name, 2, [['a', 'A', '192.0.2.2']]));
      assert.equal((await publisher.sign(name)).length, 1);
      assert.equal((await server.ask(`/zones/${name}./cryptokeys`)).length, 1, 'one key, though its answer was lost');
      await publisher.remove(name);
      proxy.harm(() => undefined);
      assert.equal(harmed.size, 4);
      assert.match(await dig(server.port, [name, 'SOA']), /status: REFUSED/);
    });

    it('rejects when the server stays silent', async () => {
      const silent = createPowerDnsPublisher({
        url: proxy.url,
        apiKey: server.apiKey,
        logger,
        timeoutMs: 30,
        firstRetryMs: 1,
      });
      proxy.harm(() => ({ kind: 'hang' }));
      await assert.rejects(silent.publish(zoneOf(newZoneName(), 1, [])), /no answer from PowerDNS/);
      proxy.harm(() => undefined);
      await silent.stop();
    });

    it('follows no redirect, and says what is wrong with the key without telling it', async () => {
      proxy.harm(() => ({ kind: 'refuse', status: 302 }));
      await assert.rejects(publisher.remove(newZoneName()), /PowerDNS answered 302/);
      proxy.harm(() => undefined);
      const stranger = createPowerDnsPublisher({ url: server.url, apiKey: 'wrong-and-private', logger });
      const refused = stranger.publish(zoneOf(newZoneName(), 1, []));
      const error = await refused.catch((reason: unknown) => reason);
      assert.match(String(error), /refuses the API key/);
      await stranger.stop();
      assert.ok(log.length > 0);
      for (const secret of ['wrong-and-private', server.apiKey]) assert.ok(!(log.join() + error).includes(secret));
    });

    it('goes on where it was after PowerDNS was killed and started again', async () => {
      const name = newZoneName();
      await publisher.publish(zoneOf(name, 1, [['a', 'A', '192.0.2.1']]));
      await server.kill();
      await assert.rejects(publisher.publish(zoneOf(name, 2, [['a', 'A', '192.0.2.2']])), /PowerDNS/);
      await server.start();
      assert.deepEqual(await ask(`a.${name}`, 'A'), ['192.0.2.1']);
      await publisher.publish(zoneOf(name, 2, [['a', 'A', '192.0.2.2']]));
      assert.deepEqual(await ask(`a.${name}`, 'A'), ['192.0.2.2']);
    });
  });
}
