/** Rows of the registrars' queues. */
import { type Selectable, sql } from 'kysely';
import { json } from '../../../kernel/db/values.ts';
import type { Notice } from './life-cycle.ts';
import { ELSEWHERE } from './policy.ts';
import type { DomainTrade, DomainTransfer, PendingAction, PollMessage } from './registry-core.ts';
import type { RegistryDb, RegistryTables, Stored } from './tables.ts';

export async function queueNotices(db: RegistryDb, notices: readonly Notice[]): Promise<void> {
  // The registrar `elsewhere` is simulated and never reads its queue.
  const kept = notices.filter(({ registrar }) => registrar !== ELSEWHERE);
  if (kept.length === 0) return;
  const rows = kept.map(({ registrar, name, queuedAt, text, data }) => {
    return { registrar, name, queued_at: queuedAt, text, data: json(data) };
  });
  await db.insertInto('registry_messages').values(rows).execute();
}

/** How a registry's queue behaves that is no queue. */
export interface MessageHabits {
  /** The newest comes first. */
  readonly newestFirst?: boolean;
  /** Each comes once more after it was acknowledged. */
  readonly twice?: boolean;
}

/** The first of the registrar's queue, and how many there are. */
export async function findFirstMessage(
  db: RegistryDb,
  registrarId: string,
  { newestFirst = false }: MessageHabits = {},
): Promise<{ message: PollMessage; count: number } | undefined> {
  const row = await db
    .selectFrom('registry_messages')
    .selectAll()
    .select(sql<number>`count(*) over ()`.as('count'))
    .where('registrar', '=', registrarId)
    .orderBy('id', newestFirst ? 'desc' : 'asc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : { message: messageOf(row), count: row.count };
}

/** Undefined: the registrar has no such message. */
export async function removeMessage(db: RegistryDb, registrarId: string, id: number) {
  const removed = db.deleteFrom('registry_messages').where('id', '=', id).where('registrar', '=', registrarId);
  return removed.returningAll().executeTakeFirst();
}

/** Puts a message that was removed back, with its id, or another one that is queued now. */
export async function putMessage(db: RegistryDb, message: PutMessage): Promise<void> {
  await db
    .insertInto('registry_messages')
    .values({ ...message, data: json(message.data) })
    .execute();
}

type PutMessage = Pick<
  Selectable<RegistryTables['registry_messages']>,
  'registrar' | 'queued_at' | 'name' | 'text' | 'data'
>;

function messageOf(row: Selectable<RegistryTables['registry_messages']>): PollMessage {
  const { id, queued_at: queuedAt, text, name, data } = row;
  return { id: String(id), queuedAt, text, name, data: revive(data) };
}

/** Dates are texts in JSON. */
function revive(data: PollMessage['data']): PollMessage['data'] {
  switch (data.type) {
    case 'pendingAction':
      return { ...data, at: new Date(data.at) } satisfies PendingAction;
    case 'transfer': {
      const { actedAt, expiresAt, requestedAt, ...transfer }: DomainTransfer | Stored<DomainTransfer> = data.transfer;
      const dates = { actedAt: new Date(actedAt), expiresAt: new Date(expiresAt), requestedAt: new Date(requestedAt) };
      return { ...data, transfer: { ...transfer, ...dates } };
    }
    case 'trade': {
      const { actedAt, requestedAt, ...trade }: DomainTrade | Stored<DomainTrade> = data.trade;
      return { ...data, trade: { ...trade, actedAt: new Date(actedAt), requestedAt: new Date(requestedAt) } };
    }
    case 'lifeCycle':
    case 'announcement':
    case 'lowBalance':
      return data;
  }
}
