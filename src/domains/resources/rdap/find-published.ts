/** A name that is with our registrar account, and what RDAP tells of it: of whichever workspace, as registration data are for everybody. */
import type { Database } from '../../../kernel/db/database.ts';
import { findDomainById, findOwner } from '../../portfolio/index.ts';
import { getRegistrant } from '../../registrant.ts';
import { systemDb, workspaceDb } from '../../workspace-scope.ts';
import type { PublishedDomain } from './render-domain.ts';

/** Undefined: the registry has not reported it as ours, or it has left. */
export async function findPublished(db: Database, name: string): Promise<PublishedDomain | undefined> {
  const owner = await findOwner(systemDb(db), name);
  if (owner === undefined || owner.state !== 'active') return undefined;
  const scoped = workspaceDb(db, owner.workspace_id);
  const row = await findDomainById(scoped, owner.id);
  if (row?.state !== 'active' || row.snapshot === null || !row.snapshot.isOurs) return undefined;
  if (row.transfer_out?.state === 'approved' && row.missing_since !== null) return undefined;
  return {
    info: row.snapshot,
    syncedAt: row.synced_at,
    paidUntil: row.billed_until,
    registrant: await getRegistrant(scoped),
  };
}
