import { EncodingJob } from './encoding-job.ts';
import type { SentenceEncoder } from './sentence-encoder.ts';

/** One pass through the model: long enough to be efficient, short enough for a query not to wait. About 0.2 seconds. */
const PASS_TOKENS = 512;
const PASS_PIECES = 64;
/** Pieces from which those of one length are picked; the more, the fuller the passes. */
const WINDOW_PIECES = 512;
/** Cutting texts is interleaved with encoding, for the same reason. */
const CUT_MS = 50;

export interface QueuedJob {
  readonly id: number;
  /** Whose it is: projects take turns, and so do the requests of one project. */
  readonly project: string;
  readonly texts: readonly string[];
}

interface Entry {
  readonly id: number;
  readonly project: string;
  readonly job: EncodingJob;
}

/**
 * Requests that wait for the model. Each pass is given to the next in turn and filled up with pieces of the same length
 * from all others, so that a short query is answered within a pass or two while a library is read in.
 */
export class EncodingQueue {
  readonly #encoder: SentenceEncoder;
  readonly #onFinished: (id: number, job: EncodingJob) => void;
  /** Projects, and requests within them, in the order of their turns. */
  readonly #turns = new Map<string, Map<number, Entry>>();

  constructor(encoder: SentenceEncoder, onFinished: (id: number, job: EncodingJob) => void) {
    this.#encoder = encoder;
    this.#onFinished = onFinished;
  }

  get empty(): boolean {
    return this.#turns.size === 0;
  }

  add({ id, project, texts }: QueuedJob): void {
    const entries = this.#turns.get(project) ?? new Map<number, Entry>();
    entries.set(id, { id, project, job: new EncodingJob(texts) });
    this.#turns.set(project, entries);
  }

  remove(id: number): void {
    for (const [project, entries] of this.#turns) {
      if (!entries.delete(id)) continue;
      if (entries.size === 0) this.#turns.delete(project);
      return;
    }
  }

  /** One pass through the model. */
  async runPass(): Promise<void> {
    const turn = this.#takeTurn();
    if (turn === undefined) return;
    const cutUntil = performance.now() + CUT_MS;
    for (const { job } of [turn, ...this.#entries()]) {
      while (job.waitingPieces < WINDOW_PIECES) {
        // Whose turn it is needs a piece at least.
        const inTime = performance.now() < cutUntil || (job === turn.job && job.waitingPieces === 0);
        if (!inTime || !job.cutNext(this.#encoder.countTokens)) break;
      }
    }
    const length = turn.job.nextLength;
    if (length !== undefined) await this.#encode(turn, length);
    for (const { id, job } of this.#entries()) {
      if (!job.finished) continue;
      this.remove(id);
      this.#onFinished(id, job);
    }
  }

  async #encode(turn: Entry, length: number): Promise<void> {
    const room = Math.max(1, Math.min(PASS_PIECES, Math.floor(PASS_TOKENS / length)));
    const pieces = new Set<string>();
    for (const { job } of [turn, ...this.#entries()]) {
      for (const piece of job.listPieces(length, room - pieces.size)) pieces.add(piece);
      if (pieces.size >= room) break;
    }
    const texts = [...pieces];
    const vectors = await this.#encoder.encode(texts);
    // Another request may wait for the same piece.
    for (const { job } of this.#entries()) {
      for (const [index, text] of texts.entries()) {
        const vector = vectors[index];
        if (vector !== undefined) job.takeVector(text, vector);
      }
    }
  }

  /** The first request of the first project; both go to the end of their lines. */
  #takeTurn(): Entry | undefined {
    const [project, entries] = this.#turns.entries().next().value ?? [];
    if (project === undefined || entries === undefined) return undefined;
    const entry = entries.values().next().value;
    if (entry === undefined) return undefined;
    this.#turns.delete(project);
    this.#turns.set(project, entries);
    entries.delete(entry.id);
    entries.set(entry.id, entry);
    return entry;
  }

  #entries(): Entry[] {
    return [...this.#turns.values()].flatMap((entries) => [...entries.values()]);
  }
}
