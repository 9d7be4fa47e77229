/** By what a message of ours is known again. Slack keeps it with the message, and shows it to the app alone. */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../tables.ts';
import type { Destination, MessagePart } from '../channel.ts';
import { objectAt, textAt } from '../provider/read-json.ts';

const EVENT_TYPE = 'answer_part';

export function metadataOf(to: Destination, part: MessagePart): JsonObject {
  return { event_type: EVENT_TYPE, event_payload: { key: keyOf(to, part) } };
}

export function hasKeyOf(message: JsonObject, to: Destination, part: MessagePart): boolean {
  const metadata = objectAt(message, 'metadata');
  return textAt(objectAt(metadata, 'event_payload'), 'key') === keyOf(to, part);
}

function keyOf({ chat }: Destination, part: MessagePart): string {
  return createHash('sha256')
    .update(JSON.stringify([chat, part]))
    .digest('base64url')
    .slice(0, 32);
}
