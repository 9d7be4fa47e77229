/** Rows of ALIAS records' answers. */
import type { Database, Executor, Transaction } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { lockZone, type ZoneRef, zoneChanged } from '../zone-store.ts';
import type { AddressType } from './alias-targets.ts';

export interface AliasAddress {
  readonly type: AddressType;
  readonly value: string;
}

/** What is served of an ALIAS record. */
export interface AliasAnswer {
  readonly addresses: readonly AliasAddress[];
  /** Seconds; null: the target has never answered. */
  readonly ttl: number | null;
}

/** Why there are no addresses, or none but old ones. */
export type AliasProblem = 'no_such_name' | 'no_addresses' | 'private_addresses' | 'loop' | 'no_answer';

/** An ALIAS record whose target this process is to look up. */
export interface ClaimedAlias extends AliasAnswer, ZoneRef {
  /** As the record has it, with its last dot. */
  readonly target: string;
  readonly resolvedAt: Date | null;
  /** When the record was made. */
  readonly madeAt: Date;
  readonly attempts: number;
  /** Names the claim. */
  readonly lookAt: Date;
}

export interface AliasLook extends AliasAnswer {
  readonly resolvedAt: Date | null;
  readonly attempts: number;
  readonly problem: AliasProblem | null;
  readonly nextLookAt: Date;
}

/** Longer than any look takes: a process that holds a claim for longer has ended. */
const CLAIM_MS = 60_000;
const BATCH_SIZE = 50;

export interface DueAliases {
  /** Whether there is anything for the two below. */
  readonly areDue: boolean;
  /** When one is looked up next of those that are not due. */
  readonly nextLookAt: Date | undefined;
}

/** One look at what is nearly always nothing. */
export async function findDueAliases(db: Database, now: Date): Promise<DueAliases> {
  const { rows } = await db.query<{ are_due: boolean; next_look_at: Date | null }>({
    text: `select exists (
        select from domains.alias_answers a
        left join domains.dns_records r on r.workspace_id = a.workspace_id and r.domain_id = a.domain_id and r.type = 'ALIAS'
        left join domains.zones z on z.workspace_id = a.workspace_id and z.domain_id = a.domain_id and not z.is_withdrawn
        where r.value is null or z.name is not null and (a.look_at <= $1 or a.target <> r.value)
      ) or exists (
        select from domains.dns_records r
        left join domains.alias_answers a on a.workspace_id = r.workspace_id and a.domain_id = r.domain_id
        where r.type = 'ALIAS' and a.target is null
      ) as are_due, (select min(look_at) from domains.alias_answers where look_at > $1) as next_look_at`,
    values: [now],
  });
  return { areDue: rows[0]?.are_due === true, nextLookAt: rows[0]?.next_look_at ?? undefined };
}

/** Gives every ALIAS record a row, and takes away those of records that are gone. */
export async function matchAliases(db: Database, now: Date): Promise<void> {
  await db.query({
    text: `delete from domains.alias_answers a where not exists (
        select from domains.dns_records r
        where r.workspace_id = a.workspace_id and r.domain_id = a.domain_id and r.type = 'ALIAS')`,
    values: [],
  });
  await db.query({
    text: `insert into domains.alias_answers (workspace_id, domain_id, target, look_at)
      select r.workspace_id, r.domain_id, r.value, $1 from domains.dns_records r
      where r.type = 'ALIAS' and not exists (
        select from domains.alias_answers a where a.workspace_id = r.workspace_id and a.domain_id = r.domain_id)
      on conflict do nothing`,
    values: [now],
  });
}

/** Serves these addresses, with the shortest of their TTLs, for a new ALIAS record until its target has been looked up, which is due at once. */
export async function serveMeanwhile(
  tx: Transaction,
  zone: ZoneRef,
  target: string,
  records: readonly { readonly type: string; readonly value: string; readonly ttl: number }[],
): Promise<void> {
  const addresses = records.map(({ type, value }) => ({ type, value }));
  await tx.query({
    text: `insert into domains.alias_answers (workspace_id, domain_id, target, addresses, ttl, look_at)
      values ($1, $2, $3, $4, $5, to_timestamp(0))
      on conflict (workspace_id, domain_id) do update
      set target = excluded.target, addresses = excluded.addresses, ttl = excluded.ttl, resolved_at = null,
        attempts = 0, problem = null, look_at = excluded.look_at, changed_at = now()`,
    values: [zone.workspaceId, zone.domainId, target, json(addresses), Math.min(...records.map(({ ttl }) => ttl))],
  });
}

