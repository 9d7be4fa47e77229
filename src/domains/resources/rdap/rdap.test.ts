import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { NAMESERVERS, startDomains, type TestDomains } from '../../../../test/support/domains.ts';
import { type ProfileAnswer, profileProblems } from '../../../../test/support/rdap-profile.ts';
import { rdapProblems } from '../../../../test/support/rdap-schema.ts';

const registrar = {
  name: 'Example Registrar Ltd',
  iana_id: 9_999,
  abuse_email: 'abuse@registrar.example',
  abuse_phone: '+44.2071234567',
  url: 'https://registrar.example/terms',
};
const service = await startDomains({ parts: { rdap: registrar } });
after(() => service.close());

async function look(path: string, at: TestDomains = service) {
  const { status, headers, body } = await at.anybody.get(`/rdap/${path}`);
  assert.equal(headers.get('content-type'), 'application/rdap+json');
  assert.equal(headers.get('access-control-allow-origin'), '*');
  return { status, headers, body };
}

const address = { street: '1 Mill Lane', city: 'London', region: 'Greater London', postal_code: 'EC1', country: 'GB' };

async function register(name: string, at: TestDomains = service, contact: object = address) {
  const workspace = await at.createWorkspace();
  await workspace.fund(100_000);
  await workspace.patch('/registrant', { name: 'Kim Example', contact: { ...contact, phone: '+44.2071234567' } });
  const price = name.endsWith('.com') ? 11.9 : 7.9;
  const { status, text } = await workspace.post('/domains', { domain: name, confirm_price: price });
  assert.equal(status, 201, text);
  await workspace.get(`/domains/${name}`);
  return workspace;
}

/** The address that answers are told by. */
const addressOf = (name: string) => `http://127.0.0.1:8788/api/v1/rdap/domain/${name}`;

const cardOf = (body: { entities: { roles: string[]; vcardArray: [string, unknown[][]] }[] }, role: string) =>
  Object.fromEntries(
    (body.entities.find(({ roles }) => roles.includes(role))?.vcardArray[1] ?? []).map(([name, , , value]) => [
      name,
      value,
    ]),
  );

test('a name of ours is told with its dates, servers and statuses, and nothing of its registrant but the country', async () => {
  const workspace = await register('xn--bcher-kva.com');
  await workspace.patch('/domains/xn--bcher-kva.com/settings', { registrar_lock: true });
  await workspace.get('/domains/xn--bcher-kva.com');
  const { status, body, headers } = await look('domain/B%C3%BCcher.COM.');
  assert.equal(status, 200);
  assert.deepEqual(rdapProblems('domain', body), []);
  assert.equal(headers.get('cache-control'), 'public, max-age=60');
  assert.deepEqual([body.ldhName, body.unicodeName], ['xn--bcher-kva.com', 'bücher.com']);
  assert.ok(body.status.includes('client transfer prohibited'), body.status.join());
  assert.deepEqual(
    body.nameservers.map(({ ldhName }: { ldhName: string }) => ldhName),
    NAMESERVERS,
  );
  assert.deepEqual(cardOf(body, 'registrant'), { version: '4.0', fn: '', adr: ['', '', '', '', '', '', ''] });
  assert.doesNotMatch(JSON.stringify(body), /Kim|Mill Lane|London|EC1/);
  const methods = body.redacted.map(({ name, method }: { name: { type: string }; method: string }) => [
    name.type,
    method,
  ]);
  assert.doesNotMatch(JSON.stringify(body), /Greater/);
  assert.ok(methods.some(([type, method]: string[]) => type === 'Registrant Email' && method === 'removal'));
  assert.ok(methods.some(([type, method]: string[]) => type === 'Registrant Name' && method === 'emptyValue'));
  assert.deepEqual([cardOf(body, 'registrar').fn, body.entities[1].handle], [registrar.name, '9999']);
});

test('a registrant who has turned privacy off is told, all but an id that tells owners apart', async () => {
  const workspace = await register('public-person.com');
  const { status } = await workspace.patch('/domains/public-person.com/settings', { whois_privacy: false });
  assert.equal(status, 200);
  await workspace.get('/domains/public-person.com');
  const { body } = await look('domain/public-person.com');
  assert.deepEqual(rdapProblems('domain', body), []);
  const card = cardOf(body, 'registrant');
  assert.deepEqual([card.fn, card.tel], ['Kim Example', 'tel:+442071234567']);
  assert.deepEqual(card.adr, ['', '', '1 Mill Lane', 'London', 'Greater London', 'EC1', '']);
  const names = body.redacted.map(({ name }: { name: { type: string } }) => name.type);
  assert.deepEqual(names, ['Registry Registrant ID']);
});

test('a signed name has its DS records, and nothing else of its keys', async () => {
  const workspace = await register('signed-name.com');
  const ds = { keyTag: 12_345, algorithm: 13, digestType: 2, digest: 'AB'.repeat(32) };
  const key = { flags: 257, publicKey: 'AAAA' };
  const updated = await service.registry.update({
    name: 'signed-name.com',
    transactionId: 'rdap-test',
    dsRecords: [{ ...ds, key }],
  });
  assert.equal(updated.kind, 'completed');
  await workspace.get('/domains/signed-name.com');
  const { body } = await look('domain/signed-name.com');
  assert.deepEqual(rdapProblems('domain', body), []);
  assert.deepEqual(body.secureDNS, { delegationSigned: true, dsData: [ds] });
});

