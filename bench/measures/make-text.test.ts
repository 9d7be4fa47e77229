import assert from 'node:assert/strict';
import { it } from 'node:test';
import { makeText } from './make-text.ts';

it('a text is as long as asked for, and the same each time', () => {
  const text = makeText(7, 50_000);
  assert.equal(Buffer.byteLength(text), 50_000);
  assert.equal(text, makeText(7, 50_000));
  assert.notEqual(text, makeText(8, 50_000));
  assert.match(text, /^[A-Z][a-z ]*\. [A-Z]/);
});
