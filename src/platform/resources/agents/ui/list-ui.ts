import type { ProjectRead } from '../../../access/operation.ts';
import type { AgentPath } from '../schema.ts';
import { readResources } from './find-resource.ts';
import type { UiResourceList, UiResourceQuery } from './schema.ts';

export async function listUi({
  db,
  params,
  query,
}: ProjectRead<{ params: AgentPath; query: UiResourceQuery }>): Promise<UiResourceList> {
  return { data: await readResources(db, params.aid, query.version) };
}
