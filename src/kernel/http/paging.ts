/**
 * Keyset paging. Ids are time-ordered, so a page is "ids beyond the last one seen" and costs the same at any depth.
 * Native lists run newest first and hand out an opaque cursor; see openai-paging.ts for the other dialect.
 */
import { createHash } from 'node:crypto';
import type { TSchema } from 'typebox';
import { ApiError } from './errors.ts';
import { failsWith, nullable } from './schema.ts';
import { Type } from './type-builder.ts';

export const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 100;

/** Query members of every native list. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE_SIZE,
      default: DEFAULT_PAGE_SIZE,
      description: `How many to return, 1 to ${MAX_PAGE_SIZE}.`,
      ...failsWith('invalid_limit'),
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: 512,
      description: 'The previous page’s `next_cursor`, unchanged.',
      ...failsWith('invalid_cursor'),
    }),
  ),
};

/** `{data, next_cursor, has_more}`, newest first. */
export function pageOf<T extends TSchema>(item: T) {
  return Type.Object({
    data: Type.Array(item),
    next_cursor: nullable(Type.String(), { description: 'Pass it back as `cursor`; null on the last page.' }),
    has_more: Type.Boolean(),
  });
}

export interface PageRequest {
  readonly limit: number;
  /** Return rows beyond this key. */
  readonly after: string | undefined;
  /** Which list it is a page of, as its cursors tell it. */
  readonly list: string;
}

type PageQuery = { readonly limit?: number; readonly cursor?: string };

/**
 * Reads `limit` and `cursor`. `place` says which list it is and whose: the operation, the owner, what the path names; the
 * other members of the query filter it. Throws `invalid_cursor` for anything that `pageReply` did not hand out for this
 * very list.
 */
export function readPage(
  { limit, cursor, ...filters }: PageQuery,
  place: readonly (string | undefined)[],
): PageRequest {
  const list = describeList(place, filters);
  return {
    limit: limit ?? DEFAULT_PAGE_SIZE,
    after: cursor === undefined ? undefined : decodeCursor(cursor, list),
    list,
  };
}

/** A page of rows of any size ends where they have this many bytes together: it then has fewer than were asked for. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/**
 * Makes the envelope from up to `limit + 1` rows: the extra row only says that there is more, and so does `isCut`, for a page
 * that ends before. `keyOf` gives the row's position, `render` its public shape.
 */
export function pageReply<Row, Item>(
  rows: readonly Row[],
  page: PageRequest,
  keyOf: (row: Row) => string,
  render: (row: Row) => Item,
  isCut = false,
): { data: Item[]; next_cursor: string | null; has_more: boolean } {
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  const hasMore = isCut || rows.length > page.limit;
  return {
    data: shown.map(render),
    next_cursor: hasMore && last !== undefined ? encodeCursor(keyOf(last), page.list) : null,
    has_more: hasMore,
  };
}

const CURSOR_VERSION = 'c2:';
const CHECKSUM_LENGTH = 16;

function encodeCursor(key: string, list: string): string {
  return Buffer.from(CURSOR_VERSION + checksumOf(key, list) + key).toString('base64url');
}

function decodeCursor(cursor: string, list: string): string {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  const key = text.slice(CURSOR_VERSION.length + CHECKSUM_LENGTH);
  const genuine = /^[\x21-\x7e]{1,1200}$/.test(key) && encodeCursor(key, list) === cursor;
  if (!genuine) throw new ApiError('invalid_cursor', { param: 'cursor' });
  return key;
}

/**
 * A cursor that was cut short or mistyped, or that is of another list, must not pass for a place in this one: rows would be
 * skipped unseen. It is no secret: a key that somebody makes up leads to no row that the list would not show.
 */
function checksumOf(key: string, list: string): string {
  return createHash('sha256').update(`${list}\n${key}`).digest('hex').slice(0, CHECKSUM_LENGTH);
}

function describeList(place: readonly (string | undefined)[], filters: object): string {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined);
  return JSON.stringify([place, given.sort(([one], [other]) => (one < other ? -1 : 1))]);
}
