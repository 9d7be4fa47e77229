import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mintId } from '../../../kernel/ids/ids.ts';
import {
  fileSearchItemId,
  functionCallItemId,
  functionCallOutputItemId,
  inputItemId,
  messageItemId,
  readResponseId,
  reasoningItemId,
  responseId,
  runOfItem,
} from './item-ids.ts';

const runId = mintId('run');

test('a response id names its run and segment', () => {
  for (const segment of [1, 2, 10, 999]) {
    assert.deepEqual(readResponseId(responseId(runId, segment)), { runId, segment });
  }
});

test('what is no response id names none', () => {
  const suffix = runId.slice(4);
  for (const id of ['', 'resp_', 'resp_1', runId, `resp_${suffix}_1`, `resp_${suffix}_0`, `resp_${suffix}_2x`]) {
    assert.equal(readResponseId(id), undefined, id);
  }
  assert.equal(readResponseId(messageItemId(runId, 2)), undefined);
});

test('the items of a run have ids of their own, each of which names the run', () => {
  const ids = [
    messageItemId(runId, 0),
    messageItemId(runId, 0, 1),
    messageItemId(runId, 1),
    reasoningItemId(runId, 0),
    reasoningItemId(runId, 0, 1),
    inputItemId(runId, 0),
    inputItemId(runId, 1),
    functionCallItemId(runId, 'call_1'),
    functionCallItemId(runId, 'call_2'),
    functionCallOutputItemId(runId, 'call_1'),
    fileSearchItemId(runId, 'call_1'),
  ];
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.equal(runOfItem(id), runId, id);
});

test('an id of another kind, or of a provider, names no run', () => {
  for (const id of [runId, 'msg_abc', 'fc_68a0f1', '']) assert.equal(runOfItem(id), undefined);
});
