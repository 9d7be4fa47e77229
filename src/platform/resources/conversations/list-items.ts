import { openAiPageReply, placeNotFound, readOpenAiPage, scanOf } from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { ThreadOf } from '../../threads/index.ts';
import { type FoundItem, findItem } from './find-item.ts';
import { listMessages, type RowScan, readRunFacts } from './item-store.ts';
import { requireConversation } from './require-conversation.ts';
import { itemsOf } from './row-items.ts';
import type { ConversationItem, ConversationListQuery, ConversationPath } from './schema.ts';

export async function listItems({
  db,
  caller,
  params,
  query,
}: ProjectRead<{ params: ConversationPath; query: ConversationListQuery }>) {
  const page = readOpenAiPage(query);
  const thread = await requireConversation(db, caller, params.cnvId);
  const { from, direction } = scanOf(page);
  const start = from === undefined ? undefined : await findItem(db, thread, from);
  if (from !== undefined && start === undefined) throw placeNotFound(page);
  const items = await readItems(db, thread, start, direction, page.limit + 1);
  return openAiPageReply(items, page, (item) => item);
}

/** Up to `count` items beyond one, read message by message: a message may hold several, or none that is left. */
async function readItems(
  db: TenantDb,
  thread: ThreadOf,
  start: FoundItem | undefined,
  direction: 'asc' | 'desc',
  count: number,
): Promise<ConversationItem[]> {
  const read: ConversationItem[] = [];
  let from: RowScan['from'] = start && { ...placeOf(start.row), inclusive: true };
  for (;;) {
    const rows = await listMessages(db, thread, { from, direction, count });
    const facts = await readRunFacts(db, thread, rows);
    for (const row of rows) {
      const items = itemsOf(thread.id, row, facts.get(row.run_id ?? ''));
      const isStart = start?.row.turn === row.turn && start.row.position === row.position;
      const ahead =
        direction === 'asc'
          ? items.slice(isStart ? start.at + 1 : 0)
          : items.slice(0, isStart ? start.at : undefined).reverse();
      read.push(...ahead.flatMap(({ item }) => (item === undefined ? [] : [item])));
      if (read.length >= count) return read.slice(0, count);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < count) return read;
    from = { ...placeOf(last), inclusive: false };
  }
}

function placeOf({ turn, position }: { readonly turn: number; readonly position: number }) {
  return { turn, position };
}
