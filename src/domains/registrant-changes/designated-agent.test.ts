/** The registrar consents to changes of a registrant who has authorized it, at a registry over EPP. */
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { startDomains, type TestWorkspace } from '../../../test/support/domains.ts';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { refusal } from '../../../test/support/orders.ts';
import { pricesWithConsent } from '../../../test/support/prices.ts';
import { done } from '../../../test/support/simulated-registry.ts';
import { eventually } from '../../../test/support/turns.ts';
import type { Message } from '../mail/index.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const ASK = 'May we consent to changes of the holder of your domains?';
const CONSENT = 'Please consent to the change of the holder of domains';
const CHANGED = 'The holder of domains has changed';

const outbox: Message[] = [];
const mailer = { send: async (message: Message) => void outbox.push(message) };
const service = await startDomainsOverEpp({ mailer, prices: pricesWithConsent({ com: 60, ai: 30 }, ['com']) });
const { anybody, domains, epp, owner } = service;
after(() => service.close());
afterEach(() => service.letNamesGo());

const emailOf = ({ userId }: TestWorkspace) => `${userId}@example.com`;
const mailsTo = (to: string, subject: string) =>
  outbox.filter((mail) => mail.to.toLowerCase() === to && mail.subject === subject);
const agentOf = async (workspace: TestWorkspace) => (await workspace.get('/registrant')).body.designated_agent;
const ask = (workspace: TestWorkspace) => workspace.post('/registrant/designated-agent');
const give = (code: string) => anybody.post('/registrant/designated-agent/complete', { code });
const now = () => epp.clock.now().toISOString();

async function codeTo(to: string, number = 1): Promise<string> {
  const { text } = await eventually(() => mailsTo(to, ASK)[number - 1], `message ${number} to ${to}`);
  return /^http\S+\/api\/v1\/designated-agent#(\S+)$/m.exec(text)?.[1] ?? assert.fail(text);
}

/** Who has authorized it. */
async function authorized(...names: readonly string[]): Promise<TestWorkspace> {
  const workspace = await owner(...names);
  assert.equal((await ask(workspace)).status, 202);
  const given = await give(await codeTo(emailOf(workspace)));
  assert.deepEqual([given.status, given.body], [200, { status: 'Given' }], given.text);
  return workspace;
}

async function holderOf(name: string) {
  await domains.resendChanges();
  const { registrant } = done(await epp.core.infoDomain(epp.ours, { name }));
  return done(await epp.core.infoContact(epp.ours, { id: registrant })).postalInfo[0]?.name;
}
const eventsOf = async (workspace: TestWorkspace) =>
  (await workspace.get('/events')).body.events as { type: string; data: Record<string, unknown> }[];

