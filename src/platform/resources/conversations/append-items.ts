import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { PieceByPieceEstimate } from '../../models/index.ts';
import type { TenantDb, TenantTransaction } from '../../store/tenant-db.ts';
import type { JsonObject } from '../../tables.ts';
import { appendMessages, type MessageRow, type NewMessageRow, type ThreadOf } from '../../threads/index.ts';
import { findReadable } from '../files/index.ts';
import { findCall } from './item-store.ts';
import { invalid, readNewItems } from './read-new-items.ts';

export interface ProjectThread extends ThreadOf {
  /** Who adds to it. */
  readonly caller: ProjectCaller;
}

/**
 * Adds the items as a turn without a run: whatever turn starts next sees them. Throws `invalid_input`, and
 * `invalid_state` for the result of a call that a run waits for.
 */
export async function appendItems(
  tx: TenantTransaction,
  thread: ProjectThread,
  items: readonly JsonObject[],
): Promise<MessageRow[]> {
  const messages = readNewItems(items);
  const toolNames = new Map<string, string>();
  const answered = new Set<string>();
  for (const { content, item } of messages) {
    if (typeof content === 'string') continue;
    for (const part of content) {
      const at = `items.${item}`;
      if (part.type === 'file') await fillFile(tx, thread, part, at);
      const callId = String(part.toolCallId);
      if (part.type === 'tool-call') {
        if (toolNames.has(callId)) throw invalid(`${at}.call_id`, 'is the id of another call of these items');
        toolNames.set(callId, String(part.toolName));
      }
      if (part.type === 'tool-result') {
        if (answered.has(callId)) throw invalid(`${at}.call_id`, 'is answered by another of these items already');
        answered.add(callId);
        part.toolName = toolNames.get(callId) ?? (await findTool(tx, thread, callId, `${at}.call_id`));
      }
    }
  }
  const rows: NewMessageRow[] = [];
  const estimate = new PieceByPieceEstimate();
  for (const { role, content } of messages) {
    rows.push({ role, content, tokens: await estimate.estimate({ role, content } as never) });
  }
  const added = await appendMessages(tx, thread, rows);
  if (added === undefined) throw new ApiError('service_overloaded', { retryAfterSeconds: 1 });
  return added;
}

/** The tool of a call that the conversation holds. */
async function findTool(db: TenantDb, thread: ThreadOf, callId: string, param: string): Promise<string> {
  const call = await findCall(db, thread, callId);
  if (call === undefined) throw invalid(param, `answers a call that the conversation does not hold: ${callId}`);
  if (call.status === 'paused' || call.status === 'in_progress') {
    throw new ApiError('invalid_state', {
      param,
      message: `The run ${call.run_id} waits for this call. Answer it with POST /v1/responses, in this conversation.`,
    });
  }
  const parts = call.content as { readonly toolCallId?: string; readonly toolName?: string }[];
  return parts.find(({ toolCallId }) => toolCallId === callId)?.toolName ?? '';
}

/** Completes a part that names a file of the file store. */
async function fillFile(tx: TenantTransaction, thread: ProjectThread, part: JsonObject, param: string): Promise<void> {
  const data = part.data as JsonObject | undefined;
  if (data?.type !== 'stored') return;
  const { smith_id: smithId, caller } = thread;
  const file = await findReadable(tx, { smithId, caller }, String(data.file_id));
  if (file === undefined) {
    const problem =
      `names a file that this token and this smith cannot read: ${data.file_id}. Upload it with POST /v1/files, and ` +
      'refer to it with a token that has files:read';
    throw invalid(`${param}.content`, problem);
  }
  Object.assign(part, {
    mediaType: file.media_type,
    ...(file.filename === '' ? {} : { filename: file.filename }),
    data: { type: 'stored', file_id: file.id, bytes: file.bytes },
  });
}
