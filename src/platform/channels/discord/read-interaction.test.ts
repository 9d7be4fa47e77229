import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readInteraction } from './read-interaction.ts';
import { ageMs, isLive, readReply } from './reply.ts';

const APPLICATION = '1100000000000000001';
const interaction = {
  id: '1300000000000000001',
  application_id: APPLICATION,
  type: 2,
  token: 'aW50ZXJhY3Rpb24',
  channel_id: '1200000000000000001',
  channel: { id: '1200000000000000001', name: 'general' },
  member: { user: { id: '900000000000000001', username: 'ada', global_name: 'Ada' } },
  data: { name: 'ask', options: [{ name: 'message', type: 3, value: 'What is new?' }] },
};

function read(more: object) {
  return readInteraction({ ...interaction, ...more }, APPLICATION);
}

function messageOf(more: object) {
  const read_ = read(more);
  assert.equal(read_.kind, 'message');
  return read_.kind === 'message' ? read_ : assert.fail();
}

test('a ping is one, whatever else it holds', () => {
  assert.deepEqual(readInteraction({ type: 1 }, APPLICATION), { kind: 'ping' });
});

test('/ask is a message of one person in one channel', () => {
  const { message, isPrivate } = messageOf({});
  assert.deepEqual(
    { ...message, data: undefined },
    {
      idempotencyKey: interaction.id,
      type: 'command',
      sender: '900000000000000001',
      chat: '1200000000000000001:900000000000000001',
      subject: 'Ada in #general',
      text: 'What is new?',
      attachments: [],
      reply: JSON.stringify({ id: interaction.id, token: interaction.token }),
      data: undefined,
    },
  );
  assert.equal(isPrivate, false);
  assert.ok(!JSON.stringify(message.data).includes(interaction.token));
});

test('in private, the person stands elsewhere', () => {
  const { message } = messageOf({ member: undefined, user: interaction.member.user, channel: { id: '1' } });
  assert.deepEqual([message.sender, message.subject], ['900000000000000001', 'Ada']);
});

test('a file comes along, and its address stays out of what is shown', () => {
  const file = {
    id: '5',
    filename: 'cat.png',
    size: 7,
    content_type: 'image/png; x',
    url: 'https://cdn.discordapp.com/a?hm=secret',
  };
  const options = [...interaction.data.options, { name: 'file', type: 11, value: '5' }];
  const { message } = messageOf({ data: { name: 'ask', options, resolved: { attachments: { 5: file } } } });
  assert.deepEqual(message.attachments, [{ ref: file.url, filename: 'cat.png', mediaType: 'image/png', bytes: 7 }]);
  assert.ok(!JSON.stringify(message.data).includes('secret'));
});

test('/link is for whoever types it alone', () => {
  const options = [{ name: 'token', type: 3, value: 'ic123' }];
  const { message, isPrivate } = messageOf({ data: { name: 'link', options } });
  assert.deepEqual([message.text, isPrivate], ['ic123', true]);
});

test('a button says what stands behind it', () => {
  const { message } = messageOf({ type: 3, data: { custom_id: 'reply:Tell me more', component_type: 2 } });
  assert.deepEqual([message.type, message.text], ['button', 'Tell me more']);
});

test('what is not of this application, or not by us, is unknown', () => {
  const unknown = [
    { application_id: '1100000000000000002' },
    { type: 4 },
    { type: 5 },
    { type: '2' },
    { data: { name: 'other' } },
    { type: 3, data: { custom_id: 'page:2' } },
    { token: undefined },
    { id: '1' },
    { channel_id: '../../users' },
    { member: { user: { id: 7 } } },
    { member: undefined },
  ];
  for (const more of unknown) assert.equal(read(more).kind, 'unknown', JSON.stringify(more));
  for (const body of [null, [], 'x', 7]) assert.equal(readInteraction(body, APPLICATION).kind, 'unknown');
});

test('an interaction can be answered for a quarter of an hour', () => {
  const reply = readReply(messageOf({}).message.reply) ?? assert.fail();
  const typedAt = new Date(Number((BigInt(interaction.id) >> 22n) + 1_420_070_400_000n)).getTime();
  assert.equal(ageMs(reply, new Date(typedAt + 5)), 5);
  assert.equal(isLive(reply, new Date(typedAt + 14 * 60_000)), true);
  assert.equal(isLive(reply, new Date(typedAt + 15 * 60_000)), false);
});
