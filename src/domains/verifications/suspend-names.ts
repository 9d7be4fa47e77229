/**
 * Which names are out of the DNS as their registrants have not confirmed their addresses in time. This writes the reason down; holds/ tells the
 * registries.
 */

import { sql } from 'kysely';
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database, Executor, Transaction } from '../../kernel/db/database.ts';
import { asLook } from '../../kernel/db/looks.ts';
import { appendEvents } from '../events/index.ts';
import { addDays } from '../registry/term.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { zoneOf } from '../zone-of-name.ts';
import type { AskingTld } from './asking-tlds.ts';
import { lockVerification, VERIFY_DAYS } from './verification.ts';

const BATCH_SIZE = 100;
/** Names that are suspended within so long are told of in one message. */
const GATHER_MS = 300_000;

interface At {
  readonly now: Date;
  readonly asking: readonly AskingTld[];
}

/** Names whose days are over. What locks a verification is about to end it: those wait for the next look. */
export async function suspendNames(db: Database, { asking, now }: At): Promise<void> {
  if (asking.length === 0) return;
  await asLook(db).query({
    text: `
      with overdue as (
        select workspace_id from domains.registrant_verifications
        where verified_at is null and suspend_at <= $1
        for update skip locked
      )
      update domains.domains domain set unverified_at = $1, unverified_told = false, hold_look_at = $1
      from overdue
      where domain.workspace_id = overdue.workspace_id and domain.state = 'active' and domain.unverified_at is null
        and domain.registrant_asked_at <= $2 and ${zoneOf('domain.name')} = any($3::text[])
        and domain.deletion_sent_at is null
        and not coalesce(domain.snapshot -> 'statuses' ?| array['redemptionPeriod', 'pendingDelete'], false)`,
    values: [now, addDays(now, -VERIFY_DAYS), asking.map(({ tld }) => tld)],
  });
}

/**
 * Names whose registrants are verified, or whose TLD does not ask any more; `asking` undefined: as it did. All of them, or one workspace's. What
 * somebody else has locked waits for the next look.
 */
export async function freeNames(
  executor: Executor,
  {
    asking,
    now,
    workspaceId = null,
  }: { readonly now: Date; readonly asking: readonly AskingTld[] | undefined; readonly workspaceId?: string | null },
): Promise<void> {
  await executor.query({
    text: `
      with free as (
        select workspace_id, id from domains.domains domain
        where domain.unverified_at is not null and domain.state = 'active' and ($2::text is null or domain.workspace_id = $2)
          and (
            not exists (
              select from domains.registrant_verifications verification
              where verification.workspace_id = domain.workspace_id and verified_at is null and suspend_at <= $1
            )
            or ${zoneOf('domain.name')} <> all($3::text[])
          )
        for update skip locked
      )
      update domains.domains domain set unverified_at = null, hold_look_at = $1
      from free
      where domain.workspace_id = free.workspace_id and domain.id = free.id`,
    values: [now, workspaceId, asking?.map(({ tld }) => tld) ?? null],
  });
}

/** Events of names that the registry has taken out of the DNS, and the message about them. */
export async function tellSuspended({ clock, db }: { readonly clock: Clock; readonly db: Database }): Promise<void> {
  const untold = await systemDb(db)
    .selectFrom('domains')
    .select('workspace_id')
    .distinct()
    .where(isUntold)
    .limit(BATCH_SIZE)
    .execute();
  for (const { workspace_id: workspaceId } of untold)
    await db.transaction((tx) => tellOne(tx, workspaceId, clock.now()));
}

const isUntold = sql<boolean>`unverified_at is not null and state = 'active' and not unverified_told
  and held_at is not null and hold_look_at is null`;

async function tellOne(tx: Transaction, workspaceId: string, now: Date): Promise<void> {
  const db = workspaceDb(tx, workspaceId);
  const verification = await lockVerification(db);
  const told = await db
    .updateTable('domains')
    .set({ unverified_told: true })
    .where(isUntold)
    .returning('name')
    .execute();
  if (told.length === 0) return;
  const names = told.map(({ name }) => name).sort();
  const events = names.map((domain) => ({
    type: 'domain.suspended' as const,
    data: { domain, reason: 'unverified_registrant' },
  }));
  await appendEvents(tx, workspaceId, events);
  if (verification?.verified_at !== null || verification.mail_look_at !== null) return;
  await db
    .updateTable('registrant_verifications')
    .set({ mail_look_at: new Date(now.getTime() + GATHER_MS) })
    .execute();
}
