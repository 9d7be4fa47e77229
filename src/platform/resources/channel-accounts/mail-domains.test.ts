/** Whose a mail domain is: what its DNS says decides, and who was first does not. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { INBOUND_SECRET } from '../../../../test/fakes/mail-world.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';

const PATH = '/v1/tenant/email';
const platform = await startPlatform({ limits: { mailDomainProof: 'dns' } });
after(() => platform.close());
const { mail } = platform;
const { texts } = mail.dns;

type MailBody = ReturnType<typeof mail.bodyOf>;

/** The record that the refusal names. */
async function askForRecord(project: TestProject, body: MailBody): Promise<readonly [name: string, value: string]> {
  const refused = await project.put(PATH, body);
  assertRefusal(refused, 403, 'verification_failed');
  assert.equal(refused.body.error.param, 'domain');
  const [, name = '', value = ''] =
    /TXT record (\S+) with the value "([^"]+)"/.exec(refused.body.error.message) ?? assert.fail(refused.text);
  return [name, value];
}

async function prove(project: TestProject, body: MailBody): Promise<void> {
  const [name, value] = await askForRecord(project, body);
  texts.set(name, value);
  const saved = await project.put(PATH, body);
  assert.equal(saved.status, 200, saved.text);
}

async function makeMailbox(project: TestProject, address: string) {
  const target = { type: 'smith', id: await project.createSmith() };
  const made = await project.post('/v1/deployments', { target, kind: 'email', address });
  assert.equal(made.status, 201, made.text);
  return made.body;
}

async function bring({ projectId }: TestProject, to: string): Promise<number> {
  const raw = await mail.write({ from: 'ada@client.example', to });
  const headers = { 'content-type': 'message/rfc822', 'x-ic-inbound-secret': INBOUND_SECRET };
  const body = new Uint8Array(raw);
  return (await fetch(`${platform.url}/v1/email/inbound/${projectId}`, { method: 'POST', headers, body })).status;
}

test('a domain is saved once its DNS has the record that the refusal names, which stays the same', async () => {
  const project = await platform.createProject();
  const body = mail.bodyOf();
  const [name, value] = await askForRecord(project, body);
  assert.deepEqual(await askForRecord(project, body), [name, value]);
  assert.equal(name, `_ironcraft.${body.domain}`);
  assert.match(value, /^ironcraft-domain=[0-9a-f]{40}$/);
  assert.equal((await project.get(PATH)).body.configured, false);
  const target = { type: 'smith', id: await project.createSmith() };
  const address = `support@${body.domain}`;
  assertRefusal(await project.post('/v1/deployments', { target, kind: 'email', address }), 422, 'email_unconfigured');
  for (const wrong of [value.slice(0, -1), `${value}0`, value.toUpperCase(), `x ${value}`]) {
    texts.set(name, wrong);
    await askForRecord(project, body);
  }
  texts.set(name, value);
  const saved = await project.put(PATH, body);
  assert.deepEqual(saved.body.dns_records[0], { type: 'TXT', name, value }, saved.text);
  const shown = await project.get(PATH);
  assert.deepEqual(shown.body.dns_records, saved.body.dns_records);
  texts.delete(name);
  await askForRecord(project, body);
  assert.equal((await project.get(PATH)).body.configured, true, 'what was saved stays');
});

test('a record is of one project and one domain', async () => {
  const [one, other] = [await platform.createProject(), await platform.createProject()];
  const [body, second] = [mail.bodyOf(), mail.bodyOf()];
  const [name, value] = await askForRecord(one, body);
  const others = await askForRecord(other, body);
  assert.deepEqual([others[0], others[1] === value], [name, false]);
  assert.notEqual((await askForRecord(one, second))[1], value);
  texts.set(name, value);
  await askForRecord(other, body);
});

test('while the DNS is silent nothing is saved, and nobody loses a domain', async () => {
  const [project, other] = [await platform.createProject(), await platform.createProject()];
  const body = mail.bodyOf();
  await prove(project, body);
  mail.dns.broken.add(body.domain);
  for (const asking of [project, other]) {
    const refused = await asking.put(PATH, body);
    assertRefusal(refused, 403, 'verification_failed');
    assert.match(refused.body.error.message, /gives no answer/);
  }
  mail.dns.broken.delete(body.domain);
  assert.equal((await project.put(PATH, body)).status, 200);
});

test('who shows a domain has it, whoever saved it first, and mail goes there', async () => {
  const [first, second] = [await platform.createProject(), await platform.createProject()];
  const body = mail.bodyOf();
  await prove(first, body);
  const address = `support@${body.domain}`;
  const lost = await makeMailbox(first, address);
  assert.equal(await bring(first, address), 204);
  const [name, value] = await askForRecord(second, body);
  const own = texts.get(name) ?? '';
  texts.set(name, `${own}\n${value}`);
  assertRefusal(await second.put(PATH, body), 409, 'address_in_use');
  texts.set(name, value);
  assert.equal((await second.put(PATH, body)).status, 200);
  assert.equal((await first.get(PATH)).body.configured, false);
  assert.equal((await first.get(`/v1/deployments/${lost.id}`)).body.status, 'disconnected');
  assert.equal(await bring(first, address), 401);
  await makeMailbox(second, address);
  assert.equal(await bring(second, address), 204);
});
