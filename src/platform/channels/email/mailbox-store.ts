/** Mailboxes: deployments of the kind, by their addresses. */
import type { TenantDb } from '../../store/tenant-db.ts';
import type { JsonObject } from '../../tables.ts';

export interface Mailbox {
  readonly id: string;
  readonly address: string;
  readonly smith_id: string | null;
  /** What people see; null for none. */
  readonly display_name: string | null;
  /** Whom alone it obeys; null: everybody. */
  readonly owner_email: string | null;
}

/** Those of the addresses that somebody has. */
export async function findMailboxes(db: TenantDb, addresses: readonly string[]): Promise<readonly Mailbox[]> {
  if (addresses.length === 0) return [];
  const rows = await db
    .selectFrom('deployments')
    .select(['id', 'address', 'smith_id', 'provider_metadata'])
    .where('kind', '=', 'email')
    .where('status', '=', 'active')
    .where('address', 'in', [...addresses])
    .execute();
  return rows.map(({ id, address, smith_id, provider_metadata }) => ({
    ...{ id, address: address ?? '', smith_id },
    display_name: textOf(provider_metadata, 'display_name'),
    owner_email: textOf(provider_metadata, 'owner_email'),
  }));
}

function textOf(metadata: JsonObject, name: string): string | null {
  const value = metadata[name];
  return typeof value === 'string' ? value : null;
}
