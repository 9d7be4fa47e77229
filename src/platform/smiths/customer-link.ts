/** The customer's side of having smiths: which customers a change of a smith concerns, and how many live ones each has. */
import { sql } from 'kysely';
import { ApiError } from '../../kernel/http/errors.ts';
import type { TenantDb, TenantTransaction } from '../store/tenant-db.ts';
import { type LockedSmith, lockSmith } from './smith-store.ts';

/**
 * Holds these customers, by id, until the transaction ends: against others that give them smiths or take smiths away, and
 * against their deletion. To be asked before a smith is held (see the order of locks in agent-membership.ts). Returns
 * those that exist.
 */
async function holdCustomers(db: TenantDb, ids: readonly (string | null)[]): Promise<ReadonlySet<string>> {
  const wanted = [...new Set(ids.filter((id) => id !== null))];
  if (wanted.length === 0) return new Set();
  const rows = await db
    .selectFrom('customers')
    .select('id')
    .where('id', 'in', wanted)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** Holds a customer that a new smith will work for. Throws `not_found` (param `customer_id`). */
export async function requireCustomer(db: TenantDb, id: string): Promise<void> {
  if (!(await holdCustomers(db, [id])).has(id)) throw customerNotFound();
}

export function customerNotFound(): ApiError {
  return new ApiError('not_found', {
    param: 'customer_id',
    message: 'This token can get no such customer. Take an id from `GET /v1/customers`.',
  });
}

export interface LinkedSmith {
  /** Undefined: no such live smith. */
  readonly smith: LockedSmith | undefined;
  /** Whether the next customer exists; true without one. */
  readonly hasNext: boolean;
}

/** An attempt fails when another request moved the smith meanwhile. */
const MAX_ATTEMPTS = 10;

/**
 * Holds a smith with the customer that it works for, and with the one that it is to work for next (null: none). Which
 * customer it has is known for certain only once the smith is held, but customers come first: so it is looked up, and if
 * it is another one by then, all locks are released and the look-up is repeated. Throws `service_overloaded` when that never ends.
 */
export async function lockLinkedSmith(
  tx: TenantTransaction,
  smithId: string,
  nextCustomerId: string | null,
): Promise<LinkedSmith> {
  await tx.savepoint('unlinked');
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const customerId = await findCustomerOf(tx, smithId);
    const held = await holdCustomers(tx, [customerId, nextCustomerId]);
    const hasNext = nextCustomerId === null || held.has(nextCustomerId);
    const smith = await lockSmith(tx, smithId);
    if (smith === undefined || smith.customer_id === customerId) return { smith, hasNext };
    await tx.rollbackTo('unlinked');
  }
  throw new ApiError('service_overloaded', {
    message: 'Others keep moving this smith between customers. Send the request again.',
  });
}

async function findCustomerOf(db: TenantDb, smithId: string): Promise<string | null> {
  const row = await db.selectFrom('smiths').select('customer_id').where('id', '=', smithId).executeTakeFirst();
  return row?.customer_id ?? null;
}

/** Counts a live smith that one held customer lost (null: none) and another got. */
export async function countMoved(db: TenantDb, from: string | null, to: string | null): Promise<void> {
  if (from === to) return;
  if (from !== null) await addToCount(db, from, -1);
  if (to !== null) await addToCount(db, to, 1);
}

async function addToCount(db: TenantDb, id: string, change: number): Promise<void> {
  await db
    .updateTable('customers')
    .set({ smith_count: sql<number>`smith_count + ${change}::int` })
    .where('id', '=', id)
    .execute();
}
