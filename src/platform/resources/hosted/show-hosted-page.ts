import type { Database } from '../../../kernel/db/database.ts';
import { findPage, showPage } from '../../hosted/index.ts';
import type { HostedPagePath } from './schema.ts';

export async function showHostedPage({ db, params }: { readonly db: Database; readonly params: HostedPagePath }) {
  return showPage(await findPage(db, params.depid));
}
