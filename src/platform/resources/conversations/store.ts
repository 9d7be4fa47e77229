/** Rows of conversations. Every query is already scoped to one project by the handle that it is given. */
import { sql } from 'kysely';
import { json } from '../../../kernel/db/values.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { JsonObject } from '../../tables.ts';

export interface ConversationRow {
  readonly id: string;
  readonly smith_id: string;
  readonly title: string | null;
  readonly metadata: JsonObject;
  readonly created_at: Date;
  /** Its own last change or that of its thread, whichever came later. */
  readonly updated_at: Date;
}

export interface NewConversation {
  readonly id: string;
  readonly smith_id: string;
  readonly title: string | null;
  readonly metadata: Record<string, string>;
}

export interface ConversationChange {
  readonly title?: string | null;
  readonly metadata?: Record<string, string>;
}

/** Which conversations, and from where: `limit + 1` of them. */
export interface ConversationScan {
  /** Undefined: every smith's. */
  readonly smithId: string | undefined;
  readonly limit: number;
  readonly from: string | undefined;
  readonly direction: 'asc' | 'desc';
}

/** Those that callers see: neither deleted nor of an archived smith. */
function selectConversations(db: TenantDb) {
  return db
    .selectFrom('conversations')
    .innerJoin('smiths', 'smiths.id', 'conversations.smith_id')
    .leftJoin('threads', (join) =>
      join.onRef('threads.smith_id', '=', 'conversations.smith_id').onRef('threads.id', '=', 'conversations.id'),
    )
    .where('conversations.deleted_at', 'is', null)
    .where('smiths.archived_at', 'is', null)
    .select([
      'conversations.id',
      'conversations.smith_id',
      'conversations.title',
      'conversations.metadata',
      'conversations.created_at',
      sql<Date>`greatest(conversations.updated_at, threads.updated_at)`.as('updated_at'),
    ]);
}

export async function insertConversation(db: TenantDb, conversation: NewConversation): Promise<void> {
  await db
    .insertInto('conversations')
    .values({ ...conversation, metadata: json(conversation.metadata) })
    .execute();
}

/** Of this smith where one is given. */
export async function findConversation(
  db: TenantDb,
  id: string,
  smithId: string | undefined,
): Promise<ConversationRow | undefined> {
  const found = selectConversations(db).where('conversations.id', '=', id);
  return (smithId === undefined ? found : found.where('conversations.smith_id', '=', smithId)).executeTakeFirst();
}

/** Whether there is a row, of this smith where one is given; also of a conversation that is deleted, or whose smith is archived. */
export async function hasConversation(db: TenantDb, id: string, smithId: string | undefined): Promise<boolean> {
  let found = db.selectFrom('conversations').select('id').where('id', '=', id);
  if (smithId !== undefined) found = found.where('smith_id', '=', smithId);
  return (await found.executeTakeFirst()) !== undefined;
}

/** In the order of their ids, which is that of their creation. */
export async function listConversations(db: TenantDb, scan: ConversationScan): Promise<ConversationRow[]> {
  // As the indexes order it, whatever the order of the database is.
  const id = sql<string>`conversations.id collate "C"`;
  let found = selectConversations(db);
  if (scan.smithId !== undefined) found = found.where('conversations.smith_id', '=', scan.smithId);
  if (scan.from !== undefined) found = found.where(id, scan.direction === 'asc' ? '>' : '<', scan.from);
  return found
    .orderBy(id, scan.direction)
    .limit(scan.limit + 1)
    .execute();
}

/** Holds the row until the transaction ends, so that what changes a conversation happens one after the other. */
export async function touchConversation(db: TenantDb, id: string, change: ConversationChange = {}): Promise<boolean> {
  const { title, metadata } = change;
  const result = await db
    .updateTable('conversations')
    .set({
      ...(title === undefined ? {} : { title }),
      ...(metadata === undefined ? {} : { metadata: json(metadata) }),
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Takes it out of sight; `purgeConversation` removes what it holds. False when there is none. */
export async function markDeleted(db: TenantDb, id: string): Promise<boolean> {
  const result = await db
    .updateTable('conversations')
    .set({ deleted_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}
