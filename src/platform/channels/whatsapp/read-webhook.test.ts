import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeOf, textFrom } from '../../../../test/fakes/whatsapp-graph.ts';
import { addressOfNumber, recipientOf } from './address.ts';
import { findNumberIds, readWebhook } from './read-webhook.ts';

const number = { phone_number_id: '106540352242922', business_account_id: '102290129340398' };
const OWN = new Set([number.phone_number_id]);

function readValue(value: object, ids: ReadonlySet<string> = OWN) {
  const body = { object: 'whatsapp_business_account', entry: [changeOf(number, value)] };
  return readWebhook(body, ids).get(number.phone_number_id)?.messages ?? [];
}

function readMessage(message: object, contact: object = { wa_id: '4915112345678' }) {
  return readValue({ contacts: [contact], messages: [{ id: 'wamid.A', ...message }] });
}

test('a text is a message of whoever wrote it', () => {
  const value = textFrom('4915112345678', 'Hello');
  const [message] = readValue(value);
  assert.deepEqual(message, {
    idempotencyKey: value.messages[0].id,
    type: 'message',
    sender: '+4915112345678',
    chat: '4915112345678',
    subject: 'Ada (+4915112345678)',
    text: 'Hello',
    attachments: [],
    reply: value.messages[0].id,
    data: {
      message: value.messages[0],
      contact: value.contacts[0],
      metadata: { display_phone_number: '15557838881', phone_number_id: number.phone_number_id },
    },
  });
});

test('somebody without a number is known by their id, and answered there', () => {
  const [message] = readMessage(
    { from_user_id: 'DE.13491208655302741918', type: 'text', text: { body: 'Hi' } },
    { profile: { name: 'Ada', username: 'ada' }, user_id: 'DE.13491208655302741918' },
  );
  assert.deepEqual([message?.sender, message?.chat], ['DE.13491208655302741918', 'DE.13491208655302741918']);
  assert.deepEqual(recipientOf(message?.chat ?? ''), { recipient: 'DE.13491208655302741918' });
  assert.deepEqual(recipientOf('4915112345678'), { to: '4915112345678' });
});

test('with both, the number counts', () => {
  const [message] = readMessage({ from: '4915112345678', from_user_id: 'DE.1', type: 'text', text: { body: 'Hi' } });
  assert.deepEqual([message?.sender, message?.chat], ['+4915112345678', '4915112345678']);
});

test('a Brazilian number without its ninth digit is the number with it, and is answered as it came', () => {
  const [message] = readMessage(
    { from: '551187654321', type: 'text', text: { body: 'Oi' } },
    { wa_id: '551187654321' },
  );
  assert.deepEqual([message?.sender, message?.chat], ['+5511987654321', '551187654321']);
  const unchanged = ['5511987654321', '551132654321', '4915112345678', '15551234567'];
  for (const digits of unchanged) assert.equal(addressOfNumber(digits), `+${digits}`);
});

test('files come with their captions, and without addresses that open them', () => {
  const image = {
    id: '1234567890',
    mime_type: 'image/jpeg',
    sha256: 'x',
    caption: 'My cat',
    url: 'https://lookaside.fbsbx.com/?hash=secret',
  };
  const [message] = readMessage({ from: '4915112345678', type: 'image', image });
  assert.equal(message?.text, 'My cat');
  assert.deepEqual(message?.attachments, [
    { ref: '1234567890', filename: 'image.jpg', mediaType: 'image/jpeg', bytes: undefined },
  ]);
  assert.ok(!JSON.stringify(message?.data).includes('secret'));
  const voice = { id: '2', mime_type: 'audio/ogg; codecs=opus', voice: true };
  assert.deepEqual(readMessage({ from: '4915112345678', type: 'audio', audio: voice })[0]?.attachments[0], {
    ...{ ref: '2', filename: 'audio.ogg', mediaType: 'audio/ogg', bytes: undefined },
  });
});

test('what is no text is told in words', () => {
  const from = '4915112345678';
  const said = (message: object) => readMessage({ from, ...message })[0]?.text;
  assert.equal(said({ type: 'button', button: { text: 'Yes', payload: 'x' } }), 'Yes');
  const button_reply = { id: 'Tell me more about it', title: 'Tell me more about…' };
  assert.equal(
    said({ type: 'interactive', interactive: { type: 'button_reply', button_reply } }),
    'Tell me more about it',
  );
  const location = { latitude: 52.5, longitude: 13.4, name: 'Alexanderplatz', address: 'Berlin' };
  assert.equal(said({ type: 'location', location }), 'Location: Alexanderplatz, Berlin (52.5, 13.4)');
  const contacts = [{ name: { formatted_name: 'Grace' }, phones: [{ phone: '+1 555' }] }];
  assert.equal(said({ type: 'contacts', contacts }), 'Contact: Grace, +1 555');
});

test('states, reactions, groups and what nobody knows are no messages', () => {
  const from = '4915112345678';
  assert.deepEqual(readValue({ statuses: [{ id: 'wamid.A', status: 'delivered', recipient_id: from }] }), []);
  const text = { type: 'text', text: { body: 'Hi' } };
  const none = [
    { from, type: 'reaction', reaction: { message_id: 'wamid.B', emoji: '👍' } },
    { from, type: 'unsupported', errors: [{ code: 131051 }] },
    { from, type: 'system', system: { body: 'changed' } },
    { from, type: 'image', image: { id: '../me' } },
    { from, type: 'constructor' },
    { from, group_id: 'Y2FwaV9ncm91cDox', ...text },
    { from: '../me', ...text },
    { from: 4915112345678, ...text },
    text,
  ];
  for (const message of none) assert.deepEqual(readMessage(message, {}), [], JSON.stringify(message));
});

test('another number’s messages, and other fields, are passed over', () => {
  assert.deepEqual(readValue(textFrom('4915112345678', 'Hello'), new Set(['999'])), []);
  const change = { ...changeOf(number, textFrom('4915112345678', 'Hello')).changes[0], field: 'message_echoes' };
  assert.equal(readWebhook({ entry: [{ changes: [change] }] }, OWN).size, 0);
  for (const body of [null, [], 'x', { entry: {} }, { entry: [null, { changes: 1 }, { changes: [{ value: [] }] }] }]) {
    assert.equal(readWebhook(body, OWN).size, 0);
  }
});

test('numbers are found in bytes that nobody has parsed', () => {
  const body = {
    entry: [changeOf(number, {}), changeOf({ ...number, phone_number_id: '7' }, {}), changeOf(number, {})],
  };
  for (const text of [JSON.stringify(body), JSON.stringify(body, null, 2)]) {
    assert.deepEqual(findNumberIds(Buffer.from(text)), [number.phone_number_id, '7']);
  }
  assert.deepEqual(findNumberIds(Buffer.from([0xff, 0x00])), []);
});
