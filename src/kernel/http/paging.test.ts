import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ApiError } from './errors.ts';
import { DEFAULT_PAGE_SIZE, pageReply, readPage } from './paging.ts';

/** Which list a page is of. */
const PLACE = ['proj_1', 'runs'];

/** What keys are made of: ids, version numbers. */
const key = fc.string({ unit: fc.constantFrom(...'abcxyz0189_:-.~!|'), minLength: 1, maxLength: 300 });

describe('a cursor', () => {
  test('leads back to the key that it was made of, whatever the key', () => {
    fc.assert(fc.property(key, (text) => assert.equal(readPage({ cursor: cursorAt(text) }, PLACE).after, text)));
  });

  test('is safe in a URL as it is', () => {
    fc.assert(fc.property(key, (text) => assert.match(cursorAt(text), /^[\w-]+$/)));
  });

  test('is refused with invalid_cursor after any change of one character', () => {
    const character = fc.constantFrom(...'ABYZabyz0189-_=.%');
    fc.assert(
      fc.property(key, fc.nat(), character, fc.constantFrom('replace', 'insert', 'remove'), (text, at, other, how) => {
        const cursor = cursorAt(text);
        const position = at % cursor.length;
        const rest = cursor.slice(how === 'insert' ? position : position + 1);
        const changed = cursor.slice(0, position) + (how === 'remove' ? '' : other) + rest;
        fc.pre(changed !== cursor);
        assertInvalid(changed);
      }),
      { numRuns: 2_000 },
    );
  });

  test('is refused with invalid_cursor when it is any other text', () => {
    fc.assert(fc.property(fc.string(), (text) => assertInvalid(text)));
    fc.assert(fc.property(fc.base64String(), (text) => assertInvalid(text)));
    for (const text of ['', 'c2:', Buffer.from('c2:0000000000000000').toString('base64url')]) assertInvalid(text);
  });
});

describe('a cursor holds for the list that it came from alone', () => {
  test('not for another, another owner’s, or one with other filters', () => {
    for (const place of [['proj_2', 'runs'], ['proj_1', 'smiths'], ['proj_1', 'runs', 'smt_1'], ['proj_1runs'], []]) {
      assertInvalid(cursorAt('k', place));
    }
    assertInvalid(cursorAt('k'), { status: 'failed' });
    assertInvalid(cursorAt('k', PLACE, { status: 'failed' }));
    assertInvalid(cursorAt('k', PLACE, { status: 'failed' }), { status: 'paused' });
  });

  test('whatever the order of the filters and the limit', () => {
    const cursor = cursorAt('k', PLACE, { status: 'failed', since: '2026' });
    assert.equal(readPage({ limit: 9, since: '2026', status: 'failed', cursor } as object, PLACE).after, 'k');
  });
});

describe('a page', () => {
  const rows = ['e', 'd', 'c'];
  const ask = { ...readPage({}, PLACE), limit: 2 };

  test('shows no more than its limit; one row more says that there are more', () => {
    const page = pageReply(rows, ask, String, (row) => row.toUpperCase());
    assert.deepEqual(page.data, ['E', 'D']);
    assert.equal(page.has_more, true);
    assert.equal(readPage({ cursor: page.next_cursor ?? '' }, PLACE).after, 'd');
  });

  test('of all that is left has no cursor', () => {
    for (const left of [[], ['e'], ['e', 'd']]) {
      assert.deepEqual(pageReply(left, ask, String, String), { data: left, next_cursor: null, has_more: false });
    }
  });

  test('begins at the newest row and has a usual size, unless it is asked otherwise', () => {
    const { list } = ask;
    assert.deepEqual(readPage({}, PLACE), { limit: DEFAULT_PAGE_SIZE, after: undefined, list });
    assert.deepEqual(readPage({ limit: 7 }, PLACE), { limit: 7, after: undefined, list });
  });
});

function cursorAt(text: string, place: readonly string[] = PLACE, filters: Record<string, string> = {}): string {
  const { next_cursor } = pageReply([text, 'more'], readPage({ ...filters, limit: 1 }, place), String, String);
  assert.ok(next_cursor);
  return next_cursor;
}

function assertInvalid(cursor: string, filters: Record<string, string> = {}): void {
  assert.throws(
    () => readPage({ cursor, ...filters }, PLACE),
    (error) => error instanceof ApiError && error.code === 'invalid_cursor' && error.detail.param === 'cursor',
    cursor,
  );
}
