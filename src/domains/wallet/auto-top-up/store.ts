/** Rows of automatic top-ups: what a workspace has set, and the payments that come of it. */
import { type Selectable, sql } from 'kysely';
import type { Executor } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { SavedCard, WorkspaceTables } from '../../tables.ts';
import { systemDb, type WorkspaceDb, workspaceDb } from '../../workspace-scope.ts';

export type AutoTopUpRow = Selectable<WorkspaceTables['auto_top_ups']>;

export interface AutoCharge {
  readonly workspace_id: string;
  readonly id: string;
  readonly amount_cents: number;
  readonly saved_card: SavedCard;
  readonly created_at: Date;
}

const BATCH = 50;
/** A charge whose outcome is not known is asked about again after a tenth of its age, half a minute at least and an hour at most. */
const dueAgain = sql<Date>`updated_at + greatest(least((updated_at - created_at) / 10, interval '1 hour'), interval '30 seconds')`;
const isOpenCharge = sql<boolean>`kind = 'auto_top_up' and state = 'open'`;

export async function findSettings(db: WorkspaceDb): Promise<AutoTopUpRow | undefined> {
  return db.selectFrom('auto_top_ups').selectAll().executeTakeFirst();
}

/** The row, made where there is none, and locked until the transaction ends. */
export async function lockSettings(db: WorkspaceDb): Promise<AutoTopUpRow> {
  await db
    .insertInto('auto_top_ups')
    .defaultValues()
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return db.selectFrom('auto_top_ups').selectAll().forUpdate().executeTakeFirstOrThrow();
}

/** Workspaces that are below their threshold, whose card is not being charged, and whose limit of this month is not reached. */
export async function listLow(executor: Executor, month: Date): Promise<string[]> {
  const { rows } = await executor.query<{ workspace_id: string }>({
    text: `
      select a.workspace_id from domains.auto_top_ups a join domains.wallets w using (workspace_id)
      where a.enabled and w.available_cents >= 0 and w.available_cents < a.threshold_cents and a.limit_told_in is distinct from $1 and not exists (
        select from domains.payments p
        where p.workspace_id = a.workspace_id and p.kind = 'auto_top_up' and p.state = 'open')
      order by a.updated_at limit ${BATCH}`,
    values: [month],
  });
  return rows.map(({ workspace_id }) => workspace_id);
}

/** The calendar month (UTC). */
export function monthOf(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()));
}

/** What was charged since this time, or is being charged: one that had no answer may be made as late as that answer comes. */
export async function sumCharges(db: WorkspaceDb, since: Date): Promise<number> {
  const { cents } = await db
    .selectFrom('payments')
    .select(sql<number>`coalesce(sum(amount_cents), 0)::bigint`.as('cents'))
    .where('kind', '=', 'auto_top_up')
    .where((either) =>
      either.or([
        either('state', '=', 'open'),
        either.and([either('state', '=', 'succeeded'), either('updated_at', '>=', since)]),
      ]),
    )
    .executeTakeFirstOrThrow();
  return Number(cents);
}

/** Undefined where one is open already. */
export async function insertCharge(
  db: WorkspaceDb,
  { amountCents, card, now }: { readonly amountCents: number; readonly card: SavedCard; readonly now: Date },
): Promise<AutoCharge | undefined> {
  const row = await db
    .insertInto('payments')
    .values({
      id: mintId('pay'),
      kind: 'auto_top_up',
      order_id: null,
      amount_cents: amountCents,
      state: 'open',
      sealed_instrument: null,
      provider_reference: null,
      provider_url: null,
      failure: null,
      saved_card: json(card),
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(['workspace_id', 'id', 'amount_cents', 'saved_card', 'created_at'])
    .executeTakeFirst();
  return row === undefined ? undefined : withCard(row);
}

/** Takes charges whose outcome is not known and that are to be asked about again. */
export async function claimOpen(executor: Executor, now: Date): Promise<AutoCharge[]> {
  const rows = await systemDb(executor)
    .updateTable('payments')
    .set({ updated_at: now })
    .where((eb) =>
      eb(
        'id',
        'in',
        eb
          .selectFrom('payments as due')
          .select('due.id')
          .where(sql<boolean>`due.kind = 'auto_top_up' and due.state = 'open'`)
          // One that is still to come is of a clock that was ahead.
          .where((either) => either.or([either(dueAgain, '<=', now), either('due.updated_at', '>', now)]))
          .limit(BATCH)
          .forUpdate()
          .skipLocked(),
      ),
    )
    .where(isOpenCharge)
    .returning(['workspace_id', 'id', 'amount_cents', 'saved_card', 'created_at'])
    .execute();
  return rows.map(withCard);
}

/** When the first charge is asked about again whose outcome is not known. */
export async function findNextOpenCharge(executor: Executor): Promise<Date | undefined> {
  const { dueAt } = await systemDb(executor)
    .selectFrom('payments')
    .where(isOpenCharge)
    .select(sql<Date | null>`min(${dueAgain})`.as('dueAt'))
    .executeTakeFirstOrThrow();
  return dueAt ?? undefined;
}

function withCard<Row extends { readonly saved_card: SavedCard | null; readonly id: string }>(row: Row) {
  if (row.saved_card === null) throw new Error(`the payment ${row.id} has no card`);
  return { ...row, saved_card: row.saved_card };
}

/** False where another process has done so. */
export async function closeCharge(
  executor: Executor,
  { workspace_id: workspaceId, id }: AutoCharge,
  end:
    | { readonly state: 'succeeded'; readonly reference: string }
    | { readonly state: 'declined'; readonly failure: { kind: string; message: string } },
  now: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await workspaceDb(executor, workspaceId)
    .updateTable('payments')
    .set({
      state: end.state,
      updated_at: now,
      ...(end.state === 'succeeded' ? { provider_reference: end.reference } : { failure: json(end.failure) }),
    })
    .where('id', '=', id)
    .where(isOpenCharge)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