test('two terms are told: the registry’s, and what has been paid for', async () => {
  await register('paid-term.com');
  const paid = new Date('2031-05-06T07:08:09Z');
  await service.db.query({
    text: `update domains.domains set billed_until = $2 where name = $1`,
    values: ['paid-term.com', paid],
  });
  const { body } = await look('domain/paid-term.com');
  const dates = Object.fromEntries(
    body.events.map(({ eventAction, eventDate }: Record<string, string>) => [eventAction, eventDate]),
  );
  assert.equal(dates['registrar expiration'], paid.toISOString());
  assert.notEqual(dates.expiration, dates['registrar expiration']);
});

test('with ICANN’s profile, answers about generic names conform to it and say so', async (t) => {
  const own = await startDomains({
    parts: {
      rdap: {
        ...registrar,
        terms_url: 'https://registrar.example/rdap-terms',
        registrant_contact: 'https://registrar.example/write',
        icann_profile: true,
      },
    },
  });
  t.after(() => own.close());
  const claims = (body: ProfileAnswer) => body.rdapConformance.some((one) => one.startsWith('icann_'));
  const workspace = await register('xn--mller-kva.com', own);
  const hidden = (await look('domain/M%C3%BCller.com', own)).body;
  assert.deepEqual(rdapProblems('domain', hidden), []);
  assert.deepEqual(profileProblems(hidden, addressOf('M%C3%BCller.com')), []);
  assert.deepEqual(cardOf(hidden, 'registrant').adr, ['', '', '', '', 'Greater London', '', '']);
  assert.equal(cardOf(hidden, 'registrant')['contact-uri'], 'https://registrar.example/write');
  assert.doesNotMatch(JSON.stringify(hidden), /Kim|Mill Lane|EC1|@example\.com/);
  await workspace.patch('/domains/xn--mller-kva.com/settings', { whois_privacy: false });
  await workspace.get('/domains/xn--mller-kva.com');
  const shown = (await look('domain/xn--mller-kva.com', own)).body;
  assert.deepEqual(rdapProblems('domain', shown), []);
  assert.deepEqual(profileProblems(shown, addressOf('xn--mller-kva.com')), []);

  const bare = await register('no-address.com', own, { country: 'GB' });
  assert.equal(claims((await look('domain/no-address.com', own)).body), true, 'what is private need not be there');
  await bare.patch('/domains/no-address.com/settings', { whois_privacy: false });
  await bare.get('/domains/no-address.com');
  assert.equal(claims((await look('domain/no-address.com', own)).body), false, 'what is public has to be');
  await register('not-of-icann.de', own);
  const national = (await look('domain/not-of-icann.de', own)).body;
  assert.deepEqual(rdapProblems('domain', national), []);
  assert.equal(claims(national), false);
  assert.doesNotMatch(JSON.stringify(national), /wicf|Greater/);
  const help = (await look('help', own)).body;
  assert.deepEqual([rdapProblems('help', help), claims(help)], [[], true]);
  // Without the setting nothing is claimed, and the check that would show it is no formality.
  assert.notDeepEqual(profileProblems((await look('domain/signed-name.com')).body, addressOf('signed-name.com')), []);
});

test('HEAD is answered as GET is (guide 1.6)', async () => {
  for (const [path, status] of [
    ['help', 200],
    ['domain/not-with-us.com', 404],
  ] as const) {
    const response = await fetch(`${service.url}/rdap/${path}`, { method: 'HEAD' });
    assert.deepEqual([response.status, response.headers.get('content-type')], [status, 'application/rdap+json']);
  }
});

test('what is not with us is an error of RDAP, and so is what is no name', async () => {
  for (const [path, status, title] of [
    ['domain/not-with-us.com', 404, 'not_found'],
    ['domain/taken-elsewhere.com', 404, 'not_found'],
    ['domain/no%20name', 400, 'bad_request'],
    ['nameserver/ns1.elsewhere.example', 404, 'not_found'],
    ['entity/1', 404, 'not_found'],
  ] as const) {
    const { body, ...answer } = await look(path);
    assert.deepEqual(rdapProblems('error', body), [], path);
    assert.deepEqual([answer.status, body.errorCode, body.title], [status, status, title], path);
  }
});

test('the registrar, its nameservers and help', async () => {
  for (const [path, kind] of [
    [`nameserver/${NAMESERVERS[0].toUpperCase()}`, 'nameserver'],
    ['entity/9999', 'entity'],
    ['help', 'help'],
  ] as const) {
    const { status, body } = await look(path);
    assert.equal(status, 200, path);
    assert.deepEqual(rdapProblems(kind, body), [], path);
  }
});

test('a server without the setting has no such paths', async (t) => {
  const other = await startDomains();
  t.after(() => other.close());
  assert.equal((await other.anybody.get('/rdap/help')).status, 404);
});
