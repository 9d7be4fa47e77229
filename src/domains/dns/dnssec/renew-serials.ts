/**
 * Secondaries that copy a signed zone copy its signatures, and look only at its serial for whether to do so again. PowerDNS makes signatures
 * anew each week, for three weeks, without a change of the zone: so its serial grows by itself often enough that no copy is ever as old as its signatures.
 */

import { sql } from 'kysely';
import type { Database } from '../../../kernel/db/database.ts';
import { asLook } from '../../../kernel/db/looks.ts';
import { systemDb } from '../../workspace-scope.ts';
import { ZONE_CHANGED } from '../zone-store.ts';

const RENEW_MS = 3 * 86_400_000;
const BATCH_SIZE = 100;

/** Those that are due, a batch of them. Any number of processes may do so at a time. */
export async function renewSerials(db: Database, now: Date): Promise<void> {
  const before = new Date(now.getTime() - RENEW_MS);
  const count = await db.transaction(async (tx) => {
    const { rows } = await sql<{ name: string }>`
      update domains.zones z set serial_renewed_at = ${now}, version = z.version + 1,
        serial = (z.serial + 1) % 4294967296, updated_at = now()
      where (z.workspace_id, z.domain_id) in (
        select d.workspace_id, d.domain_id from domains.zones d
        where d.dnssec <> 'off' and not d.is_closed and not d.is_withdrawn
          and coalesce(d.serial_renewed_at, d.ds_handed_at) <= ${before}
        limit ${BATCH_SIZE} for no key update skip locked)
      returning z.name`.execute(systemDb(asLook(tx)));
    for (const { name } of rows) await tx.notify(ZONE_CHANGED, name);
    return rows.length;
  });
  if (count === BATCH_SIZE) await renewSerials(db, now);
}
