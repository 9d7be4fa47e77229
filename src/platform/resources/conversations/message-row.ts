import type { MessageRow } from '../../threads/index.ts';

/** What must be known of a run to name the items of its messages. */
export interface RunFacts {
  readonly id: string;
  /** Messages of its input: positions 0 to inputs - 1 of its turn. */
  readonly inputs: number;
  /** Its `file_search` is this server's. */
  readonly searches: boolean;
  /** The places of its model calls among its steps, in order. */
  readonly modelSteps: readonly number[];
  /** The positions of what the model answered, in order: the n-th is of the n-th model call. */
  readonly answers: readonly number[];
}

/** A part of a message as it was written. */
export interface MessagePart {
  /** Its place in the message as it was written. */
  readonly index: number;
  readonly type: string;
  /** Of a call or a result. */
  readonly callId: string | undefined;
  /** Undefined: removed since. */
  readonly value: Readonly<Record<string, unknown>> | undefined;
}

/** One that was not removed. */
export type LeftPart = MessagePart & { readonly value: NonNullable<MessagePart['value']> };

/** The row's parts as they were written, those that were removed since in their places. */
export function partsOf(row: Pick<MessageRow, 'content' | 'removed'>): MessagePart[] {
  const kept = typeof row.content === 'string' ? [{ type: 'text', text: row.content }] : asParts(row.content);
  const removed = new Map((row.removed?.parts ?? []).map((part) => [part.index, part]));
  const total = kept.length + removed.size;
  let next = 0;
  return Array.from({ length: total }, (_, index): MessagePart => {
    const gone = removed.get(index);
    if (gone !== undefined) return { index, type: gone.type, callId: gone.call_id, value: undefined };
    const value = kept[next++] ?? {};
    const callId = typeof value.toolCallId === 'string' ? value.toolCallId : undefined;
    return { index, type: String(value.type), callId, value };
  });
}

function asParts(content: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(content) ? content : [];
}
