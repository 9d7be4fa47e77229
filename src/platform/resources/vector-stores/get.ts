import type { ProjectCaller } from '../../access/caller.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { renderVectorStore } from './render.ts';
import type { VectorStore, VectorStorePath } from './schema.ts';
import { getVisibleStore } from './store-visibility.ts';

export async function getVectorStore(request: {
  db: TenantDb;
  caller: ProjectCaller;
  params: VectorStorePath;
}): Promise<VectorStore> {
  return renderVectorStore(await getVisibleStore(request.db, request.caller, request.params.vsId));
}
