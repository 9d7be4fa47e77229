/** Rows of domains, as the renewal worker reads and updates them. */
import { type Selectable, sql } from 'kysely';
import { json } from '../../kernel/db/values.ts';
import type { RenewalFee } from '../prices/quote.ts';
import type { RenewalState, WorkspaceTables } from '../tables.ts';
import type { SystemDb, WorkspaceDb } from '../workspace-scope.ts';

type DomainRow = Selectable<WorkspaceTables['domains']>;

/** A position in the order of expiries. */
export interface Position {
  readonly expiresAt: Date;
  readonly id: string;
}

/** Names whose term ends by `until`, soonest first: those after the position `after`, up to and including `to`. */
export async function listEndingTerms(
  db: SystemDb,
  until: Date,
  { after, to }: { readonly after: Position | undefined; readonly to: Position | undefined },
  limit: number,
): Promise<(DomainRow & { expires_at: Date })[]> {
  let query = db
    .selectFrom('domains')
    .selectAll()
    .where('state', '=', 'active')
    .where('expires_at', 'is not', null)
    .where('expires_at', '<=', until)
    .orderBy('expires_at')
    .orderBy('id')
    .limit(limit);
  if (after !== undefined) query = query.where(sql<boolean>`(expires_at, id) > (${after.expiresAt}, ${after.id})`);
  if (to !== undefined) query = query.where(sql<boolean>`(expires_at, id) <= (${to.expiresAt}, ${to.id})`);
  return query.$narrowType<{ expires_at: Date }>().execute();
}

/** The row, held until the transaction ends; undefined when another transaction holds it. */
export async function lockUnlessBusy(db: WorkspaceDb, id: string): Promise<DomainRow | undefined> {
  return db.selectFrom('domains').selectAll().where('id', '=', id).forUpdate().skipLocked().executeTakeFirst();
}

/** Saves the state of the term that `seen` shows, unless the row has a newer term by now. */
export async function saveTerm(
  db: WorkspaceDb,
  seen: DomainRow,
  term: { readonly state: RenewalState; readonly reason: string | null; readonly shortfallCents: number | null },
): Promise<void> {
  await db
    .updateTable('domains')
    .set({
      renewal_state: term.state,
      renewal_reason: term.reason,
      renewal_shortfall_cents: term.shortfallCents,
    })
    .where('id', '=', seen.id)
    .where('expires_at', '=', seen.expires_at)
    .where('auto_renew', '=', seen.auto_renew)
    .execute();
}

export async function saveRenewalFee(db: WorkspaceDb, id: string, fee: RenewalFee | null): Promise<void> {
  await db
    .updateTable('domains')
    .set({ renewal_fee: fee === null ? null : json(fee) })
    .where('id', '=', id)
    .execute();
}
