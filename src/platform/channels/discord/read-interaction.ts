/** What Discord's webhook says: a ping, or what somebody typed or pressed. */
import { InteractionType } from 'discord-interactions';
import type { JsonObject } from '../../tables.ts';
import type { InboundAttachment, InboundMessage } from '../channel.ts';
import { objectAt, objectsAt, textAt } from '../provider/read-json.ts';
import { chatOf } from './chat.ts';
import { ASK, LINK } from './commands.ts';
import { writeReply } from './reply.ts';
import { isSnowflake } from './snowflake.ts';

/** Buttons of ours hold the whole reply behind this, as far as it fits. */
export const REPLY_PREFIX = 'reply:';

export type Interaction =
  | { readonly kind: 'ping' }
  | {
      readonly kind: 'message';
      readonly message: InboundMessage;
      /** Seen by whoever typed it alone. */
      readonly isPrivate: boolean;
    }
  /** Of this application, but not by us: a command that somebody else registered. */
  | { readonly kind: 'unknown' };

/** Of `applicationId`; everything else is unknown. */
export function readInteraction(body: unknown, applicationId: string): Interaction {
  const interaction = objectAt({ body }, 'body');
  if (interaction.type === InteractionType.PING) return { kind: 'ping' };
  const { id, application_id, channel_id } = interaction;
  const user = objectAt(interaction.member === undefined ? interaction : objectAt(interaction, 'member'), 'user');
  const token = textAt(interaction, 'token');
  const said = readContent(interaction);
  if (application_id !== applicationId || said === undefined || token === undefined) return { kind: 'unknown' };
  if (!isSnowflake(id) || !isSnowflake(channel_id) || !isSnowflake(user.id)) return { kind: 'unknown' };
  const name = textAt(user, 'global_name') ?? textAt(user, 'username') ?? user.id;
  const channel = textAt(objectAt(interaction, 'channel'), 'name');
  return {
    kind: 'message',
    isPrivate: said.isPrivate,
    message: {
      idempotencyKey: id,
      type: said.type,
      sender: user.id,
      chat: chatOf(channel_id, user.id),
      subject: channel === undefined ? name : `${name} in #${channel}`,
      text: said.text,
      attachments: said.attachments,
      reply: writeReply({ id, token }),
      data: withoutCredentials(interaction),
    },
  };
}

interface Content {
  readonly type: 'command' | 'button';
  readonly text: string;
  readonly attachments: readonly InboundAttachment[];
  readonly isPrivate: boolean;
}

function readContent(interaction: JsonObject): Content | undefined {
  const data = objectAt(interaction, 'data');
  if (interaction.type === InteractionType.MESSAGE_COMPONENT) {
    const pressed = textAt(data, 'custom_id');
    if (pressed?.startsWith(REPLY_PREFIX) !== true) return undefined;
    return { type: 'button', text: pressed.slice(REPLY_PREFIX.length), attachments: [], isPrivate: false };
  }
  if (interaction.type !== InteractionType.APPLICATION_COMMAND) return undefined;
  const options = new Map(objectsAt(data, 'options').map(({ name, value }) => [name, value]));
  if (data.name === LINK) {
    return { type: 'command', text: textOf(options.get('token')), attachments: [], isPrivate: true };
  }
  if (data.name !== ASK) return undefined;
  const file = objectAt(objectAt(objectAt(data, 'resolved'), 'attachments'), textOf(options.get('file')));
  return { type: 'command', text: textOf(options.get('message')), attachments: readAttachment(file), isPrivate: false };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function readAttachment(file: JsonObject): readonly InboundAttachment[] {
  const ref = textAt(file, 'url');
  if (ref === undefined) return [];
  return [
    {
      ref,
      filename: textAt(file, 'filename') ?? 'file',
      mediaType: textAt(file, 'content_type')?.split(';')[0]?.trim(),
      bytes: typeof file.size === 'number' ? file.size : undefined,
    },
  ];
}

/** Without the interaction's token, and addresses of files, which open with what is in them. */
function withoutCredentials(value: JsonObject): JsonObject {
  return JSON.parse(
    JSON.stringify(value, (name, member) =>
      name === 'token' || name === 'url' || name === 'proxy_url' ? undefined : member,
    ),
  );
}
