/** What registries have said of our accounts there, and the orders that wait for credit. */
import { sql } from 'kysely';
import type { SystemDb } from '../workspace-scope.ts';
import { zoneOf } from '../zone-of-name.ts';

/** By their ids. */
export function listBalances(db: SystemDb) {
  return db.selectFrom('registry_balances').selectAll().orderBy('registry').execute();
}

/** True for one process of all that ask: the registry is due, and is asked again so much later. */
export async function claimLook(db: SystemDb, registry: string, now: Date, next: Date): Promise<boolean> {
  const claimed = await db
    .insertInto('registry_balances')
    .values({ registry, look_at: next, available_cents: null, currency: null, observed_at: null, refused_at: null })
    .onConflict((conflict) =>
      conflict.column('registry').doUpdateSet({ look_at: next }).where('registry_balances.look_at', '<=', now),
    )
    .returning('registry')
    .executeTakeFirst();
  return claimed !== undefined;
}

/** `before`: what was seen last; undefined where nothing was. One that is older than what is known since changes nothing. */
export async function saveBalance(
  db: SystemDb,
  registry: string,
  { availableCents, currency = null }: { availableCents: number; currency?: string | null },
  at: Date,
): Promise<{ readonly before: number | undefined }> {
  const row = await db
    .selectFrom('registry_balances')
    .select('available_cents')
    .where('registry', '=', registry)
    .executeTakeFirst();
  const seen = { available_cents: availableCents, currency, observed_at: at, refused_at: null };
  await db
    .insertInto('registry_balances')
    .values({ registry, look_at: at, ...seen })
    .onConflict((conflict) =>
      conflict
        .column('registry')
        .doUpdateSet(seen)
        .where(
          sql<boolean>`coalesce(greatest(registry_balances.observed_at, registry_balances.refused_at), '-infinity') <= ${at}`,
        ),
    )
    .execute();
  const before = row?.available_cents ?? undefined;
  return { before: before === undefined ? undefined : Number(before) };
}

/** It is asked with the next look. */
export async function saveCreditRefusal(db: SystemDb, registry: string, now: Date): Promise<void> {
  const refused = { refused_at: now, look_at: now };
  await db
    .insertInto('registry_balances')
    .values({ registry, available_cents: null, currency: null, observed_at: null, ...refused })
    .onConflict((conflict) => conflict.column('registry').doUpdateSet(refused))
    .execute();
}

const waits = sql<boolean>`waits_for_credit and state not in ('completed', 'failed')`;
const zoneOfName = sql.raw<string>(zoneOf('name'));

/** Orders of names in these zones, or of all. */
export async function countWaiting(db: SystemDb, zones: readonly string[] | undefined): Promise<number> {
  const query = db.selectFrom('orders').select(sql<number>`count(*)::int`.as('count')).where(waits);
  const { count } = await (zones === undefined
    ? query
    : query.where(zoneOfName, 'in', [...zones])
  ).executeTakeFirstOrThrow();
  return Number(count);
}

/** Has them sent again with the next sweep, and what else waits for credit. */
export async function wakeWaiting(db: SystemDb, zones: readonly string[] | undefined, now: Date): Promise<void> {
  const query = db.updateTable('orders').set({ next_look_at: now }).where(waits).where('lease_until', 'is', null);
  await (zones === undefined ? query : query.where(zoneOfName, 'in', [...zones])).execute();
  const changes = db.updateTable('domains').set({ change_look_at: now }).where('change_look_at', '>', now);
  await (zones === undefined ? changes : changes.where(zoneOfName, 'in', [...zones])).execute();
  const codes = db.updateTable('domains').set({ auth_code_look_at: now }).where('auth_code_wanted', '=', true);
  await (zones === undefined ? codes : codes.where(zoneOfName, 'in', [...zones])).execute();
  // Those without an answer are sent a little sooner with them.
  const deletions = db.updateTable('domains').set({ deletion_look_at: now }).where('deletion_look_at', '>', now);
  await (zones === undefined ? deletions : deletions.where(zoneOfName, 'in', [...zones])).execute();
}

export type StoredBalance = Awaited<ReturnType<typeof listBalances>>[number];
