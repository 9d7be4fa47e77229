import { ApiError } from '../../kernel/http/errors.ts';
import { normalizeName } from '../names/normalize-name.ts';
import type { WorkspaceDb } from '../workspace-scope.ts';
import { type DomainRow, findDomain } from './store.ts';

/**
 * The name in a path, as the workspace has it. Throws `bad_request` for what is no name, and `not_found` for a name
 * outside the portfolio, whether another workspace has it or none.
 */
export async function ownDomain(db: WorkspaceDb, name: string): Promise<DomainRow> {
  const row = await findDomain(db, normalizeName(name, 'name').ascii);
  if (row === undefined) throw new ApiError('not_found');
  return row;
}