test('it is given by the link alone, dated, and what changes then waits for no mail, is told by one, and locks', async () => {
  const workspace = await owner('given.com');
  const nothing = { state: 'none', asked_at: null, given_at: null, withdrawn_at: null };
  assert.deepEqual(await agentOf(workspace), { offered: true, ...nothing });
  const asked = await ask(workspace);
  const askedAt = now();
  assert.deepEqual(asked.body.designated_agent, { offered: true, ...nothing, state: 'asked', asked_at: askedAt });
  const code = await codeTo(emailOf(workspace));
  assert.equal((await fetch(`${service.url}/designated-agent#${code}`)).status, 200);
  assert.equal((await agentOf(workspace)).state, 'asked', 'opening the page gives nothing');
  const early = await workspace.patch('/registrant', { name: 'Too Early' });
  assert.equal(early.body.change.name, 'Too Early');

  epp.clock.advance(HOUR_MS);
  assert.deepEqual((await give(code)).body, { status: 'Given' });
  assert.deepEqual(refusal(await give(code)), [401, 'invalid_token']);
  assert.deepEqual(
    [(await agentOf(workspace)).state, (await agentOf(workspace)).given_at, (await ask(workspace)).status],
    ['given', now(), 202],
  );

  const contact = { organization: 'Navy', city: 'Arlington' };
  const changed = await workspace.patch('/registrant', { name: 'Grace Hopper', contact });
  assert.deepEqual([changed.status, changed.body.name, changed.body.change], [200, 'Grace Hopper', null], changed.text);
  assert.deepEqual([changed.body.contact.organization, changed.body.contact.city], ['Navy', 'Arlington']);
  const notice = await eventually(() => mailsTo(emailOf(workspace), CHANGED)[0], 'the notice');
  assert.match(notice.text, /until now {2}Test \([\s\S]*then {7}Grace Hopper, Navy \(/);
  assert.match(notice.text, /some weeks afterwards[\s\S]*designated agent[\s\S]*DELETE \/registrant\/designated-agent/);
  assert.equal(await holderOf('given.com'), 'Grace Hopper');
  const shown = (await workspace.get('/domains/given.com')).body;
  const until = new Date(epp.clock.now().getTime() + 60 * DAY_MS).toISOString();
  assert.deepEqual([shown.transfer_locked_until, shown.registrar_lock], [until, true]);
  const told = (await eventsOf(workspace)).filter(({ type }) => /^registrant\.(agent|changed)/.test(type));
  assert.deepEqual(
    told.map(({ type, data }) => [type, data.consented_by]),
    [
      ['registrant.changed', 'designated_agent'],
      ['registrant.agent_authorized', undefined],
    ],
  );
  assert.equal(mailsTo(emailOf(workspace), ASK).length, 1, 'who has authorized it is not asked again');
});

test('another address takes the consent of both by mail all the same, and ends the authorization', async () => {
  const workspace = await authorized('readdressed.com');
  const next = `next-${emailOf(workspace)}`;
  const { body } = await workspace.patch('/registrant', { email: next });
  assert.deepEqual([body.email, body.change.email], [emailOf(workspace), next]);
  for (const to of [emailOf(workspace), next]) {
    const { text } = await eventually(() => mailsTo(to, CONSENT)[0], `the consent of ${to}`);
    await anybody.post('/registrant/change/consent', { code: /consent#(\S+)$/m.exec(text)?.[1] });
  }
  assert.deepEqual([(await workspace.get('/registrant')).body.email, (await agentOf(workspace)).state], [next, 'none']);
  const { change } = (await workspace.patch('/registrant', { name: 'Somebody Else' })).body;
  assert.equal(change.name, 'Somebody Else');
});

test('withdrawn, or where a TLD of the names does not let it, changes wait for mails as before', async () => {
  const workspace = await authorized('mixed.com');
  const other = await workspace.post('/domains', { domain: 'mixed.ai', duration: 2, confirm_price: 159.8 });
  assert.equal(other.status, 201, other.text);
  const waits = async (name: string) => (await workspace.patch('/registrant', { name })).body.change?.name === name;
  assert.equal(await waits('One'), true, 'ai does not let it');
  await workspace.delete('/registrant/change');

  const alone = await authorized('alone.com');
  const { body, status } = await alone.delete('/registrant/designated-agent');
  const { state, withdrawn_at } = body.designated_agent;
  assert.deepEqual([status, state, withdrawn_at], [200, 'withdrawn', now()]);
  assert.equal((await alone.patch('/registrant', { name: 'Two' })).body.change.name, 'Two');
  const types = (await eventsOf(alone)).map(({ type }) => type);
  assert.ok(types.includes('registrant.agent_withdrawn'));
  // It can be given anew.
  await ask(alone);
  assert.equal((await agentOf(alone)).state, 'asked');
  assert.equal((await give(await codeTo(emailOf(alone), 2))).status, 200);
  assert.equal((await alone.patch('/registrant', { name: 'Three' })).body.name, 'Three');
});

test('a link that was withdrawn or is too old gives nothing, and neither does one that nobody has sent', async () => {
  const withdrawn = await owner('unasked.com');
  await ask(withdrawn);
  const code = await codeTo(emailOf(withdrawn));
  await withdrawn.delete('/registrant/designated-agent');
  const late = await owner('late.com');
  await ask(late);
  const lateCode = await codeTo(emailOf(late));
  epp.clock.advance(14 * DAY_MS);
  for (const wrong of [code, lateCode, 'unknown']) {
    assert.deepEqual(refusal(await give(wrong)), [401, 'invalid_token']);
  }
  assert.equal((await agentOf(late)).state, 'none');
});

test('messages are limited: those that are asked for, and the notices of changes', async () => {
  const workspace = await owner('often.com');
  for (let count = 0; count < 5; count += 1) assert.equal((await ask(workspace)).status, 202);
  const more = await ask(workspace);
  assert.deepEqual(refusal(more), [429, 'rate_limit_exceeded']);
  assert.equal(more.headers.get('retry-after'), '3600');

  const changing = await authorized('changing.com');
  const names = Array.from({ length: 5 }, (_, index) => `Number ${index}`);
  const answers: number[] = [];
  for (const name of names) answers.push((await changing.patch('/registrant', { name })).status);
  assert.deepEqual(answers, [200, 200, 200, 200, 429]);
  assert.equal((await changing.get('/registrant')).body.name, 'Number 3');
});

test('it is offered by the setting of a TLD alone', async () => {
  // Its TLDs have no such setting.
  const plain = await startDomains();
  try {
    const workspace = await plain.createWorkspace();
    assert.equal((await agentOf(workspace)).offered, false);
    assert.deepEqual(refusal(await ask(workspace)), [400, 'bad_request']);
  } finally {
    await plain.close();
  }
});
