import { openAiPageReply, placeNotFound, readOpenAiPage, scanOf } from '../../../kernel/http/openai-paging.ts';
import { MAX_PAGE_BYTES } from '../../../kernel/http/paging.ts';
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
  const { items, isCut } = await readItems(db, thread, start, direction, page.limit + 1);
  return openAiPageReply(items, page, (item) => item, isCut);
}

interface ReadItems {
  readonly items: ConversationItem[];
  /** There may be more, for which the page has no room. */
  readonly isCut: boolean;
}

/**
 * Up to `count` items beyond one, read message by message: a message may hold several, or none that is left. Ends with the
 * message that fills a page, if it or one before it has an item.
 */
async function readItems(
  db: TenantDb,
  thread: ThreadOf,
  start: FoundItem | undefined,
  direction: 'asc' | 'desc',
  count: number,
): Promise<ReadItems> {
  const items: ConversationItem[] = [];
  let bytes = 0;
  let from: RowScan['from'] = start && { ...placeOf(start.row), inclusive: true };
  for (;;) {
    const { rows, isCut } = await listMessages(db, thread, { from, direction, count });
    const facts = await readRunFacts(db, thread, rows);
    for (const row of rows) {
      const own = itemsOf(thread.id, row, facts.get(row.run_id ?? ''));
      const isStart = start?.row.turn === row.turn && start.row.position === row.position;
      const ahead =
        direction === 'asc'
          ? own.slice(isStart ? start.at + 1 : 0)
          : own.slice(0, isStart ? start.at : undefined).reverse();
      items.push(...ahead.flatMap(({ item }) => (item === undefined ? [] : [item])));
      if (items.length >= count) return { items: items.slice(0, count), isCut: false };
      bytes += row.size;
    }
    const last = rows.at(-1);
    if (last === undefined || (!isCut && rows.length < count)) return { items, isCut: false };
    if (items.length > 0 && bytes >= MAX_PAGE_BYTES) return { items, isCut: true };
    from = { ...placeOf(last), inclusive: false };
  }
}

function placeOf({ turn, position }: { readonly turn: number; readonly position: number }) {
  return { turn, position };
}
