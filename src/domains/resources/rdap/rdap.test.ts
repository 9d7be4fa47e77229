import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { NAMESERVERS, startDomains } from '../../../../test/support/domains.ts';
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

async function look(path: string) {
  const { status, headers, body } = await service.anybody.get(`/rdap/${path}`);
  assert.equal(headers.get('content-type'), 'application/rdap+json');
  assert.equal(headers.get('access-control-allow-origin'), '*');
  return { status, headers, body };
}

async function register(name: string) {
  const workspace = await service.createWorkspace();
  await workspace.fund(100_000);
  const contact = { street: '1 Mill Lane', city: 'London', postal_code: 'EC1', country: 'GB', phone: '+44.2071234567' };
  await workspace.patch('/registrant', { name: 'Kim Example', contact });
  const { status, text } = await workspace.post('/domains', { domain: name, confirm_price: 11.9 });
  assert.equal(status, 201, text);
  return workspace;
}

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
  assert.ok(methods.some(([type, method]: string[]) => type === 'Registrant Email' && method === 'removal'));
  assert.ok(methods.some(([type, method]: string[]) => type === 'Registrant Name' && method === 'emptyValue'));
  assert.deepEqual([cardOf(body, 'registrar').fn, body.entities[1].handle], [registrar.name, '9999']);
});

test('a registrant who has turned privacy off is told, and nothing is said to be redacted', async () => {
  const workspace = await register('public-person.com');
  const { status } = await workspace.patch('/domains/public-person.com/settings', { whois_privacy: false });
  assert.equal(status, 200);
  await workspace.get('/domains/public-person.com');
  const { body } = await look('domain/public-person.com');
  assert.deepEqual(rdapProblems('domain', body), []);
  const card = cardOf(body, 'registrant');
  assert.deepEqual([card.fn, card.tel], ['Kim Example', 'tel:+442071234567']);
  assert.deepEqual(card.adr, ['', '', '1 Mill Lane', 'London', '', 'EC1', '']);
  assert.equal(body.redacted, undefined);
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
