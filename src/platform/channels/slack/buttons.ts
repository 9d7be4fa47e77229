/** Suggested replies as buttons: whoever presses one says what it holds. */
import type { JsonObject } from '../../tables.ts';
import { fitTitle } from '../provider/fit-title.ts';

const ACTION = 'reply';
const MAX_LABEL_CHARS = 75;
const MAX_VALUE_CHARS = 2_000;

/** What of a message has them; the text stays above. */
export function buttonsOf(replies: readonly string[]): JsonObject {
  if (replies.length === 0) return {};
  const elements = replies.map((reply, index) => ({
    type: 'button',
    action_id: `${ACTION}:${index}`,
    text: { type: 'plain_text', text: fitTitle(reply, MAX_LABEL_CHARS), emoji: false },
    value: fitTitle(reply, MAX_VALUE_CHARS),
  }));
  return { attachments: [{ fallback: replies.join(' / '), blocks: [{ type: 'actions', elements }] }] };
}

/** What a pressed button says; undefined for one that is not ours. */
export function readButton({ action_id, value }: JsonObject): string | undefined {
  const isOurs = typeof action_id === 'string' && action_id.startsWith(`${ACTION}:`);
  return isOurs && typeof value === 'string' ? value : undefined;
}
