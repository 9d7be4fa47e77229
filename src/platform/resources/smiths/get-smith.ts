import type { Executor } from '../../../kernel/db/database.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { getSmithRow } from '../../smiths/smith-store.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { renderSmith } from './render-smith.ts';
import type { Smith, SmithPath } from './schema.ts';

export async function getSmith(request: { db: Executor; caller: ProjectCaller; params: SmithPath }): Promise<Smith> {
  return renderSmith(await getSmithRow(tenantDb(request.db, request.caller.projectId), request.params.sid));
}
