/** The place of a page in a search, as text to hand out: results are ranked anew for each page, and counted from the top. */
import { createHash } from 'node:crypto';
import { ApiError } from '../../../kernel/http/errors.ts';

const FORM = /^p1\.(\d{1,6})\.([0-9a-f]{16})$/;

/** `search` is what must stay the same from page to page. */
export function writePageToken(offset: number, search: unknown): string {
  return Buffer.from(`p1.${offset}.${fingerprintOf(search)}`).toString('base64url');
}

/** 0 without a token. Throws `invalid_cursor` for one of another search. */
export function readPageToken(token: string | null | undefined, search: unknown): number {
  if (token === null || token === undefined) return 0;
  const [, offset, fingerprint] = FORM.exec(Buffer.from(token, 'base64url').toString('latin1')) ?? [];
  if (
    offset === undefined ||
    fingerprint !== fingerprintOf(search) ||
    writePageToken(Number(offset), search) !== token
  ) {
    throw new ApiError('invalid_cursor', {
      param: 'page',
      message:
        'The page is not of this search. Pass `next_page` back unchanged and repeat the search with it, or leave `page` out.',
    });
  }
  return Number(offset);
}

function fingerprintOf(search: unknown): string {
  return createHash('sha256').update(JSON.stringify(search)).digest('hex').slice(0, 16);
}
