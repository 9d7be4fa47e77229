/** New keys begin: those that an operator asks for, and those of zones whose keys have become old. roll-key.ts carries them out. */

import { sql } from 'kysely';
import type { Database } from '../../../kernel/db/database.ts';
import { asLook } from '../../../kernel/db/looks.ts';
import { systemDb } from '../../workspace-scope.ts';
import { DNSSEC_REQUESTED, type DnssecState } from './request-dnssec.ts';

export type RollState = 'signing' | 'parent' | 'retiring';

/** What of a zone's DNSSEC an operator sees. */
export interface ZoneKey {
  readonly name: string;
  readonly dnssec: DnssecState;
  readonly roll_state: RollState | null;
  /** When the present key came. */
  readonly key_since: Date | null;
  readonly next_look_at: Date | null;
  /** In our words, as its owner reads it. */
  readonly failure: string | null;
  readonly registry_said: string | null;
}

const columns = sql<ZoneKey>`z.name, z.dnssec, z.roll_state, coalesce(z.key_since, z.ds_handed_at) as key_since,
  z.dnssec_next_look_at as next_look_at, coalesce(z.dnssec_failure, z.dnssec_refusal) as failure,
  z.dnssec_registry_said as registry_said`;

/** Begins a new key, unless one is under way; undefined: there is no such zone, or it is not signed. */
export async function requestRoll(db: Database, name: string): Promise<ZoneKey | undefined> {
  return db.transaction(async (tx) => {
    const { rows } = await sql<ZoneKey>`
      update domains.zones z set roll_state = coalesce(z.roll_state, 'signing'),
        dnssec_next_look_at = case when z.roll_state is null then null else z.dnssec_next_look_at end
      where z.name = ${name} and z.dnssec = 'on' and not z.is_closed
      returning ${columns}`.execute(systemDb(tx));
    if (rows.length > 0) await tx.notify(DNSSEC_REQUESTED, name);
    return rows[0];
  });
}

/** Zones whose keys are changed at a time: so many of them began on one day, and registries have limits. */
const MOST_AT_ONCE = 100;

/** Begins new keys of zones whose present ones came before that time. */
export async function rollOldKeys(db: Database, before: Date): Promise<void> {
  await sql`
    update domains.zones z set roll_state = 'signing', dnssec_next_look_at = null
    where (z.workspace_id, z.domain_id) in (
      select o.workspace_id, o.domain_id from domains.zones o
      where o.dnssec = 'on' and o.roll_state is null and not o.is_closed and coalesce(o.key_since, o.ds_handed_at) <= ${before}
      order by coalesce(o.key_since, o.ds_handed_at)
      limit greatest(0, ${MOST_AT_ONCE} - (select count(*) from domains.zones r where r.roll_state is not null))
      for no key update skip locked)`.execute(systemDb(asLook(db)));
}

/** Signed zones of which a key is changed; or all, and those that a registry has refused to have signed. By their names. */
export async function listKeys(
  db: Database,
  { all, limit }: { readonly all: boolean; readonly limit: number },
): Promise<ZoneKey[]> {
  const { rows } = await sql<ZoneKey>`
    select ${columns} from domains.zones z
    where not z.is_closed and (z.roll_state is not null or (${all} and (z.dnssec <> 'off' or z.dnssec_refusal is not null)))
    order by z.name limit ${limit}`.execute(systemDb(db));
  return rows;
}
