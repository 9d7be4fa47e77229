import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OpenAiPageRequest, openAiPageReply, readOpenAiPage, scanOf } from './openai-paging.ts';

const IDS = ['a', 'b', 'c', 'd', 'e'];

/** A store that does what `scanOf` says. */
function pageOf(query: Parameters<typeof readOpenAiPage>[0]) {
  const page: OpenAiPageRequest = readOpenAiPage(query);
  const { from, direction } = scanOf(page);
  const beyond = IDS.filter((id) => from === undefined || (direction === 'asc' ? id > from : id < from));
  const rows = (direction === 'asc' ? beyond : beyond.toReversed()).slice(0, page.limit + 1);
  const { data, ...rest } = openAiPageReply(rows, page, (id) => ({ id }));
  return { ids: data.map(({ id }) => id).join(''), ...rest };
}

const envelope = { object: 'list' as const };

test('a list runs newest first unless it is asked for oldest first', () => {
  assert.deepEqual(pageOf({ limit: 2 }), { ...envelope, ids: 'ed', first_id: 'e', last_id: 'd', has_more: true });
  assert.deepEqual(pageOf({ limit: 2, order: 'asc' }), {
    ...envelope,
    ids: 'ab',
    first_id: 'a',
    last_id: 'b',
    has_more: true,
  });
});

test('`after` goes on behind an object until nothing is left', () => {
  assert.deepEqual([pageOf({ limit: 2, after: 'd' }).ids, pageOf({ limit: 2, after: 'd' }).has_more], ['cb', true]);
  assert.deepEqual([pageOf({ limit: 2, after: 'b' }).ids, pageOf({ limit: 2, after: 'b' }).has_more], ['a', false]);
  assert.deepEqual(pageOf({ after: 'a' }), { ...envelope, ids: '', first_id: null, last_id: null, has_more: false });
  assert.equal(pageOf({ order: 'asc', after: 'c' }).ids, 'de');
});

test('`before` gives the page next to an object, in the order of the list', () => {
  assert.deepEqual([pageOf({ limit: 2, before: 'b' }).ids, pageOf({ limit: 2, before: 'b' }).has_more], ['dc', true]);
  assert.equal(pageOf({ limit: 2, order: 'asc', before: 'd' }).ids, 'bc');
  assert.equal(pageOf({ before: 'e' }).ids, '');
});

test('`after` and `before` together are refused', () => {
  assert.throws(() => readOpenAiPage({ after: 'a', before: 'c' }), { code: 'invalid_cursor' });
});
