import type { Database } from '../../../kernel/db/database.ts';
import { findPage } from '../../hosted/index.ts';
import type { HostedPageOut, HostedPagePath } from './schema.ts';

export async function getHostedPage({
  db,
  params,
}: {
  readonly db: Database;
  readonly params: HostedPagePath;
}): Promise<HostedPageOut> {
  const { id, settings, sealedSecrets, status } = await findPage(db, params.depid);
  const { title, greeting } = settings;
  return { id, title, greeting, requires_password: sealedSecrets !== null, status };
}
