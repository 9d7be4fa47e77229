import type { Database } from '../../kernel/db/database.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { findOwner } from './store.ts';

/** A message of the registry is about a transfer of this name to another registrar: the registry is asked about it next. */
export async function announceTransfer(db: Database, name: string, now: Date): Promise<void> {
  const owner = await findOwner(systemDb(db), name);
  if (owner?.state !== 'active') return;
  await workspaceDb(db, owner.workspace_id)
    .updateTable('domains')
    .set({ transfer_out_look_at: now })
    .where('id', '=', owner.id)
    .execute();
}
