import { findChange } from '../../registrant-changes/index.ts';
import type { WorkspaceDb } from '../../workspace-scope.ts';
import type { WaitingChange } from './schema.ts';

export async function renderChange(db: WorkspaceDb, now: Date): Promise<WaitingChange | null> {
  const row = await findChange(db, now);
  if (row === undefined) return null;
  return {
    name: row.name,
    organization: row.organization,
    email: row.email,
    asked_at: row.asked_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    consents: {
      present: row.present_consented_at?.toISOString() ?? null,
      next: row.next_consented_at?.toISOString() ?? null,
    },
    transfer_lock: row.locks_transfers,
  };
}
