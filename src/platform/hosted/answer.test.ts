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
  const judge = (code: string, status: number, more: { tries?: number; param?: string; hasBegun?: boolean } = {}) =>
    judgeRefusal({ status, code, param: null, tries: 0, hasBegun: false, ...more });
  assert.equal(judge('password_required', 401), 'password');
  assert.equal(judge('not_found', 404, { param: 'thread_id' }), 'forget thread');
  assert.equal(judge('not_found', 404), 'give up');
  assert.equal(judge('conversation_locked', 400), 'try again');
  assert.equal(judge('storage_unavailable', 503), 'try again');
  assert.equal(judge('storage_unavailable', 503, { tries: 8 }), 'give up');
  assert.equal(judge('rate_limit_exceeded', 429), 'give up');
});

test('nobody gives up an answer that has begun, nor a server that is not reached', () => {
  const judge = (status: number, hasBegun: boolean) =>
    judgeRefusal({ status, code: '', param: null, tries: 1_000, hasBegun });
  assert.deepEqual(
    [judge(0, false), judge(0, true), judge(503, true), judge(429, true), judge(404, true)],
    ['try again', 'try again', 'try again', 'try again', 'give up'],
  );
});

test('tries come further apart, and never before the server said', () => {
  assert.deepEqual(
    [0, 1, 2, 9].map((tries) => waitBefore(tries, 0)),
    [250, 500, 1_000, 15_000],
  );
  assert.equal(waitBefore(0, 30), 30_000);
});
