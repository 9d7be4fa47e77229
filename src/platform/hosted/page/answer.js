/** An answer as it comes: frames of the stream, and what they make of the text. No page, no network. */

/** Statuses after which nothing follows by itself. */
const FINAL = ['completed', 'failed', 'cancelled'];

/**
 * @typedef {{
 *   runId: string | null,
 *   threadId: string | null,
 *   status: string,
 *   sentence: string,
 *   parts: Map<number, string>,
 *   lastId: number,
 * }} Answer
 */

/** @returns {Answer} */
export function createAnswer() {
  return { runId: null, threadId: null, status: 'in_progress', sentence: '', parts: new Map(), lastId: 0 };
}

/**
 * @param {Answer} answer
 * @param {{ id: number, data: Record<string, unknown> }} frame
 */
export function applyFrame(answer, { id, data }) {
  // A reader that came back may be shown what it has seen.
  if (id > 0 && id <= answer.lastId) return;
  answer.lastId = Math.max(answer.lastId, id);
  if (data.type === 'status') {
    answer.runId = /** @type {string | null} */ (data.run_id);
    answer.threadId = /** @type {string | null} */ (data.thread_id);
    answer.status = String(data.status);
    answer.sentence = String(data.message ?? '');
  }
  if (data.type === 'text') {
    // Whoever decides has decided: it goes on.
    answer.status = 'in_progress';
    answer.sentence = '';
    const part = Number(data.part);
    answer.parts.set(part, (answer.parts.get(part) ?? '') + data.text);
  }
  if (data.type === 'reset') {
    for (const part of [...answer.parts.keys()]) if (part >= Number(data.part)) answer.parts.delete(part);
  }
}

/** @param {Answer} answer */
export function isFinal(answer) {
  return FINAL.includes(answer.status);
}

/**
 * The Markdown to show.
 * @param {Answer} answer
 */
export function textOf(answer) {
  return [...answer.parts.values(), answer.sentence].filter((text) => text !== '').join('\n\n');
}

/**
 * Server-sent events out of pieces of text, however they are cut.
 * @param {(frame: { id: number, data: Record<string, unknown> }) => void} onFrame
 * @returns {(piece: string) => void}
 */
export function createFrameParser(onFrame) {
  let rest = '';
  return (piece) => {
    const events = (rest + piece).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const fields = event.split('\n');
      const data = fields.find((field) => field.startsWith('data: '))?.slice('data: '.length);
      const id = fields.find((field) => field.startsWith('id: '))?.slice('id: '.length);
      if (data !== undefined) onFrame({ id: Number(id ?? 0), data: JSON.parse(data) });
    }
  };
}

/**
 * What a refusal means for the visitor. `status`: 0 where the server was not reached, or the stream ended before the answer.
 * `hasBegun`: the answer is there, and the key of the message gets it.
 * @param {{ status: number, code: string, param: string | null, tries: number, hasBegun: boolean }} refusal
 * @returns {'password' | 'forget thread' | 'try again' | 'give up'}
 */
export function judgeRefusal({ status, code, param, tries, hasBegun }) {
  if (code === 'password_required') return 'password';
  if (code === 'not_found' && param === 'thread_id') return 'forget thread';
  const isCut = status === 0;
  const passes = isCut || status >= 500 || PASSING.includes(code) || (hasBegun && status === 429);
  return passes && (isCut || hasBegun || tries < MAX_TRIES) ? 'try again' : 'give up';
}

const PASSING = ['conversation_locked', 'idempotency_in_progress'];
/** In a row, of a message that has not been taken. */
const MAX_TRIES = 8;

/**
 * Milliseconds before the next try.
 * @param {number} tries
 * @param {number} retryAfterSeconds 0 where nobody has said
 */
export function waitBefore(tries, retryAfterSeconds) {
  return Math.max(retryAfterSeconds * 1000, Math.min(250 * 2 ** tries, 15_000));
}
