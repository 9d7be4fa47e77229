import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCitations } from './file-search.ts';

test('what a client’s function of the same name answers is no passage', () => {
  const passage = { marker: '【1†a.pdf】', file_id: 'file_1', filename: 'a.pdf' };
  const results = [null, 'text', 7, [], {}, { ...passage, file_id: 1 }, { ...passage, marker: null }, passage];
  assert.deepEqual(findCitations('Yes【1†a.pdf】', [null, { results: 'none' }, { results } as never]), [
    { type: 'file_citation', index: 3, file_id: 'file_1', filename: 'a.pdf' },
  ]);
  assert.deepEqual(findCitations('Yes【1†a.pdf】', [{ results: [null] } as never]), []);
});
