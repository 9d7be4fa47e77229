import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { removePassages } from '../../knowledge/memory/index.ts';
import { PieceByPieceEstimate } from '../../models/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { dropDerived, type MessageRow, replaceMessage, type ThreadOf } from '../../threads/index.ts';
import { findItem } from './find-item.ts';
import { findMessages } from './item-store.ts';
import { type MessagePart, partsOf } from './message-row.ts';
import { renderConversation } from './render-conversation.ts';
import { requireConversation } from './require-conversation.ts';
import type { Conversation, ConversationItemPath } from './schema.ts';
import { touchConversation } from './store.ts';

/** Takes one item out: lists, later turns and recall no longer see it. Every other item keeps its id and its place. */
export async function deleteItem({
  tx,
  caller,
  params,
}: ProjectChange<{ params: ConversationItemPath }>): Promise<Conversation> {
  const thread = await requireConversation(tx, caller, params.cnvId);
  // Of two that take parts of one message, the second sees what the first has left.
  if (!(await touchConversation(tx, thread.id))) throw new ApiError('conversation_not_found');
  const found = await findItem(tx, thread, params.itemId);
  if (found?.found.item === undefined) throw new ApiError('not_found');
  const { row } = found;
  await removeParts(tx, thread, row, found.found.parts);
  if (found.found.item.type === 'file_search_call') await removeSearched(tx, thread, row, found.found.parts);
  await dropDerived(tx, thread, row.turn);
  await removePassages(tx, thread, row.turn);
  return renderConversation(await requireConversation(tx, caller, thread.id));
}

/** A message with nothing left stays, as a tool's without results: that says nothing to a model, and keeps the place. */
async function removeParts(
  db: TenantDb,
  thread: ThreadOf,
  row: MessageRow,
  parts: readonly MessagePart[],
): Promise<void> {
  const gone = new Set(parts.map(({ index }) => index));
  const all = partsOf(row);
  const content = all.flatMap(({ index, value }) => (value === undefined || gone.has(index) ? [] : [value]));
  const removed = all
    .filter(({ index, value }) => value === undefined || gone.has(index))
    .map(({ index, type, callId }) => ({ index, type, ...(callId === undefined ? {} : { call_id: callId }) }));
  const role = content.length === 0 ? 'tool' : row.role;
  await replaceMessage(db, thread, row, {
    role,
    content,
    tokens: await new PieceByPieceEstimate().estimate({ role, content } as never),
    removed: { role: row.removed?.role ?? row.role, parts: removed },
  });
}

/** What a search found goes with it: it is no item of its own. */
async function removeSearched(db: TenantDb, thread: ThreadOf, { turn }: MessageRow, calls: readonly MessagePart[]) {
  const callIds = new Set(calls.map(({ callId }) => callId));
  for (const row of await findMessages(db, thread, { turn })) {
    if (row.role !== 'tool') continue;
    const results = partsOf(row).filter(({ callId, value }) => value !== undefined && callIds.has(callId));
    if (results.length > 0) await removeParts(db, thread, row, results);
  }
}
