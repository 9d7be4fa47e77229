import type { Executor } from '../../../kernel/db/database.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { getVisibleStore } from './get-visible-store.ts';
import { renderVectorStore } from './render.ts';
import type { VectorStore, VectorStorePath } from './schema.ts';

export async function getVectorStore(request: {
  db: Executor;
  caller: ProjectCaller;
  params: VectorStorePath;
}): Promise<VectorStore> {
  return renderVectorStore(await getVisibleStore(request.db, request.caller, request.params.vsId));
}
