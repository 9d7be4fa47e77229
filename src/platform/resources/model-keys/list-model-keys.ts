import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { findSmith } from '../../smiths/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { renderModelKey } from './render-model-key.ts';
import type { ModelKeyList, SmithPath } from './schema.ts';
import { listModelKeys, TENANT_OWNER } from './store.ts';

export async function listTenantModelKeys({ db }: ProjectRead): Promise<ModelKeyList> {
  return listOf(db, TENANT_OWNER);
}

export async function listSmithModelKeys(request: ProjectRead<{ params: SmithPath }>): Promise<ModelKeyList> {
  const db = request.db;
  if ((await findSmith(db, request.params.sid)) === undefined) throw new ApiError('not_found');
  return listOf(db, request.params.sid);
}

async function listOf(db: TenantDb, owner: string): Promise<ModelKeyList> {
  return { data: (await listModelKeys(db, owner)).map(renderModelKey) };
}
