import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { INBOUND_SECRET, type WrittenMail } from '../../../../test/fakes/mail-world.ts';
import type { ReceivedMessage } from '../../../../test/fakes/smtp-server.ts';
import { type Answer, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';

const platform = await startPlatform();
after(() => platform.close());
const { mail } = platform;

interface Place {
  readonly project: TestProject;
  readonly domain: string;
  readonly smithId: string;
}

let people = 0;

/** Nobody has written from it before; its domain is of its own. */
function newPerson(): string {
  people += 1;
  return `ada@person${people}.example`;
}

async function makePlace(): Promise<Place> {
  const project = await platform.createProject();
  const body = mail.bodyOf();
  const saved = await project.put('/v1/tenant/email', body);
  assert.equal(saved.status, 200, saved.text);
  return { project, domain: body.domain, smithId: await project.createSmith() };
}

async function deploy({ project, smithId }: Place, body: object) {
  const target = { type: 'smith', id: smithId };
  const answer = await project.post('/v1/deployments', { target, kind: 'email', ...body });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

async function makeAgent({ project }: Place): Promise<object> {
  const agent = (await project.post('/v1/agents', { name: 'Helper', model: 'builtin/demo' })).body;
  assert.equal((await project.post(`/v1/agents/${agent.id}/versions`, {})).status, 201);
  return { type: 'agent', id: agent.id };
}

async function post({ project }: Pick<Place, 'project'>, raw: Buffer, secret = INBOUND_SECRET): Promise<Answer> {
  const response = await fetch(`${platform.url}/v1/email/inbound/${project.projectId}`, {
    method: 'POST',
    headers: { 'content-type': 'message/rfc822', 'x-ic-inbound-secret': secret },
    body: new Uint8Array(raw),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) };
}

async function deliver(place: Place, written: WrittenMail): Promise<void> {
  const answer = await post(place, await mail.write(written));
  assert.equal(answer.status, 204, answer.text);
}

async function answered(person: string, count = 1): Promise<readonly ReceivedMessage[]> {
  return eventually(
    () => (mail.sentTo(person).length >= count ? mail.sentTo(person) : undefined),
    `${count} answers to ${person}`,
  );
}

function headerOf({ content }: ReceivedMessage, name: string): string {
  const unfolded = content.slice(0, content.indexOf('\r\n\r\n')).replaceAll(/\r\n[ \t]+/g, ' ');
  return new RegExp(`^${name}: (.*)$`, 'im').exec(unfolded)?.[1] ?? '';
}

async function eventsOf({ project }: Place) {
  return (await project.get('/v1/inbound_events?source=email')).body.data;
}

test('a signed mail is answered once in its thread, however often it is delivered', async () => {
  const place = await makePlace();
  const person = newPerson();
  const mailbox = `support@${place.domain}`;
  await deploy(place, { address: mailbox, provider_metadata: { display_name: 'Support' } });
  const first = { from: `Ada <${person}>`, to: mailbox, text: 'Write 3 words', messageId: '<first@client.example>' };
  await Promise.all([deliver(place, first), deliver(place, first)]);
  const [answer] = await answered(person);
  assert.ok(answer);
  assert.equal(answer.from, mailbox);
  assert.deepEqual(answer.login, { user: 'us', password: 'sesame' });
  assert.match(headerOf(answer, 'From'), new RegExp(`^"?Support"? <${mailbox}>$`));
  assert.equal(headerOf(answer, 'Subject'), 'Re: A question');
  assert.equal(headerOf(answer, 'In-Reply-To'), '<first@client.example>');
  assert.equal(headerOf(answer, 'References'), '<first@client.example>');
  assert.equal(headerOf(answer, 'Auto-Submitted'), 'auto-replied');
  assert.match(headerOf(answer, 'DKIM-Signature'), new RegExp(`d=${place.domain}; .*s=ironcraft`));
  assert.match(answer.content, /Content-Type: text\/plain/);
  assert.match(answer.content, /Content-Type: text\/html/);

  const own = headerOf(answer, 'Message-ID');
  assert.ok(own.endsWith(`@${place.domain}>`), own);
  const quoted = 'Write 2 words\r\n\r\nOn Mon, 23 Nov 2026 at 12:00, Support wrote:\r\n> one two three\r\n';
  await deliver(place, {
    ...first,
    text: quoted,
    subject: 'Re: A question',
    messageId: '<second@client.example>',
    headers: { 'In-Reply-To': own },
  });
  const [, second] = await answered(person, 2);
  assert.ok(second);
  assert.equal(headerOf(second, 'Subject'), 'Re: A question');
  const events = await eventsOf(place);
  assert.deepEqual(
    events.map(({ type, smith_id }: { type: string; smith_id: string }) => [type, smith_id]),
    [
      ['message', place.smithId],
      ['message', place.smithId],
    ],
  );
  const runs = (await place.project.get(`/v1/smiths/${place.smithId}/runs`)).body.data;
  assert.equal(runs.length, 2);
  assert.equal(runs[0].thread_id, runs[1].thread_id, 'who answers goes on in the same thread');
  await deliver(place, { ...first, subject: 'Another', messageId: '<third@client.example>' });
  await answered(person, 3);
  const [third] = (await place.project.get(`/v1/smiths/${place.smithId}/runs`)).body.data;
  assert.notEqual(third.thread_id, runs[0].thread_id);
});

test('what the domain in From has not signed is noted and begins no turn', async () => {
  const place = await makePlace();
  const mailbox = `support@${place.domain}`;
  await deploy(place, { address: mailbox });
  const person = newPerson();
  const written = { from: person, to: mailbox, text: 'Write 3 words' };
  await deliver(place, { ...written, signedBy: null });
  await deliver(place, { ...written, signedBy: 'attacker.example' });
  const altered = (await mail.write(written)).toString().replace('Write 3 words', 'Write 4 words');
  assert.equal((await post(place, Buffer.from(altered))).status, 204);
  const signed = (await mail.write(written)).toString();
  const two = signed.replace('\r\nFrom: ', `\r\nFrom: boss@${place.domain}\r\nFrom: `);
  assert.equal((await post(place, Buffer.from(two))).status, 204);
  // A policy that wants the very domain is heeded.
  mail.dns.texts.set(`_dmarc.strict.${person.split('@')[1]}`, 'v=DMARC1; p=reject; adkim=s');
  const strict = `ada@strict.${person.split('@')[1]}`;
  await deliver(place, { ...written, from: strict, signedBy: person.split('@')[1] ?? '' });
  const events = await eventsOf(place);
  assert.equal(events.length, 5);
  for (const { type, data, smith_id } of events) {
    assert.deepEqual([type, data.authentication.result, smith_id], ['unauthenticated', 'fail', place.smithId]);
  }
  assert.equal((await place.project.get(`/v1/smiths/${place.smithId}/runs`)).body.data.length, 0);
  // Nor does it keep out what is signed.
  const same = { ...written, messageId: '<same@client.example>' };
  await deliver(place, { ...same, signedBy: null });
  await deliver(place, same);
  await answered(person);
});

test('while the DNS does not answer, the mail is to be brought again', async () => {
  const place = await makePlace();
  const mailbox = `support@${place.domain}`;
  await deploy(place, { address: mailbox });
  const person = newPerson();
  const domain = person.split('@')[1] ?? '';
  const raw = await mail.write({ from: person, to: mailbox });
  mail.dns.broken.add(domain);
  assertRefusal(await post(place, raw), 503, 'service_overloaded');
  mail.dns.broken.delete(domain);
  assert.equal((await post(place, raw)).status, 204);
  await answered(person);
});

test('a smith’s mailbox obeys its owner alone, an agent’s everybody', async () => {
  const place = await makePlace();
  const [owner, other] = [newPerson(), newPerson()];
  const own = await deploy(place, { setup: { display_name: 'Bob’s Helper', owner_email: owner } });
  assert.equal(own.status, 'active');
  assert.equal(own.address, `bob-s-helper@${place.domain}`);
  assert.equal(own.start_token, undefined);
  await deliver(place, { from: other, to: own.address });
  // A mail of the owner's to somebody else, whom nothing keeps from sending it on.
  await deliver(place, { from: owner, to: other, headers: { 'Delivered-To': own.address } });
  await deliver(place, { from: owner.toUpperCase(), to: own.address, text: 'Write 2 words' });
  await answered(owner);
  assert.deepEqual(
    (await eventsOf(place)).map(({ type }: { type: string }) => type),
    ['message', 'unbound_message', 'unbound_message'],
  );
  const patched = await place.project.patch(`/v1/deployments/${own.id}`, { owner_email: other, display_name: 'Eve' });
  assert.deepEqual(patched.body.provider_metadata, { display_name: 'Eve', owner_email: other });
  await deliver(place, { from: other, to: own.address });
  const [answer] = await answered(other);
  assert.match(answer?.content ?? '', /^From: "?Eve"? </m);

  const target = await makeAgent(place);
  const all = await deploy(place, { target, address: `All@${place.domain}` });
  const [first, second] = [newPerson(), newPerson()];
  await deliver(place, { from: first, to: `all+tag@${place.domain}` });
  await deliver(place, { from: second, to: `x@elsewhere.example`, headers: { Cc: `all@${place.domain}` } });
  await Promise.all([answered(first), answered(second)]);
  for (const person of [first, second]) {
    const query = `external_id=${encodeURIComponent(`email:${person}`)}`;
    assert.equal((await place.project.get(`/v1/smiths?${query}`)).body.data.length, 1);
  }
  const owned = await place.project.patch(`/v1/deployments/${all.id}`, { owner_email: first });
  assertRefusal(owned, 422, 'nothing_to_update');
  assert.equal((await place.project.delete(`/v1/deployments/${all.id}`)).status, 204);
  await deliver(place, { from: first, to: `all@${place.domain}` });
  const [last] = await eventsOf(place);
  assert.deepEqual([last.type, last.smith_id], ['unbound_message', null]);
});

test('automatic mail is noted and gets no answer, so two machines do not write to each other', async () => {
  const place = await makePlace();
  const mailbox = `support@${place.domain}`;
  await deploy(place, { address: mailbox });
  const person = newPerson();
  const automatic: Record<string, string>[] = [
    { 'Auto-Submitted': 'auto-replied' },
    { Precedence: 'bulk' },
    { 'List-Id': '<all.example>' },
    { 'Return-Path': '<>' },
  ];
  for (const headers of automatic) await deliver(place, { from: person, to: mailbox, headers });
  await deliver(place, { from: `mailer-daemon@${person.split('@')[1]}`, to: mailbox });
  const events = await eventsOf(place);
  assert.deepEqual(new Set(events.map(({ type }: { type: string }) => type)), new Set(['automatic']));
  assert.equal(events.length, 5);
  await deliver(place, { from: person, to: mailbox, headers: { 'Auto-Submitted': 'no' } });
  const [answer] = await answered(person);
  assert.ok(answer);
  // What another of ours would make of the answer: it is signed, too.
  const key = (await place.project.get('/v1/tenant/email')).body.dns_records[0];
  mail.dns.texts.set(key.name, key.value);
  const back = answer.content.replace(/^To: .*$/m, `To: ${mailbox}`);
  assert.equal((await post(place, Buffer.from(back))).status, 204);
  assert.equal((await eventsOf(place))[0].type, 'automatic');
  assert.equal(mail.sentTo(person).length, 1);
});

async function suppressed({ project }: Place) {
  const { data } = (await project.get('/v1/tenant/email/suppressions')).body;
  return data.map(({ address, reason }: { address: string; reason: string }) => [address, reason]);
}

async function failuresOf({ project }: Place) {
  const { data } = (await project.get('/v1/events?type=email.send_failed')).body;
  return data.map((event: { data: object }) => event.data);
}

test('an address that the server does not know, or that is suppressed, gets no more mail', async () => {
  const place = await makePlace();
  const mailbox = `support@${place.domain}`;
  const { id } = await deploy(place, { address: mailbox });
  const [gone, muted] = [newPerson(), newPerson()];
  mail.smtp.fail('refuse recipient');
  await deliver(place, { from: gone, to: mailbox });
  const [first] = await eventually(async () => {
    const found = await failuresOf(place);
    return found.length > 0 ? found : undefined;
  }, 'the failure');
  assert.deepEqual(first, { channel_id: id, to: gone, detail: 'The mail server: 550 no such mailbox' });
  assert.deepEqual(await suppressed(place), [[gone, 'bounce: The mail server: 550 no such mailbox']]);
  await deliver(place, { from: gone, to: mailbox });
  await eventually(async () => ((await failuresOf(place)).length === 2 ? true : undefined), 'the second failure');
  assert.equal(mail.sentTo(gone).length, 0);
  assert.match((await place.project.get('/v1/tenant/email')).body.last_error.message, /gets no mail: bounce/);

  const path = '/v1/tenant/email/suppressions';
  const made = await place.project.post(path, { address: muted.toUpperCase(), reason: 'asked' });
  assert.deepEqual([made.status, made.body.address, made.body.reason], [201, muted, 'asked'], made.text);
  assert.equal((await place.project.post(path, { address: muted })).body.id, made.body.id);
  assert.equal((await place.project.delete(`${path}?address=${encodeURIComponent(muted)}`)).status, 204);
  assertRefusal(await place.project.delete(`${path}?address=${muted}`), 404, 'not_found');
  assertRefusal(await place.project.delete(path), 422, 'invalid_address');
  for (const address of ['nobody', 'a@b', 'a b@c.example', '']) {
    assertRefusal(await place.project.post(path, { address }), 422, 'invalid_address');
  }
  await deliver(place, { from: muted, to: mailbox });
  await answered(muted);
});

test('what is refused for now is sent again, with the same Message-ID where it may have arrived', async () => {
  const place = await makePlace();
  const mailbox = `support@${place.domain}`;
  await deploy(place, { address: mailbox });
  const [one, other] = [newPerson(), newPerson()];
  mail.smtp.fail('later');
  await deliver(place, { from: one, to: mailbox });
  await answered(one);
  mail.smtp.fail('cut');
  await deliver(place, { from: other, to: mailbox });
  await answered(other);
  const ids = mail.smtp.cut.map((message) => headerOf(message, 'Message-ID'));
  assert.ok(ids.includes(headerOf(mail.sentTo(other)[0] as ReceivedMessage, 'Message-ID')));
  assert.deepEqual([await suppressed(place), await failuresOf(place)], [[], []]);
});

test('a bounce or a complaint of a mail that was sent suppresses whom it was sent to, and no other', async () => {
  const place = await makePlace();
  const mailbox = `support@${place.domain}`;
  const { id } = await deploy(place, { address: mailbox });
  const person = newPerson();
  await deliver(place, { from: person, to: mailbox });
  const [answer] = await answered(person);
  const own = headerOf(answer as ReceivedMessage, 'Message-ID');
  const report = (about: string, address: string, kind = 'delivery-status') => ({
    from: 'mailer-daemon@mx.example',
    to: mailbox,
    signedBy: null,
    content: [
      `Content-Type: multipart/report; report-type=${kind}; boundary=b\r\n\r\n--b\r\n\r\nSorry`,
      `--b\r\nContent-Type: message/${kind === 'delivery-status' ? kind : 'feedback-report'}\r\n`,
      kind === 'delivery-status'
        ? `Reporting-MTA: dns; mx.example\r\n\r\nFinal-Recipient: rfc822; ${address}\r\nAction: failed\r\nStatus: 5.1.1`
        : `Feedback-Type: abuse\r\nOriginal-Rcpt-To: ${address}`,
      `--b\r\nContent-Type: text/rfc822-headers\r\n\r\nMessage-ID: ${about}\r\n\r\n--b--\r\n`,
    ].join('\r\n'),
  });
  // Of mails that were not sent: anybody could write these.
  await deliver(place, report('<made-up@client.example>', person));
  await deliver(place, report(own.replace('.ans_', '.ans_0'), person));
  assert.deepEqual(await suppressed(place), []);
  await deliver(place, report(own, 'somebody.else@example.com'));
  await deliver(place, report(own, person));
  await deliver(place, report(own, person, 'feedback-report'));
  const [[address, reason]] = await suppressed(place);
  assert.deepEqual([address, reason], [person, 'complaint: abuse']);
  assert.equal((await suppressed(place)).length, 1);
  assert.deepEqual(await failuresOf(place), [{ channel_id: id, to: person, detail: '5.1.1' }]);
  const types = (await eventsOf(place)).map(({ type }: { type: string }) => type);
  assert.deepEqual(types, ['complaint', 'bounce', 'bounce', 'bounce', 'bounce', 'message']);
});

test('a machine that does not say that it is one gets no more than thirty answers an hour', async () => {
  const place = await makePlace();
  const mailbox = `support@${place.domain}`;
  const { id } = await deploy(place, { address: mailbox });
  const person = newPerson();
  await deliver(place, { from: person, to: mailbox });
  await answered(person);
  await platform.db.query({
    text: 'update email_senders set mails = 30 where project_id = $1 and deployment_id = $2',
    values: [place.project.projectId, id],
  });
  await deliver(place, { from: person, to: mailbox });
  assert.equal((await eventsOf(place))[0].type, 'automatic');
  await platform.db.query({
    text: `update email_senders set hour = hour - interval '1 hour' where project_id = $1`,
    values: [place.project.projectId],
  });
  await deliver(place, { from: person, to: mailbox });
  await answered(person, 2);
});

test('files come with mail, and with its turn', async () => {
  const place = await makePlace();
  const mailbox = `support@${place.domain}`;
  await deploy(place, { address: mailbox });
  const person = newPerson();
  const content = [
    'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>See the <b>file</b></p>\r\n',
    '--b\r\nContent-Type: text/plain; name="=?utf-8?B?w6QudHh0?="\r\nContent-Disposition: attachment\r\n',
    'Content-Transfer-Encoding: base64\r\n\r\nYSBmaWxl\r\n--b--\r\n',
  ].join('');
  await deliver(place, { from: person, to: mailbox, content });
  await answered(person);
  const [run] = (await place.project.get(`/v1/smiths/${place.smithId}/runs`)).body.data;
  const [input] = (await place.project.get(`/v1/smiths/${place.smithId}/threads/${run.thread_id}`)).body.messages ?? [];
  assert.match(JSON.stringify(input ?? run), /file_/);
  const [event] = await eventsOf(place);
  assert.deepEqual(event.data.attachments, [{ filename: 'ä.txt', media_type: 'text/plain', bytes: 6 }]);
});

test('nobody but who knows the secret brings mail, and an unknown project is no other', async () => {
  const place = await makePlace();
  const raw = await mail.write({ from: newPerson(), to: `support@${place.domain}` });
  for (const secret of ['', 'another', `${INBOUND_SECRET}x`, INBOUND_SECRET.toUpperCase()]) {
    assertRefusal(await post(place, raw, secret), 401, 'bad_inbound_secret');
  }
  const project = { ...place.project, projectId: 'proj_unknown' };
  const unknown = await post({ project }, raw);
  assertRefusal(unknown, 401, 'bad_inbound_secret');
  const { inbound_secret: _, ...without } = mail.bodyOf(place.domain);
  assert.equal((await place.project.put('/v1/tenant/email', without)).body.webhook_url, null);
  assertRefusal(await post(place, raw), 401, 'bad_inbound_secret');
  assertRefusal(await post(place, raw, ''), 401, 'bad_inbound_secret');
});

test('mail that cannot be read is refused, and what is no UTF-8 is read', async () => {
  const place = await makePlace();
  const mailbox = `support@${place.domain}`;
  await deploy(place, { address: mailbox });
  const person = newPerson();
  const depth = 200;
  const bomb = Array.from(
    { length: depth },
    (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
  );
  const nested = await mail.write({ from: person, to: mailbox, content: bomb.join('') });
  assertRefusal(await post(place, nested), 422, 'bad_webhook');
  for (const bytes of [Buffer.from([0xff, 0xfe, 0, 0, 0xc0]), Buffer.alloc(0), Buffer.from('no header at all')]) {
    assert.equal((await post(place, bytes)).status, 204);
  }
  const strange = Buffer.concat([
    await mail.write({ from: person, to: mailbox, signedBy: null }),
    Buffer.from([0xff, 0, 0xc3]),
  ]);
  assert.equal((await post(place, strange)).status, 204);
  const [event] = await eventsOf(place);
  assert.equal(event.type, 'unauthenticated');
});
