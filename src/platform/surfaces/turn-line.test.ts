import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kernel/http/errors.ts';
import { createTurnLine } from './turn-line.ts';

const place = { projectId: 'proj', smithId: 'smt' };
const patient = new AbortController().signal;
const locked = () => Promise.reject(new ApiError('conversation_locked'));

test('whoever came first begins first, however long each waits for the smith', async () => {
  const line = createTurnLine();
  const begun: number[] = [];
  let isFree = false;
  const starts = [1, 2, 3].map((each) =>
    line.startInLine(
      place,
      async () => {
        if (!isFree) return locked();
        begun.push(each);
        return each;
      },
      patient,
    ),
  );
  isFree = true;
  line.turnRested(place);
  assert.deepEqual(await Promise.all(starts), [1, 2, 3]);
  assert.deepEqual(begun, [1, 2, 3]);
});

test('who has waited long enough is told when to come again, and those behind keep their place', async () => {
  const line = createTurnLine(60);
  const refused = line.startInLine(place, locked, patient);
  await assert.rejects(refused, (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.code, error.detail.retryAfterSeconds], ['conversation_locked', 5]);
    return true;
  });
  assert.equal(await line.startInLine(place, async () => 'free', patient), 'free');
});

test('who goes away waits no longer', async () => {
  const line = createTurnLine();
  const gone = new AbortController();
  const waits = line.startInLine(place, locked, gone.signal);
  gone.abort();
  await assert.rejects(waits, { code: 'conversation_locked' });
});

test('what is wrong with the message itself is told at once', async () => {
  const line = createTurnLine();
  const refused = line.startInLine(place, () => Promise.reject(new ApiError('invalid_input')), patient);
  await assert.rejects(refused, { code: 'invalid_input' });
});

test('a line is no longer than it may be', async () => {
  const line = createTurnLine();
  const gone = new AbortController();
  const waiting = Array.from({ length: 100 }, () => line.startInLine(place, locked, gone.signal).catch(() => 'gone'));
  await assert.rejects(line.startInLine(place, locked, patient), { code: 'conversation_locked' });
  gone.abort();
  await Promise.all(waiting);
});
