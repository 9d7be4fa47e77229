import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { renderSmith } from './render-smith.ts';
import type { Smith, SmithPath } from './schema.ts';
import { findSmith } from './store.ts';

export async function getSmith(request: { db: Executor; caller: ProjectCaller; params: SmithPath }): Promise<Smith> {
  const row = await findSmith(tenantDb(request.db, request.caller.projectId), request.params.sid);
  if (row === undefined) throw new ApiError('not_found');
  return renderSmith(row);
}
