/** Reads lists of large rows page by page. */
import assert from 'node:assert/strict';
import type { TestProject } from '../support/platform.ts';

export const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** To compress such pages takes as long as all the rest. */
export const PLAIN = { 'accept-encoding': 'identity' };

/** Characters. */
export const LARGE = 3_000_000;
/** Rows of this size: three to a page. */
export const ROWS = 7;
export const PAGES = 3;
export const numbers = Array.from({ length: ROWS }, (_, index) => index + 1);

/** SQL of a text so large. */
export const TEXT = `repeat('x', ${LARGE})`;

/** Every id (or version) of the list, page by page, each no larger than a page and its last row. */
export async function readAll(
  p: TestProject,
  path: string,
  rowBytes: number,
  key: 'id' | 'version' = 'id',
): Promise<{ ids: (string | number)[]; pages: number }> {
  const ids: (string | number)[] = [];
  let cursor: string | null = null;
  for (let pages = 1; ; pages += 1) {
    const joint = path.includes('?') ? '&' : '?';
    const answer = await p.get(`${path}${joint}limit=100${cursor === null ? '' : `&cursor=${cursor}`}`, PLAIN);
    assert.equal(answer.status, 200, answer.text.slice(0, 300));
    assert.ok(answer.text.length < MAX_PAGE_BYTES + rowBytes, `${answer.text.length} bytes`);
    ids.push(...answer.body.data.map((row: Record<'id' | 'version', string | number>) => row[key]));
    cursor = answer.body.next_cursor;
    assert.equal(answer.body.has_more, cursor !== null);
    if (cursor === null) return { ids, pages };
  }
}
