/** Begins the turn of what waits in a conversation. */
import type { Engine, InputMessage } from '../../engine/index.ts';
import { type BegunSegment, claimKey, findBegun, startTurn, UNCHANGED_SETTINGS } from '../../surfaces/index.ts';
import type { JsonObject } from '../../tables.ts';
import type { KeptAttachment, WaitingChat, WaitingMessage } from './queue-store.ts';

/** Messages of an album come one by one: so long after the last of them another is waited for. */
const ALBUM_MS = 1_000;

/** What goes into the next turn: the messages of one thread, in order. At least one where anything waits. */
export function nextBatch({ messages }: Pick<WaitingChat, 'messages'>): readonly WaitingMessage[] {
  const [first] = messages;
  const other = messages.findIndex(({ thread_id }) => thread_id !== first?.thread_id);
  return other === -1 ? messages : messages.slice(0, other);
}

/** How long it is until no more of an album is to be expected. */
export function albumWaitMs(batch: readonly WaitingMessage[]): number {
  const last = batch.at(-1);
  return last?.message.group === undefined ? 0 : Math.max(0, ALBUM_MS - last.age_ms);
}

export interface BegunTurn {
  readonly begun: BegunSegment;
  /** The messages that it answers. */
  readonly batch: readonly WaitingMessage[];
}

/**
 * The key of a turn is the first message that waits: whoever begins one from it, it is the same turn, and the turn says up
 * to which message it was told. `isRepeated`: somebody may have begun it before. `isShown`: pieces of the answer are. Throws
 * what `startTurn` does.
 */
export async function startChatTurn(
  engine: Engine,
  chat: WaitingChat,
  { isRepeated, isShown }: { readonly isRepeated: boolean; readonly isShown: boolean },
): Promise<BegunTurn> {
  const { project_id: projectId, smith_id: smithId, deployment_id } = chat;
  const batch = nextBatch(chat);
  const [first] = batch;
  const last = batch.at(-1);
  if (first === undefined || last === undefined) throw new Error(`Nothing waits in conversation ${chat.id}`);
  const idempotency = claimKey('channels.turn', `${chat.id}/${first.position}`, deployment_id);
  const before = isRepeated ? await findBegun(engine.db, projectId, idempotency) : undefined;
  const begun =
    before ??
    (await startTurn(engine, {
      projectId,
      smithId,
      threadId: first.thread_id,
      input: batch.map(toInput),
      settings: UNCHANGED_SETTINGS,
      channel: chat.kind,
      metadata: { deployment_id, inbound_event_id: last.id, chat: chat.chat },
      actor: { kind: 'smith', id: smithId, token_id: '', email: '' },
      // Its files are the smith's own: they came with the messages.
      reader: null,
      idempotency,
      buffered: true,
      streamed: isShown,
    }));
  return { begun, batch: toldTo(begun.segment.run.metadata, batch) };
}

/** The messages that a turn was told, which somebody else may have begun when fewer were there. */
function toldTo({ inbound_event_id: last }: JsonObject, batch: readonly WaitingMessage[]): readonly WaitingMessage[] {
  const at = batch.findIndex(({ id }) => id === last);
  return batch.slice(0, at === -1 ? 1 : at + 1);
}

function toInput({ message: { text, attachments } }: WaitingMessage): InputMessage {
  if (attachments.length === 0) return { role: 'user', content: text.trim() === '' ? NO_TEXT : text };
  const content = [...(text.trim() === '' ? [] : [{ type: 'text', text }]), ...attachments.map(toPart)];
  return { role: 'user', content };
}

const NO_TEXT = '[A message without text.]';

function toPart({ file, filename, problem }: KeptAttachment): JsonObject {
  if (file === undefined) return { type: 'text', text: `[The file ${filename} is missing. ${problem ?? ''}]` };
  const type = file.mediaType.startsWith('image/') ? 'input_image' : 'input_file';
  return { type, file_id: file.fileId };
}
