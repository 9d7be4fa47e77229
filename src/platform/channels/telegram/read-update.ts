/** What an update of Telegram says: a message of a person, as far as it is for the bot. https://core.telegram.org/bots/api#update */
import type { JsonObject } from '../../tables.ts';
import type { InboundAttachment, InboundMessage } from '../channel.ts';
import type { MovedChat } from '../inbound/move-chat.ts';
import { asObject, objectAt, objectsAt, textAt } from '../provider/read-json.ts';
import { chatOf } from './place.ts';

/** All that is asked for: what is edited later is not read again. */
export const ALLOWED_UPDATES = ['message'] as const;

/** The bot that the account is of. */
export interface Bot {
  readonly id: number;
  readonly username: string;
}

/** Undefined for what begins nothing: of bots, of a group's life, of people in a group who speak to each other. */
export function readUpdate(update: unknown, bot: Bot): InboundMessage | undefined {
  const message = objectAt(update, 'message');
  const [chat, from] = [objectAt(message, 'chat'), objectAt(message, 'from')];
  const [messageId, chatId] = [integerAt(message, 'message_id'), integerAt(chat, 'id')];
  if (messageId === undefined || chatId === undefined || integerAt(from, 'id') === undefined) return undefined;
  // Two bots would never end.
  if (from.is_bot === true || !isContent(message)) return undefined;
  const isGroup = chat.type === 'group' || chat.type === 'supergroup';
  if (chat.type !== 'private' && !(isGroup && isForBot(message, bot))) return undefined;
  const topicId = message.is_topic_message === true ? integerAt(message, 'message_thread_id') : undefined;
  return {
    idempotencyKey: `${chatId}/${messageId}`,
    type: 'message',
    sender: String(chatId),
    chat: chatOf(chatId, topicId),
    subject: describe(from, chat),
    text: addressed(saidIn(message), bot),
    attachments: readAttachments(message, messageId),
    group: textAt(message, 'media_group_id'),
    reply: isGroup ? String(messageId) : undefined,
    data: asObject(update),
  };
}

/** A group that has become a supergroup, which has another id. Both of them say so. */
export function readMove(update: unknown): MovedChat | undefined {
  const message = objectAt(update, 'message');
  const chatId = integerAt(objectAt(message, 'chat'), 'id');
  const [to, from] = [integerAt(message, 'migrate_to_chat_id'), integerAt(message, 'migrate_from_chat_id')];
  if (chatId === undefined) return undefined;
  if (to !== undefined) return { from: String(chatId), to: String(to) };
  return from === undefined ? undefined : { from: String(from), to: String(chatId) };
}

/** What people send; a title that changes, or somebody who joins, is none of it. */
const CONTENT = [
  'text',
  'photo',
  'document',
  'voice',
  'audio',
  'video',
  'video_note',
  'animation',
  'sticker',
  'location',
  'contact',
  'poll',
  'dice',
  'story',
  'game',
  'paid_media',
  'checklist',
];

function isContent(message: JsonObject): boolean {
  return CONTENT.some((name) => Object.hasOwn(message, name));
}

function saidIn(message: JsonObject): string {
  const said = textAt(message, 'text') ?? textAt(message, 'caption');
  if (said !== undefined) return said;
  const [location, contact] = [objectAt(message, 'location'), objectAt(message, 'contact')];
  if (Object.hasOwn(message, 'location'))
    return `Location: ${Number(location.latitude)}, ${Number(location.longitude)}`;
  if (Object.hasOwn(message, 'contact')) {
    return `Contact: ${['first_name', 'last_name', 'phone_number'].flatMap((name) => textAt(contact, name) ?? []).join(' ')}`;
  }
  return textAt(objectAt(message, 'sticker'), 'emoji') ?? '';
}

/** It answers the bot, or names it: as a mention, or behind a command. */
function isForBot(message: JsonObject, bot: Bot): boolean {
  if (integerAt(objectAt(objectAt(message, 'reply_to_message'), 'from'), 'id') === bot.id) return true;
  const inText = Object.hasOwn(message, 'text');
  const text = textAt(message, inText ? 'text' : 'caption') ?? '';
  const name = `@${bot.username}`.toLowerCase();
  return objectsAt(message, inText ? 'entities' : 'caption_entities').some((entity) => {
    const [offset, length] = [integerAt(entity, 'offset') ?? 0, integerAt(entity, 'length') ?? 0];
    const said = text.slice(offset, offset + length).toLowerCase();
    if (entity.type === 'mention') return said === name;
    if (entity.type === 'bot_command') return said.endsWith(name);
    return entity.type === 'text_mention' && integerAt(objectAt(entity, 'user'), 'id') === bot.id;
  });
}

/** Without the bot's own name at the beginning, or behind the command there: it says whom it is for, and that is known. */
function addressed(text: string, { username }: Bot): string {
  const [first = ''] = text.split(/\s/, 1);
  const name = `@${username}`.toLowerCase();
  if (!first.toLowerCase().endsWith(name)) return text;
  const command = first.slice(0, -name.length);
  if (command !== '' && !/^\/\w+$/.test(command)) return text;
  return (command + text.slice(first.length)).trimStart();
}

function describe(from: JsonObject, chat: JsonObject): string {
  const names = ['first_name', 'last_name'].flatMap((name) => textAt(from, name) ?? []);
  const username = textAt(from, 'username');
  const who = [...names, ...(username === undefined ? [] : [`(@${username})`])].join(' ') || String(from.id);
  const title = textAt(chat, 'title');
  return chat.type === 'private' ? who : `${who} in ${title ?? 'a group'}`;
}

/** Names where Telegram has none. */
const KINDS: Readonly<Record<string, { readonly extension: string; readonly mediaType: string }>> = {
  document: { extension: '', mediaType: 'application/octet-stream' },
  voice: { extension: '.ogg', mediaType: 'audio/ogg' },
  audio: { extension: '.mp3', mediaType: 'audio/mpeg' },
  video: { extension: '.mp4', mediaType: 'video/mp4' },
  video_note: { extension: '.mp4', mediaType: 'video/mp4' },
};

function readAttachments(message: JsonObject, messageId: number): readonly InboundAttachment[] {
  // Smallest first.
  const photo = objectsAt(message, 'photo').at(-1);
  if (photo !== undefined) return attachment(photo, `photo-${messageId}.jpg`, 'image/jpeg');
  // An animation comes as a document too.
  for (const [name, { extension, mediaType }] of Object.entries(KINDS)) {
    if (Object.hasOwn(message, name)) {
      return attachment(objectAt(message, name), `${name}-${messageId}${extension}`, mediaType);
    }
  }
  return [];
}

function attachment(file: JsonObject, filename: string, mediaType: string): readonly InboundAttachment[] {
  const ref = textAt(file, 'file_id');
  if (ref === undefined) return [];
  return [
    {
      ref,
      filename: textAt(file, 'file_name') ?? filename,
      mediaType: textAt(file, 'mime_type') ?? mediaType,
      bytes: integerAt(file, 'file_size'),
    },
  ];
}

function integerAt(object: JsonObject, name: string): number | undefined {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}
