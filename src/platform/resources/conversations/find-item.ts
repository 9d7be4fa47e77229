import type { TenantDb } from '../../store/tenant-db.ts';
import { runOfItem } from '../../surfaces/openai/index.ts';
import type { MessageRow, ThreadOf } from '../../threads/index.ts';
import { findMessages, findTurn, readRunFacts } from './item-store.ts';
import { itemsOf, placeOfPostedItem, type RowItem } from './row-items.ts';

/** An item where it stands: the `at`-th of its message's. */
export interface FoundItem {
  readonly row: MessageRow;
  readonly items: readonly RowItem[];
  readonly at: number;
  readonly found: RowItem;
}

/** The item, also one that was removed. */
export async function findItem(db: TenantDb, thread: ThreadOf, itemId: string): Promise<FoundItem | undefined> {
  const place = placeOfPostedItem(thread.id, itemId) ?? (await placeOfRunItem(db, thread, itemId));
  if (place === undefined) return undefined;
  const rows = await findMessages(db, thread, place);
  const facts = await readRunFacts(db, thread, rows);
  for (const row of rows) {
    const items = itemsOf(thread.id, row, facts.get(row.run_id ?? ''));
    const at = items.findIndex(({ id }) => id === itemId);
    const found = items[at];
    if (found !== undefined) return { row, items, at, found };
  }
  return undefined;
}

/** The run's turn, and the position within it where the id tells. */
async function placeOfRunItem(db: TenantDb, thread: ThreadOf, itemId: string) {
  const runId = runOfItem(itemId);
  const turn = runId === undefined ? undefined : await findTurn(db, thread, runId);
  if (turn === undefined) return undefined;
  const input = /_in_(\d{1,9})$/.exec(itemId)?.[1];
  return { turn, position: input === undefined ? undefined : Number(input) };
}
