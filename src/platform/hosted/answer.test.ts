import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  applyFrame,
  createAnswer,
  createFrameParser,
  isFinal,
  judgeRefusal,
  textOf,
  waitBefore,
} from './page/answer.js';

const status = (id: number, said: string, message?: string) => ({
  id,
  data: { type: 'status', run_id: 'run_1', thread_id: 'thr_1', status: said, ...(message ? { message } : {}) },
});
const text = (id: number, said: string, part = 0) => ({ id, data: { type: 'text', text: said, part } });

function read(frames: readonly { id: number; data: Record<string, unknown> }[]) {
  const answer = createAnswer();
  for (const frame of frames) applyFrame(answer, frame);
  return answer;
}

test('an answer is its parts in order, and knows where to read on', () => {
  const answer = read([
    status(1, 'in_progress'),
    text(2, 'One '),
    text(3, 'two.'),
    text(9, 'Three.', 4),
    status(10, 'completed'),
  ]);
  assert.equal(textOf(answer), 'One two.\n\nThree.');
  assert.deepEqual([answer.runId, answer.threadId, answer.lastId, isFinal(answer)], ['run_1', 'thr_1', 10, true]);
});

test('what is shown twice counts once', () => {
  assert.equal(textOf(read([text(2, 'One '), text(3, 'two.'), text(2, 'One '), text(3, 'two.')])), 'One two.');
});

test('a part that is said again takes the place of what was cut off', () => {
  const reset = { id: 1_000_003, data: { type: 'reset', part: 1 } };
  assert.equal(
    textOf(read([text(2, 'Kept.'), text(3, 'Lo', 1), reset, text(1_000_004, 'Said.', 1)])),
    'Kept.\n\nSaid.',
  );
});

test('a sentence stands behind what was said, until the answer goes on', () => {
  const paused = [status(1, 'in_progress'), text(2, 'Before.'), status(3, 'paused', 'Wait.')];
  assert.equal(textOf(read(paused)), 'Before.\n\nWait.');
  assert.equal(isFinal(read(paused)), false);
  assert.equal(textOf(read([...paused, text(4, 'After.', 2)])), 'Before.\n\nAfter.');
});

test('events are read however their text is cut', () => {
  const stream =
    'id: 1\nevent: text\ndata: {"type":"text","text":"ä"}\n\n: keep-alive\n\nevent: status\ndata: {"type":"status"}\n\n';
  for (let size = 1; size <= stream.length; size += 1) {
    const seen: unknown[] = [];
    const parse = createFrameParser((frame) => seen.push(frame));
    for (let at = 0; at < stream.length; at += size) parse(stream.slice(at, at + size));
    assert.deepEqual(seen, [
      { id: 1, data: { type: 'text', text: 'ä' } },
      { id: 0, data: { type: 'status' } },
    ]);
  }
});

test('a refusal is met by what mends it', () => {
  const judge = (code: string, httpStatus: number, tries = 0, param: string | null = null) =>
    judgeRefusal({ status: httpStatus, code, param, tries });
  assert.equal(judge('password_required', 401), 'password');
  assert.equal(judge('not_found', 404, 0, 'thread_id'), 'forget thread');
  assert.equal(judge('not_found', 404), 'give up');
  assert.equal(judge('conversation_locked', 400), 'try again');
  assert.equal(judge('storage_unavailable', 503), 'try again');
  assert.equal(judge('storage_unavailable', 503, 8), 'give up');
  assert.equal(judge('rate_limit_exceeded', 429), 'give up');
});

test('tries come further apart, and never before the server said', () => {
  assert.deepEqual(
    [0, 1, 2, 9].map((tries) => waitBefore(tries, 0)),
    [1_000, 2_000, 4_000, 15_000],
  );
  assert.equal(waitBefore(0, 30), 30_000);
});
