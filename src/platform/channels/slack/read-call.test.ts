import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../kernel/http/errors.ts';
import { readSlackCall, type SlackCall } from './read-call.ts';

const BOT = 'U0BOT';
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded; charset=utf-8';
const DIRECT = {
  type: 'message',
  channel_type: 'im',
  user: 'U0ADA',
  channel: 'D01',
  ts: '1700000000.000100',
  text: 'Hi',
};
const IN_CHANNEL = { ...DIRECT, channel_type: 'channel', channel: 'C01' };

function read(body: unknown): SlackCall {
  return readSlackCall(Buffer.from(JSON.stringify(body)), JSON_TYPE, undefined);
}

function readEvent(event: object): SlackCall {
  const authorizations = [{ team_id: 'T01', user_id: BOT, is_bot: true }];
  return read({ type: 'event_callback', team_id: 'T01', token: 'secret', event_id: 'Ev1', authorizations, event });
}

function readForm(fields: Record<string, string>): SlackCall {
  return readSlackCall(Buffer.from(new URLSearchParams(fields).toString()), FORM_TYPE, undefined);
}

function messageOf(call: SlackCall) {
  assert.equal(call.kind, 'message');
  return call.kind === 'message' ? call.message : assert.fail();
}

test('a direct message is one of its sender, in the conversation with the bot', () => {
  const message = messageOf(readEvent(DIRECT));
  const { data, ...rest } = message;
  assert.deepEqual(rest, {
    idempotencyKey: 'T01:D01:1700000000.000100',
    type: 'message',
    sender: 'T01:U0ADA',
    chat: 'T01:D01',
    subject: 'U0ADA',
    text: 'Hi',
    attachments: [],
  });
  assert.equal(JSON.stringify(data).includes('secret'), false);
  assert.equal(messageOf(readEvent({ ...DIRECT, thread_ts: '1600000000.000001' })).chat, 'T01:D01:1600000000.000001');
});

test('the mention of the bot and the message that holds it are the same, and begin a thread', () => {
  const text = `<@${BOT}> what is <https://a.example/?a=1&amp;b=2|this>, <@U0EVE>?`;
  const [mention, message] = [
    readEvent({ ...IN_CHANNEL, type: 'app_mention', channel_type: undefined, text }),
    readEvent({ ...IN_CHANNEL, text }),
  ].map(messageOf);
  assert.deepEqual([mention?.idempotencyKey, mention?.chat], [message?.idempotencyKey, message?.chat]);
  assert.equal(mention?.chat, 'T01:C01:1700000000.000100');
  assert.equal(mention?.text, 'what is this (https://a.example/?a=1&b=2), @U0EVE?');
});

test('in channels other messages count where they hang from a conversation', () => {
  assert.equal(readEvent(IN_CHANNEL).kind, 'other');
  assert.equal(readEvent({ ...IN_CHANNEL, thread_ts: IN_CHANNEL.ts }).kind, 'other');
  const call = readEvent({ ...IN_CHANNEL, thread_ts: '1600000000.000001' });
  assert.equal(call.kind === 'message' && call.isForBot, false);
  assert.equal(messageOf(call).chat, 'T01:C01:1600000000.000001');
});

test('bots are not heard, nor what only tells of a message', () => {
  for (const more of [
    { bot_id: 'B1' },
    { bot_profile: {} },
    { user: BOT },
    { subtype: 'bot_message' },
    { subtype: 'message_changed' },
    { subtype: 'channel_join' },
    { hidden: true },
    { user: undefined },
    { user: 7 },
    { channel: 'nowhere' },
    { ts: 'now' },
    { type: 'reaction_added' },
  ]) {
    assert.equal(readEvent({ ...DIRECT, ...more }).kind, 'other', JSON.stringify(more));
  }
  for (const body of [
    [],
    'text',
    null,
    7,
    {},
    { type: 'event_callback' },
    { type: 'event_callback', team_id: 'T01' },
  ]) {
    assert.equal(read(body).kind, 'other', JSON.stringify(body));
  }
});

test('files come along, but for what is kept elsewhere or was taken back', () => {
  const file = { name: 'cat.png', mimetype: 'image/png', size: 7, url_private_download: 'https://files.slack.com/x' };
  const files = [file, { ...file, is_external: true }, { ...file, mode: 'tombstone' }, { name: 'none' }];
  const { attachments } = messageOf(readEvent({ ...DIRECT, subtype: 'file_share', files }));
  const ref = 'T01:https://files.slack.com/x';
  assert.deepEqual(attachments, [{ ref, filename: 'cat.png', mediaType: 'image/png', bytes: 7 }]);
});

test('a command is what stands behind it, but for those that are words themselves', () => {
  const fields = { team_id: 'T01', user_id: 'U0ADA', channel_id: 'D01', user_name: 'ada', trigger_id: '1.2.3' };
  const command = { ...fields, token: 'secret', response_url: 'https://hooks.slack.com/commands/secret' };
  const message = messageOf(readForm({ ...command, command: '/ask', text: 'Who am I?' }));
  assert.deepEqual(
    [message.text, message.type, message.sender, message.chat, message.reply],
    ['Who am I?', 'command', 'T01:U0ADA', 'T01:D01', command.response_url],
  );
  assert.equal(JSON.stringify(message.data).includes('secret'), false);
  assert.equal(messageOf(readForm({ ...command, command: '/new', text: 'x' })).text, '/new');
  assert.equal(readForm(fields).kind, 'other');
  const long = messageOf(readForm({ ...command, command: '/ask', trigger_id: 'x'.repeat(5_000) }));
  assert.ok(long.idempotencyKey.length < 300);
});

test('a button of ours is what it holds, where its message is', () => {
  const action = { action_id: 'reply:0', value: 'Yes', action_ts: '1700000001.000200' };
  const payload = {
    type: 'block_actions',
    team: { id: 'T01' },
    user: { id: 'U0ADA', username: 'ada', team_id: 'T01' },
    container: { channel_id: 'C01', thread_ts: '1600000000.000001' },
    actions: [action],
    response_url: 'https://hooks.slack.com/actions/secret',
  };
  const press = (more: object) => readForm({ payload: JSON.stringify({ ...payload, ...more }) });
  const message = messageOf(press({}));
  assert.deepEqual([message.text, message.chat, message.type], ['Yes', 'T01:C01:1600000000.000001', 'button']);
  assert.equal(JSON.stringify(message.data).includes('secret'), false);
  assert.equal(press({ actions: [{ ...action, action_id: 'theirs' }] }).kind, 'other');
  assert.equal(press({ type: 'view_submission' }).kind, 'other');
});

test('a workspace that the app has left is told of', () => {
  assert.deepEqual(readEvent({ type: 'app_uninstalled' }), { kind: 'uninstalled', teamId: 'T01' });
  const revoked = (tokens: object) => readEvent({ type: 'tokens_revoked', tokens }).kind;
  assert.deepEqual([revoked({ bot: ['U0BOT'] }), revoked({ oauth: ['U0ADA'] })], ['uninstalled', 'other']);
});

test('what is no text and no JSON is refused', () => {
  const refused = (error: unknown) => error instanceof ApiError && error.code === 'bad_webhook';
  for (const [bytes, type] of [
    [Buffer.from([0xff, 0xfe]), JSON_TYPE],
    [Buffer.from('{'), JSON_TYPE],
    [Buffer.from(''), JSON_TYPE],
    [Buffer.from('payload=%7B'), FORM_TYPE],
  ] as const) {
    assert.throws(() => readSlackCall(bytes, type, undefined), refused);
  }
});
