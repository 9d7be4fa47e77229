import type { Executor } from '../../../kernel/db/database.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { renderVectorStore } from './render.ts';
import type { VectorStore, VectorStorePath } from './schema.ts';
import { getVisibleStore } from './store-visibility.ts';

export async function getVectorStore(request: {
  db: Executor;
  caller: ProjectCaller;
  params: VectorStorePath;
}): Promise<VectorStore> {
  return renderVectorStore(await getVisibleStore(request.db, request.caller, request.params.vsId));
}
