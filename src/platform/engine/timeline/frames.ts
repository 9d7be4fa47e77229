/** The frames of a timeline: as commits add them, as the store keeps them, as readers get them. */
import { eventFrame } from '../../../kernel/http/event-stream.ts';
import type { JsonObject } from '../../tables.ts';
import type { StoredFrame } from '../store/stored-frame.ts';

/** Frames that end a timeline for good. */
export const CLOSING_TYPES: ReadonlySet<string> = new Set(['run.completed', 'run.failed', 'run.cancelled']);

/** Frames after which a run does nothing until somebody acts. */
export const RESTING_TYPES: ReadonlySet<string> = new Set([...CLOSING_TYPES, 'run.paused']);

/** A frame that a commit adds to the timeline. */
export interface NewFrame {
  readonly type: string;
  readonly data: JsonObject;
}

/** Frame types whose text merges, and the member that holds the pieces once stored. */
const MERGED_TYPES: ReadonlySet<string> = new Set(['message.delta', 'reasoning']);

/** A frame as readers get it. Of text that was joined, `seq` is the last piece's and `data.text` the whole. */
export class ShownFrame {
  readonly runId: string;
  readonly seq: number;
  readonly type: string;
  readonly data: JsonObject;
  /** Of text: what was joined, one piece a sequence number. Present whoever shows it: the store keeps them too. */
  readonly pieces: readonly string[] | undefined;
  readonly createdAt: string;
  #wire: string | undefined;

  constructor(
    runId: string,
    frame: { seq: number; type: string; data: JsonObject; pieces?: readonly string[]; createdAt: string },
  ) {
    this.runId = runId;
    this.seq = frame.seq;
    this.type = frame.type;
    this.data = frame.data;
    this.pieces = frame.pieces;
    this.createdAt = frame.createdAt;
  }

  /** The native server-sent event; made once, however many read it. */
  get wire(): string {
    this.#wire ??= wireFrame(this.runId, this.seq, this.type, this.data, this.createdAt);
    return this.#wire;
  }
}

/** `id:`, `event:` and the frame's JSON. */
export function wireFrame(runId: string, seq: number, type: string, data: JsonObject, createdAt: string): string {
  return eventFrame(type, JSON.stringify({ v: 1, run_id: runId, seq, type, data, created_at: createdAt }), seq);
}

/** A stored row as readers get it; of a merged row only the pieces beyond `after`. */
export function showStoredFrame(runId: string, frame: StoredFrame, after: number): ShownFrame {
  const { seq, type, created_at: createdAt } = frame;
  const { deltas, ...rest } = frame.data;
  if (!MERGED_TYPES.has(type) || !Array.isArray(deltas)) {
    return new ShownFrame(runId, { seq, type, data: frame.data, createdAt });
  }
  const firstSeq = seq - deltas.length + 1;
  const pieces = (deltas as string[]).slice(Math.max(0, after + 1 - firstSeq));
  return new ShownFrame(runId, { seq, type, data: { text: pieces.join(''), ...rest }, pieces, createdAt });
}
