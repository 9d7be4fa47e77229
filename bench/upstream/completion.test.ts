import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ANSWER, readText, renderChunks, renderCompletion, TOKENS } from './completion.ts';

it('the whole and the streamed answer hold the same text', () => {
  assert.equal(ANSWER.split(' ').length, TOKENS);
  assert.equal(readText(renderCompletion(), false), ANSWER);
  assert.equal(readText(renderChunks().join(''), true), ANSWER);
});

it('comments between the events are no text', () => {
  assert.equal(readText(`: here\n\n${renderChunks().join('')}`, true), ANSWER);
});

it('a stream that was broken off is an error, not a shorter text', () => {
  assert.throws(() => readText(renderChunks().slice(0, -1).join(''), true), /without its end/);
  assert.throws(() => readText('', true), /without its end/);
});
