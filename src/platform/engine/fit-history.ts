/**
 * Keeps a thread within its model's window. Whole turns are folded, oldest first, into the thread's summary until what
 * is left fills at most KEEP_SHARE of the room, so that folding is rare. A turn that is too large by itself has its
 * largest texts cut in the middle. A turn never fails because the conversation is long.
 */
import { estimateTokens } from '../models/index.ts';
import type { StoredMessage, ThreadHistory } from './turn.ts';

const KEEP_SHARE = 0.5;
/** A summary may take this share of the room. */
export const SUMMARY_SHARE = 0.2;
const CUT_MARK = '\n[… cut to fit the model’s context window …]\n';

export interface HistoryFit {
  /** Messages to fold into the summary; empty when everything fits. */
  readonly folded: StoredMessage[];
  readonly kept: StoredMessage[];
  /** The last folded turn. */
  readonly foldedTurn: number;
}

/** Decides what stays. `room` is what the window has for summary and messages, in tokens. */
export function fitHistory(history: ThreadHistory, currentTurn: number, room: number): HistoryFit {
  const summaryTokens = history.summary === null ? 0 : estimateTokens(history.summary);
  const total = summaryTokens + sumTokens(history.messages);
  if (total <= room) return { folded: [], kept: history.messages, foldedTurn: history.summaryTurn };

  const current = history.messages.filter((message) => message.turn === currentTurn);
  const earlier = history.messages.filter((message) => message.turn !== currentTurn);
  let budget = room * KEEP_SHARE - sumTokens(current);
  let firstKept = currentTurn;
  for (const turn of [...new Set(earlier.map((message) => message.turn))].sort((a, b) => b - a)) {
    budget -= sumTokens(earlier.filter((message) => message.turn === turn));
    if (budget < 0) break;
    firstKept = turn;
  }
  const folded = earlier.filter((message) => message.turn < firstKept);
  const kept = [...earlier.filter((message) => message.turn >= firstKept), ...current];
  return { folded, kept, foldedTurn: folded.at(-1)?.turn ?? history.summaryTurn };
}

/** Cuts the largest texts until the messages fit. Returns the messages unchanged when they do already. */
export function cutLargestTexts(
  messages: readonly StoredMessage[],
  room: number,
): { messages: StoredMessage[]; cut: boolean } {
  let excess = sumTokens(messages) - room;
  if (excess <= 0) return { messages: [...messages], cut: false };
  const result = [...messages];
  const bySize = [...messages.keys()].sort((a, b) => (messages[b]?.tokens ?? 0) - (messages[a]?.tokens ?? 0));
  for (const index of bySize) {
    const message = result[index];
    if (message === undefined || excess <= 0) break;
    const target = Math.max(64, message.tokens - excess);
    const content = cutContent(message.content, target / Math.max(1, message.tokens));
    const tokens = estimateTokens(JSON.stringify(content));
    if (tokens >= message.tokens) continue;
    excess -= message.tokens - tokens;
    result[index] = { ...message, content, tokens };
  }
  return { messages: result, cut: true };
}

function cutContent(content: StoredMessage['content'], share: number): StoredMessage['content'] {
  if (typeof content === 'string') return cutText(content, share);
  const cut = (value: unknown, key = ''): unknown => {
    // Ids and names must survive; only what people and tools wrote is cut.
    if (typeof value === 'string') return key === 'text' || key === 'value' ? cutText(value, share) : value;
    if (Array.isArray(value)) return value.map((item) => cut(item));
    if (value === null || typeof value !== 'object') return value;
    const output = value as { type?: string; value?: unknown };
    if (output.type === 'json' && 'value' in output) {
      return { type: 'text', value: cutText(JSON.stringify(output.value), share) };
    }
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, cut(member, name)]));
  };
  return cut(content) as StoredMessage['content'];
}

function cutText(text: string, share: number): string {
  const keep = Math.floor(text.length * Math.min(1, share) * 0.9);
  if (keep >= text.length) return text;
  const head = Math.ceil(keep / 2);
  return text.slice(0, head).toWellFormed() + CUT_MARK + text.slice(text.length - (keep - head)).toWellFormed();
}

export function sumTokens(messages: readonly StoredMessage[]): number {
  return messages.reduce((sum, message) => sum + message.tokens, 0);
}
