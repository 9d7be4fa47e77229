/** Paging of lists that are numbered rather than timed: an agent's versions, a smith's revisions. Newest first. */
import { ApiError } from '../../kernel/http/errors.ts';
import type { PageRequest } from '../../kernel/http/paging.ts';
import type { PageOrder } from '../store/fit-page.ts';
import { MAX_VERSION } from './schema.ts';

export const NEWEST_VERSION_FIRST: PageOrder = { by: ['version'], direction: 'desc' };

/** The page holds versions below this one. Throws `invalid_cursor` for another list's cursor. */
export function versionBefore({ after }: PageRequest): number {
  if (after === undefined) return MAX_VERSION;
  const version = Number(after);
  if (!/^[1-9]\d*$/.test(after) || version > MAX_VERSION) throw new ApiError('invalid_cursor', { param: 'cursor' });
  return version;
}
