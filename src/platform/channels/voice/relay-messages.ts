/** What Twilio's ConversationRelay says. https://www.twilio.com/docs/voice/conversationrelay/websocket-messages */
import type { JsonObject } from '../../tables.ts';
import { asObject, objectAt, textAt } from '../provider/read-json.ts';

export type RelayMessage =
  | { readonly type: 'setup'; readonly call: string }
  | { readonly type: 'prompt'; readonly text: string; readonly data: JsonObject }
  | { readonly type: 'interrupt' }
  | { readonly type: 'dtmf'; readonly digit: string }
  | { readonly type: 'error'; readonly description: string }
  /** Nothing that is acted upon. */
  | { readonly type: 'other' };

const MAX_DESCRIPTION_CHARS = 500;

/** Undefined for what is no message at all. */
export function readRelayMessage(text: string | Buffer): RelayMessage | undefined {
  const message = typeof text === 'string' ? parse(text) : {};
  switch (textAt(message, 'type')) {
    case undefined:
      return undefined;
    case 'setup':
      return { type: 'setup', call: textAt(objectAt(message, 'customParameters'), 'call') ?? '' };
    case 'prompt':
      return readPrompt(message);
    case 'interrupt':
      return { type: 'interrupt' };
    case 'dtmf':
      return { type: 'dtmf', digit: textAt(message, 'digit') ?? '' };
    case 'error':
      return { type: 'error', description: (textAt(message, 'description') ?? '').slice(0, MAX_DESCRIPTION_CHARS) };
    default:
      return { type: 'other' };
  }
}

/** A part of what is being said comes again whole. */
function readPrompt(message: JsonObject): RelayMessage {
  const text = textAt(message, 'voicePrompt') ?? '';
  if (text.trim() === '' || message.last === false) return { type: 'other' };
  const lang = textAt(message, 'lang');
  return { type: 'prompt', text, data: { voicePrompt: text, ...(lang !== undefined && { lang }) } };
}

function parse(text: string): JsonObject {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return {};
  }
}