interface ClaimedRow {
  workspace_id: string;
  domain_id: string;
  name: string;
  target: string;
  addresses: AliasAddress[];
  ttl: number | null;
  resolved_at: Date | null;
  made_at: Date;
  attempts: number;
}

/** Those that are due, and those whose record has another target by now. */
export async function claimAliases(db: Database, now: Date): Promise<ClaimedAlias[]> {
  const lookAt = new Date(now.getTime() + CLAIM_MS);
  const { rows } = await db.query<ClaimedRow>({
    text: `with due as (
        select a.workspace_id, a.domain_id, r.value, r.created_at, z.name, a.target = r.value as is_same from domains.alias_answers a
        join domains.dns_records r on r.workspace_id = a.workspace_id and r.domain_id = a.domain_id and r.type = 'ALIAS'
        join domains.zones z on z.workspace_id = a.workspace_id and z.domain_id = a.domain_id and not z.is_withdrawn
        where a.look_at <= $1 or a.target <> r.value
        order by a.look_at limit $3 for update of a skip locked)
      update domains.alias_answers a
      set look_at = $2, target = due.value, attempts = case when due.is_same then a.attempts else 0 end
      from due where a.workspace_id = due.workspace_id and a.domain_id = due.domain_id
      returning a.workspace_id, a.domain_id, due.name, a.target, a.addresses, a.ttl, a.resolved_at,
        due.created_at as made_at, a.attempts`,
    values: [now, lookAt, BATCH_SIZE],
  });
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    domainId: row.domain_id,
    name: row.name,
    target: row.target,
    addresses: row.addresses,
    ttl: row.ttl,
    resolvedAt: row.resolved_at,
    madeAt: row.made_at,
    attempts: row.attempts,
    lookAt,
  }));
}

/** Keeps what was found, unless the claim was lost; the zone counts as changed where what it serves does. */
export async function saveLook(db: Database, alias: ClaimedAlias, look: AliasLook): Promise<void> {
  await db.transaction(async (tx) => {
    if (!(await lockZone(tx, alias))) return;
    const { rowCount } = await tx.query({
      text: `update domains.alias_answers
        set addresses = $5, ttl = $6, resolved_at = $7, attempts = $8, problem = $9, look_at = $10, changed_at = now()
        where workspace_id = $1 and domain_id = $2 and target = $3 and look_at = $4`,
      values: [
        ...[alias.workspaceId, alias.domainId, alias.target, alias.lookAt],
        ...[json(look.addresses), look.ttl, look.resolvedAt, look.attempts, look.problem, look.nextLookAt],
      ],
    });
    if (rowCount > 0 && isChanged(alias, look)) await zoneChanged(tx, alias);
  });
}

function isChanged(before: AliasAnswer, after: AliasAnswer): boolean {
  return json(before.addresses) !== json(after.addresses) || (after.addresses.length > 0 && before.ttl !== after.ttl);
}

export async function findAliasAnswer(executor: Executor, zone: ZoneRef): Promise<AliasAnswer | undefined> {
  const { rows } = await executor.query<{ addresses: AliasAddress[]; ttl: number | null }>({
    text: 'select addresses, ttl from domains.alias_answers where workspace_id = $1 and domain_id = $2',
    values: [zone.workspaceId, zone.domainId],
  });
  return rows[0];
}

/** Where the ALIAS records of zones with these names point to, without the last dot. */
export async function listTargets(db: Database, names: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ target: string }>({
    text: `select rtrim(r.value, '.') as target from domains.zones z
      join domains.dns_records r on r.workspace_id = z.workspace_id and r.domain_id = z.domain_id and r.type = 'ALIAS'
      where z.name = any($1::text[]) and not z.is_closed`,
    values: [names],
  });
  return rows.map(({ target }) => target);
}
