/** RDAP as a program reads it that nobody here wrote: `rdapper`, a client from npm. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { type DomainRecord, lookup } from 'rdapper';
import { NAMESERVERS, startDomains } from '../../../../test/support/domains.ts';

const registrar = {
  name: 'Example Registrar Ltd',
  iana_id: 9_999,
  abuse_email: 'abuse@registrar.example',
  abuse_phone: '+44.2071234567',
  url: 'https://registrar.example/',
  terms_url: 'https://registrar.example/rdap-terms',
  registrant_contact: 'https://registrar.example/write',
};
const service = await startDomains({ parts: { rdap: registrar } });
/** As IANA publishes who answers for a TLD. */
const bootstrap = createServer((_request, response) => {
  const services = [[['com'], [`${service.url}/rdap/`]]];
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ version: '1.0', publication: '2026-01-01T00:00:00Z', services }));
});
await new Promise<void>((resolve) => bootstrap.listen(0, '127.0.0.1', resolve));
after(async () => {
  bootstrap.close();
  await service.close();
});
const customBootstrapUrl = `http://127.0.0.1:${(bootstrap.address() as AddressInfo).port}/dns.json`;
const DS = { keyTag: 12_345, algorithm: 13, digestType: 2, digest: 'AB'.repeat(32) };

const contact = {
  ...{ organization: 'Example & Sons', street: '1 Mill Lane', city: 'London', region: 'Greater London' },
  ...{ postal_code: 'EC1', country: 'GB', phone: '+44.2071234567' },
};

/** A name with a registrar's lock and DS records, that tells of its registrant or does not. */
async function register(name: string, isPrivate: boolean) {
  const workspace = await service.createWorkspace();
  await workspace.fund(10_000);
  await workspace.patch('/registrant', { name: 'Kim Example', contact });
  const bought = await workspace.post('/domains', { domain: name, confirm_price: 11.9 });
  assert.equal(bought.status, 201, bought.text);
  const signed = await service.registry.update({ name, transactionId: `sign-${name}`, dsRecords: [DS] });
  assert.equal(signed.kind, 'completed', JSON.stringify(signed));
  const settings = { registrar_lock: true, whois_privacy: isPrivate };
  assert.equal((await workspace.patch(`/domains/${name}/settings`, settings)).status, 200);
  const shown = await workspace.get(`/domains/${name}`);
  return { ...shown.body, userId: workspace.userId };
}

async function read(name: string): Promise<DomainRecord> {
  const { error, ok, record } = await lookup(name, { rdapOnly: true, customBootstrapUrl, rdapFollowLinks: false });
  assert.ok(ok && record !== undefined, error);
  return record;
}

test('a client finds the service by a bootstrap file, and reads what the registry says', async () => {
  const shown = await register('xn--bcher-kva.com', false);
  const record = await read('xn--bcher-kva.com');
  assert.deepEqual([record.isRegistered, record.source, record.warnings ?? []], [true, 'rdap', []]);
  assert.deepEqual([record.unicodeName, record.isIDN], ['bücher.com', true]);
  assert.equal(record.registrar?.name, registrar.name);
  assert.equal(record.registrar?.ianaId, '9999');
  assert.deepEqual(
    record.nameservers?.map(({ host }) => host),
    NAMESERVERS,
  );
  assert.deepEqual(record.dnssec, { enabled: true, dsRecords: [DS] });
  assert.equal(record.transferLock, true);
  // It tells whole seconds.
  assert.equal(record.expirationDate, `${shown.expires_at.slice(0, 19)}Z`);
  const registrant = record.contacts?.find(({ type }) => type === 'registrant');
  assert.deepEqual(
    [registrant?.name, registrant?.organization, registrant?.city, registrant?.postalCode, registrant?.countryCode],
    ['Kim Example', contact.organization, contact.city, contact.postal_code, contact.country],
  );
  assert.equal(registrant?.email, `${shown.userId}@example.com`);
});

test('it sees nothing of a private registrant, and that a name is not with us', async () => {
  const { userId } = await register('hidden-from-clients.com', true);
  const record = await read('hidden-from-clients.com');
  assert.equal(record.isRegistered, true);
  assert.doesNotMatch(JSON.stringify(record), new RegExp(`Kim|Mill Lane|London|EC1|Sons|${userId}`));
  assert.equal((await read('not-with-us.com')).isRegistered, false);
});
