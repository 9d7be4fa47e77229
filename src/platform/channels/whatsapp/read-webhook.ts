/** What Meta's webhook says: messages of people, as far as they are for a smith. Everything else is passed over. */
import type { JsonObject } from '../../tables.ts';
import type { InboundAttachment, InboundMessage } from '../channel.ts';
import { objectAt, objectsAt, textAt } from '../provider/read-json.ts';
import { readPerson } from './address.ts';

const MAX_NUMBERS = 100;
const MEDIA_TYPES = ['image', 'audio', 'video', 'document', 'sticker'] as const;

/**
 * Ids of business numbers that the body may speak of, found in its bytes: whose secret it is checked with has to be known
 * before it is parsed.
 */
export function findNumberIds(bytes: Buffer): readonly string[] {
  const found = new Set<string>();
  for (const [, id = ''] of bytes.toString('latin1').matchAll(/"phone_number_id"\s*:\s*"(\d{1,32})"/g)) {
    found.add(id);
    if (found.size === MAX_NUMBERS) break;
  }
  return [...found];
}

/** What a call says of one business number. */
export interface NumberNews {
  /** In Meta's order. */
  readonly messages: InboundMessage[];
  /** Why a message of ours was not delivered after all, told last. */
  failure: string | undefined;
}

/** By the business number that they were sent to or from; of `numberIds` alone. */
export function readWebhook(body: unknown, numberIds: ReadonlySet<string>): ReadonlyMap<string, NumberNews> {
  const news = new Map<string, NumberNews>();
  for (const entry of objectsAt(body, 'entry')) {
    for (const change of objectsAt(entry, 'changes')) {
      const value = objectAt(change, 'value');
      const numberId = textAt(objectAt(value, 'metadata'), 'phone_number_id');
      if (change.field !== 'messages' || numberId === undefined || !numberIds.has(numberId)) continue;
      const known = news.get(numberId) ?? { messages: [], failure: undefined };
      known.messages.push(...objectsAt(value, 'messages').flatMap((message) => readMessage(message, value) ?? []));
      known.failure =
        objectsAt(value, 'statuses')
          .flatMap((status) => readFailure(status) ?? [])
          .at(-1) ?? known.failure;
      news.set(numberId, known);
    }
  }
  return news;
}

/** Undefined for other states than that. */
function readFailure(status: JsonObject): string | undefined {
  if (status.status !== 'failed') return undefined;
  const [error] = objectsAt(status, 'errors');
  return textAt(objectAt(error, 'error_data'), 'details') ?? textAt(error, 'title') ?? 'no reason is told';
}

/** Undefined for what no smith can answer: of a group, or no message of a person's own. */
function readMessage(message: JsonObject, value: JsonObject): InboundMessage | undefined {
  const id = textAt(message, 'id');
  const contact = findContact(message, objectsAt(value, 'contacts'));
  const person = readPerson(message.from ?? contact?.wa_id, message.from_user_id ?? contact?.user_id);
  if (id === undefined || person === undefined || message.group_id !== undefined) return undefined;
  const said = readContent(message);
  if (said === undefined) return undefined;
  const name = textAt(objectAt(contact, 'profile'), 'name');
  return {
    idempotencyKey: id,
    type: 'message',
    ...person,
    subject: name === undefined ? person.sender : `${name} (${person.sender})`,
    ...said,
    // The typing sign names the message that it is about.
    reply: id,
    data: { message: withoutAddresses(message), ...(contact !== undefined && { contact }), metadata: value.metadata },
  };
}

/** Of one contact there is no doubt; of several, whoever has the message's number or id. */
function findContact(message: JsonObject, contacts: readonly JsonObject[]): JsonObject | undefined {
  if (contacts.length <= 1) return contacts[0];
  return contacts.find(
    ({ wa_id, user_id }) =>
      (wa_id !== undefined && wa_id === message.from) || (user_id !== undefined && user_id === message.from_user_id),
  );
}

type Content = Pick<InboundMessage, 'text' | 'attachments'>;

function readContent(message: JsonObject): Content | undefined {
  const type = textAt(message, 'type') ?? '';
  const content = objectAt(message, type);
  if (MEDIA_TYPES.some((media) => media === type)) return readMedia(type, content);
  const text = readText(type, message, content);
  return text === undefined ? undefined : { text, attachments: [] };
}

function readText(type: string, message: JsonObject, content: JsonObject): string | undefined {
  switch (type) {
    case 'text':
      return textAt(content, 'body');
    case 'button':
      return textAt(content, 'text');
    case 'interactive': {
      const button = objectAt(content, 'button_reply');
      const row = objectAt(content, 'list_reply');
      // Ours hold the whole reply in the id: a title has room for 20 characters.
      return textAt(button, 'id') ?? textAt(row, 'title');
    }
    case 'location':
      return describeLocation(content);
    case 'contacts':
      return objectsAt(message, 'contacts').map(describeContact).join('\n');
    default:
      return undefined;
  }
}

function readMedia(type: string, content: JsonObject): Content | undefined {
  const ref = textAt(content, 'id');
  if (ref === undefined || !/^\d{1,32}$/.test(ref)) return undefined;
  const mediaType = textAt(content, 'mime_type')?.split(';')[0]?.trim();
  const attachment: InboundAttachment = {
    ref,
    filename: textAt(content, 'filename') ?? `${type}${extensionOf(mediaType)}`,
    mediaType,
    bytes: undefined,
  };
  return { text: textAt(content, 'caption') ?? '', attachments: [attachment] };
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/jpeg': '.jpg',
  'image/png': '.png',
  'image/webp': '.webp',
  'audio/ogg': '.ogg',
  'audio/mpeg': '.mp3',
  'audio/mp4': '.m4a',
  'audio/aac': '.aac',
  'audio/amr': '.amr',
  'video/mp4': '.mp4',
  'video/3gpp': '.3gp',
};

function extensionOf(mediaType: string | undefined): string {
  return EXTENSIONS[mediaType ?? ''] ?? '';
}

function describeLocation({ name, address, latitude, longitude }: JsonObject): string {
  const where = [name, address].filter((part) => typeof part === 'string' && part !== '').join(', ');
  return `Location: ${where}${where === '' ? '' : ' '}(${Number(latitude)}, ${Number(longitude)})`;
}

function describeContact(contact: JsonObject): string {
  const name = textAt(objectAt(contact, 'name'), 'formatted_name') ?? '';
  const phones = objectsAt(contact, 'phones').flatMap((phone) => textAt(phone, 'phone') ?? []);
  return `Contact: ${[name, ...phones].filter((part) => part !== '').join(', ')}`;
}

/** Addresses of media open with a hash in them. */
function withoutAddresses(message: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(message).map(([name, part]) => {
      if (!MEDIA_TYPES.some((media) => media === name)) return [name, part];
      const { url: _url, ...rest } = objectAt(message, name);
      return [name, rest];
    }),
  );
}
