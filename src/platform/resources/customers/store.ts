/** Rows of customers. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import { json } from '../../../kernel/db/values.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { JsonObject, TenantTables } from '../../tables.ts';

export type CustomerRow = Omit<Selectable<TenantTables['customers']>, 'project_id'>;

export interface NewCustomer {
  id: string;
  name: string;
  external_ids: Record<string, string>;
  metadata: JsonObject;
}

export interface CustomerChange {
  name?: string;
  external_ids?: Record<string, string>;
  metadata?: JsonObject;
}

function selectCustomers(db: TenantDb) {
  return db.selectFrom('customers').select(['id', 'name', 'external_ids', 'metadata', 'smith_count', 'created_at']);
}

export async function insertCustomer(db: TenantDb, customer: NewCustomer): Promise<void> {
  await db
    .insertInto('customers')
    .values({ ...customer, external_ids: json(customer.external_ids), metadata: json(customer.metadata) })
    .execute();
}

export async function findCustomer(db: TenantDb, id: string): Promise<CustomerRow | undefined> {
  return selectCustomers(db).where('customers.id', '=', id).executeTakeFirst();
}

/** Up to one row more than the page holds. */
export async function listCustomers(db: TenantDb, page: PageRequest): Promise<CustomerRow[]> {
  return pageById(selectCustomers(db), 'customers.id', page).execute();
}

/** False when there is no such customer. */
export async function updateCustomer(db: TenantDb, id: string, change: CustomerChange): Promise<boolean> {
  const { external_ids, metadata, name } = change;
  const result = await db
    .updateTable('customers')
    .set({
      ...(name === undefined ? {} : { name }),
      ...(external_ids === undefined ? {} : { external_ids: json(external_ids) }),
      ...(metadata === undefined ? {} : { metadata: json(metadata) }),
    })
    .where('id', '=', id)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Removes the customer; its smiths stay and belong to nobody. False when there is no such customer. */
export async function removeCustomer(db: TenantDb, id: string): Promise<boolean> {
  // Held first: a smith that is being given to the customer, or taken from it, waits, and then finds it gone.
  await db.selectFrom('customers').select('id').where('id', '=', id).forUpdate().execute();
  await holdSmithsOf(db, id);
  await db.updateTable('smiths').set({ customer_id: null }).where('customer_id', '=', id).execute();
  const result = await db.deleteFrom('customers').where('id', '=', id).executeTakeFirst();
  return result.numDeletedRows > 0n;
}

/** By id, as every change that holds several smiths: updated unheld, they would be met in the order of the table. */
async function holdSmithsOf(db: TenantDb, customerId: string): Promise<void> {
  const smiths = db.selectFrom('smiths').select('id').where('customer_id', '=', customerId).orderBy('id');
  // Their ids stay in the database.
  await db.selectFrom(smiths.forNoKeyUpdate().as('held')).select(sql<number>`count(*)`.as('count')).execute();
}
