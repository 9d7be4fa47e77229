import type { ProjectRead } from '../../access/operation.ts';
import type { SandboxSecretList } from './schema.ts';
import { listSandboxSecrets } from './store.ts';

export async function listSecrets({ db }: ProjectRead): Promise<SandboxSecretList> {
  const rows = await listSandboxSecrets(db);
  return { data: rows.map(({ name, updated_at }) => ({ name, updated_at: updated_at.toISOString() })) };
}
