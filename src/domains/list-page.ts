/** Lists of the service that run newest first: `limit` and `after` ask for a page, `next_after` leads to the next one. */
import { HttpReply } from '../kernel/http/operation.ts';
import { DEFAULT_PAGE_SIZE } from '../kernel/http/paging.ts';
import { nullable } from '../kernel/http/schema.ts';
import { Type } from '../kernel/http/type-builder.ts';

const MAX_PAGE_SIZE = 100;

export const ListQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE_SIZE,
      default: DEFAULT_PAGE_SIZE,
      description: 'How many to return.',
    }),
  ),
  after: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'The previous page’s `next_after`: what is older than it.',
    }),
  ),
});
export type ListQuery = { readonly limit?: number; readonly after?: string };

export const nextAfter = nullable(Type.String(), { description: 'Pass it back as `after`; null on the last page.' });

/** How many rows to read: one more than are shown says that there are more. */
export function rowsOf({ limit = DEFAULT_PAGE_SIZE }: ListQuery): number {
  return limit + 1;
}

/** `page` makes the answer of the rows that are shown. Nobody keeps it. */
export function listReply<Row extends { readonly id: string }, Body>(
  query: ListQuery,
  rows: readonly Row[],
  page: (shown: readonly Row[], next: string | null) => Body,
): HttpReply<Body> {
  const shown = rows.slice(0, rowsOf(query) - 1);
  const next = rows.length > shown.length ? (shown.at(-1)?.id ?? null) : null;
  return new HttpReply(200, page(shown, next), NOT_KEPT);
}

export const NOT_KEPT = { 'cache-control': 'private, no-store' } as const;
