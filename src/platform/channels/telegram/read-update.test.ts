import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readUpdate } from './read-update.ts';

const bot = { id: 42, username: 'Helper_bot' };
const ada = { id: 7, is_bot: false, first_name: 'Ada', last_name: 'Lovelace', username: 'ada' };
const alone = { id: 7, type: 'private', first_name: 'Ada' };
const group = { id: -100_123, type: 'supergroup', title: 'Engines' };

function read(message: object, chat: object = alone) {
  return readUpdate({ update_id: 1, message: { message_id: 5, date: 0, from: ada, chat, ...message } }, bot);
}

test('a message in a private chat is its sender’s, and is known by its chat and number', () => {
  const update = { update_id: 1, message: { message_id: 5, date: 0, from: ada, chat: alone, text: 'Hello' } };
  assert.deepEqual(readUpdate(update, bot), {
    idempotencyKey: '7/5',
    type: 'message',
    sender: '7',
    chat: '7',
    subject: 'Ada Lovelace (@ada)',
    text: 'Hello',
    attachments: [],
    group: undefined,
    reply: undefined,
    data: update,
  });
});

describe('in a group counts what is for the bot', () => {
  const mention = (text: string, type = 'mention') => ({
    text,
    entities: [{ type, offset: 0, length: text.split(' ')[0]?.length }],
  });
  const taken: readonly [what: string, message: object, text: string][] = [
    ['that names it', mention('@helper_bot what now?'), 'what now?'],
    ['a command to it', mention('/new@Helper_bot', 'bot_command'), '/new'],
    ['that answers it', { text: 'And then?', reply_to_message: { from: { id: 42, is_bot: true } } }, 'And then?'],
    [
      'that means it',
      { text: 'Helper, please', entities: [{ type: 'text_mention', offset: 0, length: 6, user: { id: 42 } }] },
      'Helper, please',
    ],
    [
      'a caption that names it',
      {
        photo: [{ file_id: 'p' }],
        caption: '@Helper_bot look',
        caption_entities: [{ type: 'mention', offset: 0, length: 11 }],
      },
      'look',
    ],
  ];
  for (const [what, message, text] of taken) {
    test(what, () => {
      const found = read(message, group);
      assert.deepEqual([found?.text, found?.sender, found?.chat, found?.reply], [text, '-100123', '-100123', '5']);
      assert.equal(found?.subject, 'Ada Lovelace (@ada) in Engines');
    });
  }

  test('and nothing else', () => {
    assert.equal(read({ text: 'To all' }, group), undefined);
    assert.equal(read(mention('@other_bot hello'), group), undefined);
    assert.equal(read(mention('/new', 'bot_command'), group), undefined);
    assert.equal(read({ text: '@Helper_bot without an entity' }, group), undefined);
    assert.equal(read({ text: 'x', reply_to_message: { from: { id: 43 } } }, group), undefined);
  });

  test('a topic is a conversation of its own', () => {
    const message = { ...mention('@helper_bot hi'), is_topic_message: true, message_thread_id: 9 };
    assert.deepEqual([read(message, group)?.chat, read(message, group)?.sender], ['-100123/9', '-100123']);
  });
});

describe('files', () => {
  const cases: readonly [message: object, attachment: object][] = [
    [
      {
        photo: [
          { file_id: 's', file_size: 1 },
          { file_id: 'l', file_size: 9 },
        ],
        caption: 'Look',
      },
      { ref: 'l', filename: 'photo-5.jpg', mediaType: 'image/jpeg', bytes: 9 },
    ],
    [
      { document: { file_id: 'd', file_name: 'a.pdf', mime_type: 'application/pdf', file_size: 3 } },
      { ref: 'd', filename: 'a.pdf', mediaType: 'application/pdf', bytes: 3 },
    ],
    [{ voice: { file_id: 'v' } }, { ref: 'v', filename: 'voice-5.ogg', mediaType: 'audio/ogg', bytes: undefined }],
  ];
  for (const [message, attachment] of cases) {
    test(Object.keys(message)[0] ?? '', () => assert.deepEqual(read(message)?.attachments, [attachment]));
  }

  test('of an album name it', () => {
    assert.equal(read({ photo: [{ file_id: 'p' }], media_group_id: '99' })?.group, '99');
  });
});

test('what is edited, of a bot, of a channel or of a group’s life begins nothing', () => {
  const message = { message_id: 5, from: ada, chat: alone, text: 'x' };
  for (const update of [
    { update_id: 1, edited_message: message },
    { update_id: 1, channel_post: message },
    { update_id: 1, message: { ...message, from: { ...ada, is_bot: true } } },
    { update_id: 1, message: { ...message, chat: { id: -1, type: 'channel' } } },
    { update_id: 1, message: { message_id: 5, from: ada, chat: alone, pinned_message: {} } },
    { update_id: 1, message: { ...message, message_id: 'x' } },
    { update_id: 1, message: [] },
    { update_id: 1 },
    [],
    null,
  ]) {
    assert.equal(readUpdate(update, bot), undefined, JSON.stringify(update));
  }
});
