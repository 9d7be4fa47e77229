import type { Database } from '../../src/kernel/db/database.ts';

/** Nobody works on an order while nobody lives: what would lapse in a minute has lapsed. */
export async function lapseLeases(db: Database): Promise<void> {
  for (const text of [
    `update domains.orders set lease_until = null, next_look_at = now() where lease_until is not null`,
    `update domains.registry_duties set lease_until = null`,
  ]) {
    await db.query({ text, values: [] });
  }
}

/** What the service has put off is due: an order whose answers are lost is looked at half its age later, each time. */
export async function letTimePass(db: Database): Promise<void> {
  for (const text of [
    `update domains.orders set next_look_at = now() where state not in ('completed', 'failed') and lease_until is null`,
    `update domains.domains set deletion_look_at = now() where deletion_look_at is not null`,
    `update domains.domains set change_look_at = now() where change_look_at is not null`,
    `update domains.deferred_messages set look_at = now()`,
    `update domains.registry_duties set due_at = now(), idle_count = 0`,
  ]) {
    await db.query({ text, values: [] });
  }
}
