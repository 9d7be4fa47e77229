/**
 * Keeps a thread within its model's window. Whole turns are summarized, oldest first, until what is left fills at most
 * KEEP_SHARE of the room: a good deal at once, so that it is rare. Of a turn that is too large by itself, the largest
 * messages are cut, and the oldest of very many left out. A turn never fails because the conversation is long.
 */
import { estimateTokens } from '../../models/index.ts';
import type { StoredMessage, ThreadHistory } from '../turn.ts';
import { cutMessage, MIN_MESSAGE_TOKENS } from './cut-message.ts';

const KEEP_SHARE = 0.5;
/** A summary may take this share of the room. */
export const SUMMARY_SHARE = 0.2;
/** What a chat format adds to each message beyond our estimate. */
const FRAMING_TOKENS = 4;

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
  const tokensOfTurn = new Map<number, number>();
  for (const message of earlier) {
    tokensOfTurn.set(message.turn, (tokensOfTurn.get(message.turn) ?? 0) + countTokens(message));
  }
  let budget = room * KEEP_SHARE - sumTokens(current);
  let firstKept = currentTurn;
  for (const [turn, tokens] of [...tokensOfTurn].sort(([a], [b]) => b - a)) {
    budget -= tokens;
    if (budget < 0) break;
    firstKept = turn;
  }
  const folded = earlier.filter((message) => message.turn < firstKept);
  const kept = [...earlier.filter((message) => message.turn >= firstKept), ...current];
  return { folded, kept, foldedTurn: folded.at(-1)?.turn ?? history.summaryTurn };
}

/**
 * Cuts what is largest until the messages fit: no message keeps more than a level that all together fit under. Where that
 * would leave each with next to nothing, the oldest are left out; the question and the newest messages stay.
 */
export function cutLargest(
  messages: readonly StoredMessage[],
  room: number,
): { messages: StoredMessage[]; cut: boolean } {
  if (sumTokens(messages) <= room) return { messages: [...messages], cut: false };
  let kept = messages;
  let level = findLevel(kept.map(countTokens), room);
  if (level < MIN_MESSAGE_TOKENS) {
    kept = keepNewest(messages, Math.max(2, Math.floor(room / MIN_MESSAGE_TOKENS)));
    level = findLevel(kept.map(countTokens), room);
  }
  const cut = kept.map((message) =>
    countTokens(message) <= level ? message : cutMessage(message, Math.max(1, level - FRAMING_TOKENS)),
  );
  return { messages: dropOldest(cut, room), cut: true };
}

/** The largest L such that the sizes, none counted beyond L, together stay within the room. */
export function findLevel(sizes: readonly number[], room: number): number {
  const ascending = [...sizes].sort((a, b) => a - b);
  let left = room;
  for (const [index, size] of ascending.entries()) {
    const share = left / (ascending.length - index);
    if (size > share) return Math.max(1, Math.floor(share));
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

/** Short texts are not cut, so that a little more than the room may be left. */
function dropOldest(messages: readonly StoredMessage[], room: number): StoredMessage[] {
  const question = findQuestion(messages);
  let excess = sumTokens(messages) - room;
  return messages.filter((message, index) => {
    if (excess <= 0 || message === question || index === messages.length - 1) return true;
    excess -= countTokens(message);
    return false;
  });
}

function findQuestion(messages: readonly StoredMessage[]): StoredMessage | undefined {
  return messages.findLast((message) => message.role === 'user');
}

/** The newest messages, and the newest of the user among them however old it is. */
function keepNewest(messages: readonly StoredMessage[], count: number): StoredMessage[] {
  const newest = messages.slice(-count);
  const question = findQuestion(messages);
  if (question === undefined || newest.includes(question)) return newest;
  return [question, ...newest.slice(1)];
}

export function sumTokens(messages: readonly StoredMessage[]): number {
  return messages.reduce((sum, message) => sum + countTokens(message), 0);
}

function countTokens(message: StoredMessage): number {
  return message.tokens + FRAMING_TOKENS;
}
