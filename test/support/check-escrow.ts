/** Deposits from a service's own store, read as an agent reads them: by the hashes, and by the schemas of RFC 8909 and RFC 9022. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { writeCsvDeposit } from '../../src/command-line/domains/escrow/csv-deposit.ts';
import type {
  DepositedContact,
  DepositedDomain,
  EscrowVerbs,
} from '../../src/command-line/domains/escrow/read-pages.ts';
import { writeXmlDeposit } from '../../src/command-line/domains/escrow/xml-deposit.ts';
import { createOperator } from '../../src/domains/operator/index.ts';
import { systemClock } from '../../src/kernel/clock/clock.ts';
import type { Share } from '../conformance/take-turns.ts';
import { startDomains } from './domains.ts';
import { depositProblems } from './escrow-schemas.ts';

export async function testEscrow(share: Share): Promise<void> {
  const service = await startDomains({});
  const operator = createOperator({ db: service.db, clock: systemClock });
  const folder = await mkdtemp(join(tmpdir(), 'escrow-'));
  after(async () => {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });
  const registrar = {
    name: 'Example & Sons <Registrar> Ltd',
    abuse_email: 'abuse@registrar.example',
    abuse_phone: '+44.2071234567',
    url: 'https://registrar.example/',
  };
  const watermark = new Date('2031-02-03T04:05:06.789Z');
  const target = { folder, ianaId: '9999', watermark, registrar, resend: 0 };

  async function register(names: readonly string[], person: object) {
    const workspace = await service.createWorkspace();
    await workspace.fund(100_000);
    const changed = await workspace.patch('/registrant', person);
    assert.equal(changed.status, 200, changed.text);
    for (const domain of names) {
      const bought = await workspace.post('/domains', { domain, confirm_price: 11.9 });
      assert.equal(bought.status, 201, bought.text);
      await workspace.get(`/domains/${domain}`);
    }
    return workspace;
  }

  const countOf = (xml: string, object: string) =>
    Number(new RegExp(`<rdeHeader:count uri="[^"]*:${object}-1\\.0">\\s*(\\d+)<`).exec(xml)?.[1]);
  const occurrences = (xml: string, element: string) => xml.split(`<${element}>`).length - 1;

  test('a deposit as XML is valid, counts what it has, and has every name with its registrant', async () => {
    const address = {
      street: '1 Mill Lane\nFlat 2',
      city: 'Münster',
      region: 'NRW',
      postal_code: '48143',
      country: 'DE',
    };
    const contact = { ...address, organization: 'Müller & Söhne <GmbH>', phone: '+49.2511234567' };
    const workspace = await register(['deposit-a.com', 'xn--bcher-kva.com'], { name: 'Kim "K" Müller', contact });
    await register(['deposit-b.com'], { name: 'No Address' });
    const ds = { keyTag: 12_345, algorithm: 13, digestType: 2, digest: 'AB'.repeat(32) };
    await service.registry.update({ name: 'deposit-a.com', transactionId: 'escrow-test', dsRecords: [ds] });
    await workspace.get('/domains/deposit-a.com');
    const statuses = ['clientTransferProhibited', 'pendingDelete', 'redemptionPeriod', 'unheardOf'];
    await service.db.query({
      text: `update domains.domains set snapshot = jsonb_set(snapshot, '{statuses}', $2) where name = $1`,
      values: ['xn--bcher-kva.com', JSON.stringify(statuses)],
    });

    const deposit = await writeXmlDeposit({ ...target, verbs: operator });
    const [{ file, sha256 } = assert.fail('no file')] = deposit.files;
    assert.equal(file, join(folder, '9999_RDE_2031-02-03_full_0.xml'));
    const xml = await readFile(file, 'utf8');
    assert.deepEqual(await depositProblems(xml), []);
    assert.match(xml, /^<\?xml[^>]*>\n<rde:deposit type="FULL" id="20310203000" resend="0" /);
    assert.match(xml, /<rde:watermark>2031-02-03T04:05:06\.789Z</);
    for (const object of ['Domain', 'Contact', 'Registrar'])
      assert.equal(countOf(xml, `rde${object}`), occurrences(xml, `rde${object}:${object.toLowerCase()}`), object);
    assert.deepEqual([deposit.domains, deposit.contacts], [countOf(xml, 'rdeDomain'), countOf(xml, 'rdeContact')]);
    assert.ok(deposit.domains >= 3 && deposit.contacts >= 2);
    assert.equal(deposit.incomplete_contacts, xml.split('<contact:cc>ZZ<').length - 1);

    const handles = new Set([...xml.matchAll(/<rdeContact:id>([^<]+)</g)].map(([, id]) => id));
    for (const [, holder] of xml.matchAll(/<rdeDomain:registrant>([^<]+)</g)) assert.ok(handles.has(holder), holder);
    assert.match(xml, /<rdeDomain:name>deposit-a\.com<.*<secDNS:keyTag>12345<.*<secDNS:digest>(AB){32}</);
    const idn = /<rdeDomain:name>xn--bcher-kva\.com<.*/.exec(xml)?.[0] ?? '';
    assert.match(idn, /<rdeDomain:uName>bücher\.com</);
    assert.deepEqual(
      [...idn.matchAll(/Domain:(status|rgpStatus) s="(\w+)"/g)].map(([, kind, value]) => [kind, value]),
      [
        ['status', 'clientTransferProhibited'],
        ['status', 'pendingDelete'],
        ['rgpStatus', 'redemptionPeriod'],
      ],
    );
    assert.match(
      xml,
      /<contact:name>Kim &quot;K&quot; Müller<\/contact:name><contact:org>Müller &amp; Söhne &lt;GmbH&gt;</,
    );
    assert.match(xml, /<contact:street>1 Mill Lane<\/contact:street><contact:street>Flat 2</);
    assert.match(
      xml,
      /<contact:name>No Address<\/contact:name><contact:addr><contact:city>-<\/contact:city><contact:cc>ZZ</,
    );

    assert.equal(sha256, createHash('sha256').update(xml).digest('hex'));
    assert.equal(await readFile(deposit.hash_file, 'utf8'), `${sha256}  9999_RDE_2031-02-03_full_0.xml\n`);
    assert.equal((await stat(file)).mode & 0o077, 0, 'others may not read who the registrants are');
  });

  test('the schemas find what is wrong', async () => {
    const { files } = await writeXmlDeposit({ ...target, verbs: operator });
    const xml = await readFile(files[0]?.file ?? '', 'utf8');
    for (const [from, to] of [
      [/<rdeDomain:clID>[^<]*<\/rdeDomain:clID>/, ''],
      [/<contact:cc>[^<]*</, '<contact:cc>ABC<'],
      [/s="clientTransferProhibited"|s="ok"/, 's="unheardOf"'],
      [/<rde:watermark>[^<]*</, '<rde:watermark>yesterday<'],
      [/ id="\d+"/, ' id="20310203-000-0"'],
    ] as const) {
      assert.notDeepEqual(await depositProblems(xml.replace(from, to)), [], String(from));
    }
  });

  test('a deposit that the agent has refused is made anew under another id', async () => {
    const { files, hash_file: hashFile, id, resend } = await writeXmlDeposit({ ...target, resend: 2, verbs: operator });
    assert.deepEqual([id, resend], ['20310203002', 2]);
    const xml = await readFile(files[0]?.file ?? '', 'utf8');
    assert.match(xml, /<rde:deposit type="FULL" id="20310203002" resend="2" /);
    assert.match(hashFile, /9999_RDE_2031-02-03_full_2\.xml\.sha256$/);
    assert.deepEqual(await depositProblems(xml), []);
  });

  test('a name that leaves while a deposit is written leaves its registrant in it', async () => {
    const workspace = await register(['leaves-meanwhile.com'], { name: 'Leaving' });
    const started = new Date(Date.now() - 1_000);
    const leaving: EscrowVerbs = {
      escrow_domains: operator.escrow_domains,
      async escrow_contacts(request) {
        await service.db.query({
          text: `update domains.domains set state = 'gone', gone_at = now() where name = 'leaves-meanwhile.com' and state = 'active'`,
          values: [],
        });
        return operator.escrow_contacts(request);
      },
    };
    const { files } = await writeCsvDeposit({ folder, ianaId: '9999', watermark: started, verbs: leaving });
    const [names = '', contacts = ''] = await Promise.all(files.map(({ file }) => readFile(file, 'utf8')));
    assert.ok(names.includes(`leaves-meanwhile.com,`) && names.includes(workspace.userId));
    assert.ok(contacts.includes(workspace.userId));
    const later = { after: '', limit: 500, since: new Date(Date.now() + 60_000).toISOString() };
    assert.ok(!(await operator.escrow_contacts(later)).contacts.some(({ handle }) => handle === workspace.userId));
  });

  /** Of a portfolio that nobody could hold: pages are made as they are asked for. */
  function endless(names: number): EscrowVerbs & { readonly largest: () => number } {
    let asked = 0;
    const domain = (at: number): DepositedDomain => ({
      name: `name-${String(at).padStart(7, '0')}.com`,
      registry_id: `D${at}-TEST`,
      statuses: ['ok'],
      created_at: '2030-01-01T00:00:00.000Z',
      updated_at: null,
      expires_at: '2032-01-01T00:00:00.000Z',
      nameservers: ['ns1.example.net', 'ns2.example.net'],
      hosts: [],
      ds_records: [],
      registrant: 'usr_1',
    });
    const contact: DepositedContact = {
      ...{ handle: 'usr_1', created_at: '2030-01-01T00:00:00.000Z', name: 'Kim', organization: '', street: '' },
      ...{ city: 'London', region: '', postal_code: '', country: 'GB', email: 'kim@example.com', phone: '' },
    };
    return {
      largest: () => asked,
      async escrow_domains({ after = '', limit }) {
        asked = Math.max(asked, limit);
        const first = after === '' ? 0 : Number(after.slice(5, 12)) + 1;
        const count = Math.min(limit, names - first);
        const domains = Array.from({ length: count }, (_, at) => domain(first + at));
        return { domains, next_after: first + count < names ? (domains.at(-1)?.name ?? null) : null };
      },
      escrow_contacts: async () => ({ contacts: [contact], next_after: null }),
    };
  }

  const many = share === 'all' ? 100_000 : 2_300;
  test(`${many} names are written page by page, and counted`, async () => {
    const verbs = endless(many);
    const { domains, files } = await writeXmlDeposit({ ...target, resend: 9, verbs });
    assert.deepEqual([domains, verbs.largest()], [many, 500]);
    const xml = await readFile(files[0]?.file ?? '', 'utf8');
    assert.equal(countOf(xml, 'rdeDomain'), many);
    assert.equal(occurrences(xml, 'rdeDomain:domain'), many);
    assert.ok(xml.endsWith('</rde:contents>\n</rde:deposit>\n'));
  });

  test('what fails half-way leaves nothing, neither a deposit nor a part of one', async () => {
    const verbs: EscrowVerbs = {
      ...endless(1_000),
      escrow_contacts: () => Promise.reject(new Error('the store is away')),
    };
    await assert.rejects(writeXmlDeposit({ ...target, resend: 7, verbs }), /the store is away/);
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.includes('_full_7')),
      [],
    );
  });
}
