/** The embedded nameserver against one that the world uses: for the same zone both give the same answers. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Answer, RecordType } from 'dns-packet';
import { openTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { askDns, question } from '../../../test/support/dns-questions.ts';
import { hasPowerDns, type PowerDns, powerDnsMissing, startPowerDns } from '../../../test/support/power-dns.ts';
import { openTestLogger } from '../../../test/support/test-log.ts';
import { createHostedZone } from '../../../test/support/zones.ts';
import { systemClock } from '../../kernel/clock/clock.ts';
import { createEmbeddedPublisher, type EmbeddedPublisher } from './embedded/index.ts';
import { createPowerDnsPublisher } from './powerdns/power-dns-publisher.ts';
import { createZoneReconciler } from './zone-reconciler.ts';

const NAMESERVERS = ['ns1.ironcraft.test', 'ns2.ironcraft.test'];
const ZONE = 'agreed.example';

const records = [
  '@ 300 A 192.0.2.1',
  '@ 300 A 192.0.2.2',
  '@ 300 MX 10 mail.agreed.example.',
  '@ 600 TXT "v=spf1 -all"',
  '@ 300 CAA 0 issue "ca.example.net; policy=\\"ev\\""',
  'mail 300 AAAA ::ffff:192.0.2.3',
  'www 300 CNAME agreed.example.',
  'chain 300 CNAME www.agreed.example.',
  'out 300 CNAME elsewhere.example.net.',
  'dangling 300 CNAME nothing.agreed.example.',
  '_sip._tcp 300 SRV 10 5 5060 mail.agreed.example.',
  'text 300 TXT "say \\"hi\\" \\\\ \\195\\169 ;" "" "second"',
  'phone 300 NAPTR 100 10 "U" "E2U+sip" "!^(.*)$!sip:\\\\1@example.net!" .',
  'key 300 SSHFP 4 2 CDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCD',
  '*.wild 300 A 192.0.2.9',
  'a.wild 300 TXT "here"',
  'deep.ent.wild 300 TXT "deep"',
  '*.alias 300 CNAME mail.agreed.example.',
  'to-wild 300 CNAME any.wild.agreed.example.',
  'sub 300 NS ns1.sub.agreed.example.',
  'sub 300 NS ns.example.net.',
  'ns1.sub 300 A 192.0.2.53',
];

const names = [
  ...['@', 'mail', 'www', 'chain', 'out', 'dangling', '_sip._tcp', '_tcp', 'text', 'phone', 'key', 'nothing', 'a.mail'],
  ...[
    'wild',
    '*.wild',
    'x.wild',
    'x.y.wild',
    'a.wild',
    'x.a.wild',
    'ent.wild',
    'x.ent.wild',
    'deep.ent.wild',
    'X.WiLd',
  ],
  ...['alias', 'x.alias', 'to-wild', 'sub', 'ns1.sub', 'x.sub', 'x.y.sub'],
];

const types: RecordType[] = ['A', 'AAAA', 'NS', 'SOA', 'CNAME', 'MX', 'TXT', 'CAA', 'SRV', 'NAPTR', 'SSHFP', 'DS'];

/** Beside an alias that a wildcard made, and that was asked for itself, PowerDNS puts the SOA of a negative answer. */
const isDifferent = (subdomain: string, type: RecordType) => subdomain === 'x.alias' && type === 'CNAME';

/** Upper and lower case mean the same; where an answer keeps the question's is each server's choice. */
const render = (found: Answer[] | undefined) =>
  (found ?? []).map((answer) => JSON.stringify(answer).toLowerCase()).sort();

async function ask(port: number, name: string, type: RecordType) {
  const { rcode, isAuthoritative, answers, authorities } = await askDns(port, question(name, type));
  return { rcode, isAuthoritative, answers: render(answers), authorities: render(authorities) };
}

describe('both publishers', { skip: hasPowerDns() ? false : powerDnsMissing }, () => {
  let database: TestDatabase;
  let embedded: EmbeddedPublisher;
  let powerDns: PowerDns;

  before(async () => {
    database = await openTestDatabase();
    const { db } = database;
    const logger = openTestLogger();
    const parts = { db, logger, nameservers: NAMESERVERS, clock: systemClock };
    embedded = createEmbeddedPublisher({ ...parts, host: '127.0.0.1', port: 0, responsesPerSecond: 1_000_000 });
    await embedded.start();
    powerDns = await startPowerDns();
    const publisher = createPowerDnsPublisher({ url: powerDns.url, apiKey: powerDns.apiKey, logger });
    await createHostedZone(db, ZONE, records);
    await createZoneReconciler({ ...parts, publisher }).publishNow(ZONE);
    await publisher.stop();
  });
  after(async () => {
    await embedded.stop();
    await powerDns.close();
    await database.close();
  });

  for (const subdomain of names) {
    test(`agree on ${subdomain}`, async () => {
      const name = subdomain === '@' ? ZONE : `${subdomain}.${ZONE}`;
      for (const type of types.filter((asked) => !isDifferent(subdomain, asked))) {
        const [ours, theirs] = await Promise.all([ask(embedded.port, name, type), ask(powerDns.port, name, type)]);
        assert.deepEqual(ours, theirs, `${name} ${type}`);
      }
    });
  }
});
