import type { ProjectRead } from '../../../access/operation.ts';
import type { UiResource } from '../../../configuration/schema.ts';
import { requireResource } from './find-resource.ts';
import type { UiResourcePath, UiResourceQuery } from './schema.ts';

export async function getUi({
  db,
  params,
  query,
}: ProjectRead<{ params: UiResourcePath; query: UiResourceQuery }>): Promise<UiResource> {
  return requireResource(db, params.aid, params.name, query.version);
}
