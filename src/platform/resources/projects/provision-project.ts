/** Making organizations and projects, for the operations and for a server's first start. */
import type { Transaction } from '../../../kernel/db/database.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { systemDb } from '../../store/tenant-db.ts';
import type { JsonObject } from '../../tables.ts';
import { changeOrganization, findProjectByName, insertOrganization, insertProject, type ProjectRow } from './store.ts';

/** Each further attempt needs another transaction to make and another to archive the name in between. */
const MAX_ATTEMPTS = 5;

export interface Provisioned {
  readonly project: ProjectRow;
  /** False: a live project of this name was there already and is left as it is. */
  readonly created: boolean;
}

export async function createOrganization(
  tx: Transaction,
  { name, contactEmail = null }: { name: string; contactEmail?: string | null },
): Promise<{ id: string; name: string }> {
  const organization = { id: mintId('org'), name, contact_email: contactEmail };
  await insertOrganization(systemDb(tx), organization);
  return organization;
}

/** What is undefined stays. */
export async function updateOrganization(
  tx: Transaction,
  id: string,
  { name, contactEmail }: { name?: string | undefined; contactEmail?: string | null | undefined },
): Promise<{ name: string; contact_email: string | null }> {
  return changeOrganization(systemDb(tx), id, {
    ...(name === undefined ? {} : { name }),
    ...(contactEmail === undefined ? {} : { contact_email: contactEmail }),
  });
}

/** The organization's live project of this name: made, unless there is one. Parallel calls agree on one project. */
export async function createProject(
  tx: Transaction,
  { organizationId, name, metadata = {} }: { organizationId: string; name: string; metadata?: JsonObject },
): Promise<Provisioned> {
  const db = systemDb(tx);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const made = await insertProject(db, { id: mintId('proj'), organization_id: organizationId, name, metadata });
    if (made !== undefined) return { project: made, created: true };
    const existing = await findProjectByName(db, organizationId, name);
    if (existing !== undefined) return { project: existing, created: false };
  }
  throw new Error(`the project name was taken and given up ${MAX_ATTEMPTS} times while it was being provisioned`);
}
