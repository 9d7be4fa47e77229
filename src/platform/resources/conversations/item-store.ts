/**
 * A conversation's messages: rows of its thread. Every query is already scoped to one project by the handle that it is
 * given.
 */
import { sql } from 'kysely';
import { json } from '../../../kernel/db/values.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { MessageRow, NewMessageRow, RunFacts } from './message-row.ts';

/** The conversation whose thread it is. */
export interface ThreadOf {
  readonly id: string;
  readonly smith_id: string;
}

export interface RowPlace {
  readonly turn: number;
  readonly position: number;
}

export interface RowScan {
  /** Undefined: from the first in this direction. */
  readonly from: (RowPlace & { readonly inclusive: boolean }) | undefined;
  readonly direction: 'asc' | 'desc';
  readonly count: number;
}

const COLUMNS = ['turn', 'position', 'run_id', 'role', 'content', 'removed'] as const;

function selectMessages(db: TenantDb, { id, smith_id }: ThreadOf) {
  return db.selectFrom('messages').select(COLUMNS).where('smith_id', '=', smith_id).where('thread_id', '=', id);
}

export async function listMessages(db: TenantDb, thread: ThreadOf, scan: RowScan): Promise<MessageRow[]> {
  const { from, direction, count } = scan;
  let found = selectMessages(db, thread);
  if (from !== undefined) {
    const beyond = direction === 'asc' ? '>' : '<';
    found = found.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('turn', 'position'), from.inclusive ? `${beyond}=` : beyond, tuple(from.turn, from.position)),
    );
  }
  return found.orderBy('turn', direction).orderBy('position', direction).limit(count).execute();
}

/** The messages of a turn, or the one at a position of it. */
export async function findMessages(
  db: TenantDb,
  thread: ThreadOf,
  { turn, position }: { readonly turn: number; readonly position?: number | undefined },
): Promise<MessageRow[]> {
  const found = selectMessages(db, thread).where('turn', '=', turn);
  return (position === undefined ? found : found.where('position', '=', position)).orderBy('position').execute();
}

/** The turn of a run of this conversation. */
export async function findTurn(db: TenantDb, { id, smith_id }: ThreadOf, runId: string): Promise<number | undefined> {
  const found = await db
    .selectFrom('runs')
    .select('turn')
    .where('id', '=', runId)
    .where('smith_id', '=', smith_id)
    .where('thread_id', '=', id)
    .executeTakeFirst();
  return found?.turn;
}

/** The message with a call of this id: the last one. With the status of its run, if it has one. */
export async function findCall(db: TenantDb, { id, smith_id }: ThreadOf, callId: string) {
  return db
    .selectFrom('messages')
    .leftJoin('runs', 'runs.id', 'messages.run_id')
    .select(['messages.content', 'runs.id as run_id', 'runs.status'])
    .where('messages.smith_id', '=', smith_id)
    .where('messages.thread_id', '=', id)
    .where('messages.role', '=', 'assistant')
    .where(sql<boolean>`messages.content @> ${json([{ type: 'tool-call', toolCallId: callId }])}::jsonb`)
    .orderBy('messages.turn', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** What names the items of these messages, by run. */
export async function readRunFacts(
  db: TenantDb,
  { id, smith_id }: ThreadOf,
  rows: readonly Pick<MessageRow, 'run_id'>[],
): Promise<Map<string, RunFacts>> {
  const runIds = [...new Set(rows.flatMap(({ run_id }) => (run_id === null ? [] : [run_id])))];
  if (runIds.length === 0) return new Map();
  const runs = await db
    .selectFrom('runs')
    .select([
      'id',
      sql<number>`jsonb_array_length(runs.input)`.as('inputs'),
      sql<boolean>`coalesce(jsonb_typeof(runs.config -> 'file_search') = 'object', false)`.as('searches'),
    ])
    .where('id', 'in', runIds)
    .execute();
  const steps = await db
    .selectFrom('run_steps')
    .select(['run_id', 'position'])
    .where('run_id', 'in', runIds)
    .where('kind', '=', 'model')
    .orderBy('position')
    .execute();
  const answers = await db
    .selectFrom('messages')
    .select(['run_id', 'position'])
    .where('smith_id', '=', smith_id)
    .where('thread_id', '=', id)
    .where('run_id', 'in', runIds)
    .where(sql<boolean>`coalesce(messages.removed ->> 'role', messages.role) = 'assistant'`)
    .orderBy('position')
    .execute();
  const positionsOf = (of: readonly { run_id: string | null; position: number }[], runId: string) =>
    of.filter(({ run_id }) => run_id === runId).map(({ position }) => position);
  return new Map(
    runs.map(({ id: runId, inputs, searches }) => [
      runId,
      {
        id: runId,
        inputs,
        searches,
        modelSteps: positionsOf(steps, runId),
        answers: positionsOf(answers, runId).filter((position) => position >= inputs),
      },
    ]),
  );
}

/** Turns may start, and take the number, as often as this while messages are being added. */
const APPEND_TRIES = 20;

/**
 * Adds the messages as a turn of their own, behind whatever the thread holds. The first message claims the turn's number,
 * then the thread counts it: the order in which the start of a run does the same (engine/start-turn.ts), so that the two
 * wait for each other and never both ways round. Whoever comes second finds the number taken and tries the next.
 * Undefined when turns took every number that was tried.
 */
export async function appendMessages(
  db: TenantDb,
  thread: ThreadOf,
  messages: readonly NewMessageRow[],
): Promise<MessageRow[] | undefined> {
  for (let attempt = 1; attempt <= APPEND_TRIES; attempt += 1) {
    const turn = (await countTurns(db, thread)) + 1;
    const [first, ...others] = messages.map((message, position) => newRow(thread, { turn, position }, message));
    if (first === undefined) return [];
    const claimed = await db
      .insertInto('messages')
      .values(first)
      .onConflict((conflict) => conflict.doNothing())
      .returning(COLUMNS)
      .execute();
    if (claimed.length === 0) continue;
    const rest = others.length === 0 ? [] : await db.insertInto('messages').values(others).returning(COLUMNS).execute();
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

function newRow({ id, smith_id }: ThreadOf, place: RowPlace, { role, content, tokens }: NewMessageRow) {
  return { smith_id, thread_id: id, ...place, run_id: null, role, content: json(content), tokens };
}

export interface MessageChange extends NewMessageRow {
  readonly removed: NonNullable<MessageRow['removed']>;
}

export async function replaceMessage(
  db: TenantDb,
  { id, smith_id }: ThreadOf,
  { turn, position }: RowPlace,
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

/** Drops the thread's summary where it covers this turn: the next one tells of what is left. */
export async function dropSummary(db: TenantDb, { id, smith_id }: ThreadOf, turn: number): Promise<void> {
  await db
    .updateTable('threads')
    .set({ summary: null, summary_turn: 0 })
    .where('smith_id', '=', smith_id)
    .where('id', '=', id)
    .where('summary_turn', '>=', turn)
    .execute();
}
