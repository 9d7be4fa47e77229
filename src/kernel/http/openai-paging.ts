/**
 * Lists of the OpenAI dialect: `limit`, `order`, and the id of an object of the list as `after` or `before`. Clients page
 * on the last id that they were given, which may be that of an object that is gone by then: the page begins where it stood.
 */
import type { TSchema } from 'typebox';
import { ApiError } from './errors.ts';
import { failsWith, nullable } from './schema.ts';
import { Type } from './type-builder.ts';

const OPENAI_PAGE_SIZE = 20;
const OPENAI_MAX_PAGE_SIZE = 100;

const place = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 256, description, ...failsWith('invalid_cursor') }));

/** Query members of every list of the dialect. */
export const openAiPageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: OPENAI_MAX_PAGE_SIZE,
      default: OPENAI_PAGE_SIZE,
      description: `How many to return, 1 to ${OPENAI_MAX_PAGE_SIZE}.`,
      ...failsWith('invalid_limit'),
    }),
  ),
  order: Type.Optional(
    Type.Union([Type.Literal('asc'), Type.Literal('desc')], {
      default: 'desc',
      description: 'By creation: `asc` oldest first, `desc` newest first.',
    }),
  ),
  after: place(
    'Objects behind this one, in the order of the list. It may have been deleted meanwhile, up to 30 days ago.',
  ),
  before: place(
    'Objects ahead of this one, in the order of the list: the page that ends next to it. It may have been deleted, as with `after`.',
  ),
};

/** `{object:"list", data, first_id, last_id, has_more}`. */
export function openAiListOf<T extends TSchema>(item: T) {
  return Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    first_id: nullable(Type.String()),
    last_id: nullable(Type.String()),
    has_more: Type.Boolean(),
  });
}

export interface OpenAiPageRequest {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  readonly after: string | undefined;
  readonly before: string | undefined;
}

/** Reads the query. Throws `invalid_cursor` where both `after` and `before` are given. */
export function readOpenAiPage(query: {
  limit?: number;
  order?: 'asc' | 'desc';
  after?: string;
  before?: string;
}): OpenAiPageRequest {
  if (query.after !== undefined && query.before !== undefined) {
    throw new ApiError('invalid_cursor', { param: 'before', message: 'Give `after` or `before`, not both.' });
  }
  return {
    limit: query.limit ?? OPENAI_PAGE_SIZE,
    order: query.order ?? 'desc',
    after: query.after,
    before: query.before,
  };
}

/**
 * How to read the page from the store: rows on this side of `from` in this direction, `limit + 1` of them. A page before
 * an object is read backwards from it; `openAiPageReply` turns it round again.
 */
export function scanOf(page: OpenAiPageRequest): { from: string | undefined; direction: 'asc' | 'desc' } {
  const backwards = page.before !== undefined;
  return { from: page.before ?? page.after, direction: backwards === (page.order === 'asc') ? 'desc' : 'asc' };
}

/**
 * Throws `invalid_cursor` unless the page starts at a place in the list, for lists in the order of their ids. `isPlace` says
 * whether the id is that of an object which the list shows to this caller, or showed until it went. An id that is none
 * would pass for a place between two others.
 */
export async function requirePlace(page: OpenAiPageRequest, isPlace: (id: string) => Promise<boolean>): Promise<void> {
  const { from } = scanOf(page);
  if (from === undefined || (await isPlace(from))) return;
  throw placeNotFound(page);
}

/** What a page is refused with whose `after` or `before` is no object of the list. */
export function placeNotFound(page: OpenAiPageRequest): ApiError {
  const param = page.before === undefined ? 'after' : 'before';
  const message = `\`${param}\` names no object of this list. Take an id from the list, or start at the first page.`;
  return new ApiError('invalid_cursor', { param, message });
}

/**
 * Makes the envelope from up to `limit + 1` rows in the order of `scanOf`: the extra row only says that there is more, and so
 * does `isCut`, for a page that ends before.
 */
export function openAiPageReply<Row, Item extends { readonly id: string }>(
  rows: readonly Row[],
  page: OpenAiPageRequest,
  render: (row: Row) => Item,
  isCut = false,
): { object: 'list'; data: Item[]; first_id: string | null; last_id: string | null; has_more: boolean } {
  const shown = rows.slice(0, page.limit).map(render);
  if (page.before !== undefined) shown.reverse();
  return {
    object: 'list',
    data: shown,
    first_id: shown[0]?.id ?? null,
    last_id: shown.at(-1)?.id ?? null,
    has_more: isCut || rows.length > page.limit,
  };
}

/** `{id, object, deleted: true}`. */
export function deletedReply<T extends string>(object: T) {
  return Type.Object({
    id: Type.String(),
    object: Type.Literal(object),
    deleted: Type.Literal(true),
  }) satisfies TSchema;
}
