/**
 * A conversation's messages: rows of its thread. Every query is already scoped to one project by the handle that it is
 * given.
 */
import { sql } from 'kysely';
import { json } from '../../../kernel/db/values.ts';
import { type FittedPage, fitPage, type SizedRow } from '../../store/fit-page.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { MESSAGE_COLUMNS, type MessagePlace, type MessageRow, type ThreadOf } from '../../threads/index.ts';
import type { RunFacts } from './message-row.ts';

export interface RowScan {
  /** Undefined: from the first in this direction. */
  readonly from: (MessagePlace & { readonly inclusive: boolean }) | undefined;
  readonly direction: 'asc' | 'desc';
  readonly count: number;
}

function selectMessages(db: TenantDb, { id, smith_id }: ThreadOf) {
  return db.selectFrom('messages').select(MESSAGE_COLUMNS).where('smith_id', '=', smith_id).where('thread_id', '=', id);
}

export async function listMessages(
  db: TenantDb,
  thread: ThreadOf,
  scan: RowScan,
): Promise<FittedPage<MessageRow & SizedRow>> {
  const { from, direction, count } = scan;
  let found = selectMessages(db, thread).select(sql<number>`octet_length(content::text)`.as('size'));
  if (from !== undefined) {
    const beyond = direction === 'asc' ? '>' : '<';
    found = found.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('turn', 'position'), from.inclusive ? `${beyond}=` : beyond, tuple(from.turn, from.position)),
    );
  }
  const page = found.orderBy('turn', direction).orderBy('position', direction).limit(count);
  return fitPage(db, page, { by: ['turn', 'position'], direction });
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
