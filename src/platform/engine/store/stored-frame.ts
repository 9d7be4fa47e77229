/**
 * Frames as rows. An answer that comes in one piece has its text in two frames of one commit: the piece, and `message.completed`.
 * The store keeps it once, in the latter, which names the former.
 */
import type { JsonObject } from '../../tables.ts';

export interface StoredFrame {
  readonly seq: number;
  readonly type: string;
  readonly data: JsonObject;
  readonly created_at: string;
}

/** Where `message.completed` names the frame of the piece. */
const PIECE = 'piece';

/** The frames of one commit, as rows. */
export function foldWholeAnswers(frames: readonly StoredFrame[]): readonly StoredFrame[] {
  const rows: StoredFrame[] = [];
  for (const frame of frames) {
    const before = rows.at(-1);
    if (before === undefined || !isWhole(before, frame)) rows.push(frame);
    else {
      const { seq, created_at } = before;
      rows[rows.length - 1] = { ...frame, data: { ...frame.data, [PIECE]: { seq, created_at } } };
    }
  }
  return rows;
}

function isWhole(delta: StoredFrame, completed: StoredFrame): boolean {
  if (delta.type !== 'message.delta' || completed.type !== 'message.completed') return false;
  const { deltas, step, ...rest } = delta.data;
  if (!Array.isArray(deltas) || deltas.length !== 1 || Object.keys(rest).length > 0) return false;
  return step === completed.data.step && deltas[0] === completed.data.content;
}

/** The frames of a row, in order. */
export function unfoldRow(row: StoredFrame): StoredFrame[] {
  const { [PIECE]: piece, ...data } = row.data;
  if (row.type !== 'message.completed' || piece === undefined) return [row];
  const delta: JsonObject = { step: data.step, deltas: [data.content] };
  return [
    { ...(piece as Pick<StoredFrame, 'seq' | 'created_at'>), type: 'message.delta', data: delta },
    { ...row, data },
  ];
}
