/** Messages that are added to a thread, or changed in it, outside of a run's own steps. */
import { type Selectable, sql } from 'kysely';
import { json, largeJson } from '../../kernel/db/values.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { TenantTables } from '../tables.ts';

/** A thread, by its id and its smith's. */
export interface ThreadOf {
  readonly id: string;
  readonly smith_id: string;
}

/** A message of a thread; see `removed` for what was taken out of it. */
export type MessageRow = Pick<
  Selectable<TenantTables['messages']>,
  'turn' | 'position' | 'run_id' | 'role' | 'content' | 'removed'
>;

/** A message as it is about to be added. */
export interface NewMessageRow {
  readonly role: MessageRow['role'];
  readonly content: unknown;
  readonly tokens: number;
}

export interface MessagePlace {
  readonly turn: number;
  readonly position: number;
}

export const MESSAGE_COLUMNS = ['turn', 'position', 'run_id', 'role', 'content', 'removed'] as const;

/** Turns may start, and take the number, as often as this while messages are being added. */
const APPEND_TRIES = 20;

/**
 * Adds the messages as a turn of their own, behind whatever the thread holds. The first message claims the turn's number,
 * then the thread counts it: the order in which the start of a run does the same (engine/store/start-turn.ts), so that the two
 * wait for each other and never both ways round. Whoever comes second finds the number taken and tries the next.
 * Undefined when turns took every number that was tried.
 */
export async function appendMessages(
  db: TenantDb,
  thread: ThreadOf,
  messages: readonly NewMessageRow[],
): Promise<MessageRow[] | undefined> {
  const encoded: EncodedMessage[] = [];
  for (const { content, ...message } of messages) encoded.push({ ...message, content: await largeJson(content) });
  for (let attempt = 1; attempt <= APPEND_TRIES; attempt += 1) {
    const turn = (await countTurns(db, thread)) + 1;
    const [first, ...others] = encoded.map((content, position) => newRow(thread, { turn, position }, content));
    if (first === undefined) return [];
    const claimed = await db
      .insertInto('messages')
      .values(first)
      .onConflict((conflict) => conflict.doNothing())
      .returning(MESSAGE_COLUMNS)
      .execute();
    if (claimed.length === 0) continue;
    const rest =
      others.length === 0 ? [] : await db.insertInto('messages').values(others).returning(MESSAGE_COLUMNS).execute();
    await db
      .insertInto('threads')
      .values({ smith_id: thread.smith_id, id: thread.id, turns: turn })
      .onConflict((conflict) =>
        conflict
          .columns(['project_id', 'smith_id', 'id'])
          .doUpdateSet({ turns: sql<number>`greatest(threads.turns, ${turn})`, updated_at: sql<Date>`now()` }),
      )
      .execute();
    return [...claimed, ...rest];
  }
  return undefined;
}

async function countTurns(db: TenantDb, { id, smith_id }: ThreadOf): Promise<number> {
  const thread = await db
    .selectFrom('threads')
    .select('turns')
    .where('smith_id', '=', smith_id)
    .where('id', '=', id)
    .executeTakeFirst();
  return thread?.turns ?? 0;
}

type EncodedMessage = Omit<NewMessageRow, 'content'> & { readonly content: string | Uint8Array };

function newRow({ id, smith_id }: ThreadOf, place: MessagePlace, { role, content, tokens }: EncodedMessage) {
  // Bytes are jsonb's own format of the wire.
  return { smith_id, thread_id: id, ...place, run_id: null, role, content: content as string, tokens };
}

export interface MessageChange extends NewMessageRow {
  readonly removed: NonNullable<MessageRow['removed']>;
}

export async function replaceMessage(
  db: TenantDb,
  { id, smith_id }: ThreadOf,
  { turn, position }: MessagePlace,
  { role, content, tokens, removed }: MessageChange,
): Promise<void> {
  await db
    .updateTable('messages')
    .set({ role, content: json(content), tokens, removed: json(removed) })
    .where('smith_id', '=', smith_id)
    .where('thread_id', '=', id)
    .where('turn', '=', turn)
    .where('position', '=', position)
    .execute();
}

/**
 * Drops what was made of this turn, after something was taken out of it: a summary that covers it, and the mark up to which
 * recall has read the thread, so that both are made again of what is left. What recall has read and not yet marked is
 * refused (`markRecalledSql`). Holds the thread's row until the transaction ends: passages that are deleted behind it stay
 * deleted.
 */
export async function dropDerived(db: TenantDb, { id, smith_id }: ThreadOf, turn: number): Promise<void> {
  const isCovered = sql<boolean>`summary_turn >= ${turn}`;
  await db
    .updateTable('threads')
    .set({
      summary: sql<string | null>`case when ${isCovered} then null else summary end`,
      summary_turn: sql<number>`case when ${isCovered} then 0 else summary_turn end`,
      recalled_turn: sql<number>`least(recalled_turn, ${turn} - 1)`,
      removals: sql<number>`removals + 1`,
    })
    .where('smith_id', '=', smith_id)
    .where('id', '=', id)
    .execute();
}

/** Adds one message to a run's turn, at a position that is free. */
export async function insertMessage(
  db: TenantDb,
  run: { readonly id: string; readonly smith_id: string; readonly thread_id: string; readonly turn: number },
  position: number,
  { role, content, tokens }: NewMessageRow,
): Promise<void> {
  await db.raw({
    text: `
      insert into messages (project_id, smith_id, thread_id, turn, position, run_id, role, content, tokens)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [run.smith_id, run.thread_id, run.turn, position, run.id, role, await largeJson(content), tokens],
  });
}
