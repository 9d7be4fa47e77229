import type { ProjectCaller } from '../../access/caller.ts';
import { getSmithRow } from '../../smiths/smith-store.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { renderSmith } from './render-smith.ts';
import type { Smith, SmithPath } from './schema.ts';

export async function getSmith(request: { db: TenantDb; caller: ProjectCaller; params: SmithPath }): Promise<Smith> {
  return renderSmith(await getSmithRow(request.db, request.params.sid));
}
