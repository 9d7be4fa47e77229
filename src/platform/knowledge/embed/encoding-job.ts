import { BUILTIN_DIMENSIONS } from './sentence-encoder.ts';
import { type Piece, splitPieces } from './split-pieces.ts';
import { toUnitVector } from './unit-vector.ts';

interface TextInWork {
  readonly position: number;
  readonly pieces: readonly Piece[];
  missing: number;
}

/** Vectors of sentences that come again: chunks of a document usually overlap by half. 2 KB each. */
const REMEMBERED_PIECES = 2048;

/**
 * The texts of one request, on their way to becoming vectors. They are cut as they are needed, so that a large request
 * neither holds the thread up at its start nor holds all its pieces at once. A piece that occurs twice is encoded once.
 */
export class EncodingJob {
  readonly #texts: readonly string[];
  readonly #vectors: Float32Array;
  #nextText = 0;
  #openTexts = 0;
  #tokens = 0;
  /** By the piece's text, in the order in which they were cut. */
  readonly #waiting = new Map<string, { readonly tokens: number; readonly for: TextInWork[] }>();
  readonly #encoded = new Map<string, Float32Array>();
  /** Vectors that a text which is not finished still needs; counted by users. */
  readonly #needed = new Map<string, number>();

  constructor(texts: readonly string[]) {
    this.#texts = texts;
    this.#vectors = new Float32Array(texts.length * BUILTIN_DIMENSIONS);
  }

  get waitingPieces(): number {
    return this.#waiting.size;
  }

  get finished(): boolean {
    return this.#nextText === this.#texts.length && this.#openTexts === 0;
  }

  /** Every vector after the other. Complete once `finished`. */
  get vectors(): Float32Array {
    return this.#vectors;
  }

  /** Of the texts that were cut so far. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Cuts the next text. False when there is none. */
  cutNext(countTokens: (text: string) => number): boolean {
    const text = this.#texts[this.#nextText];
    if (text === undefined) return false;
    const pieces = splitPieces(text, countTokens);
    const work: TextInWork = { position: this.#nextText, pieces, missing: 0 };
    this.#nextText += 1;
    this.#openTexts += 1;
    for (const piece of pieces) {
      this.#tokens += piece.tokens;
      this.#needed.set(piece.text, (this.#needed.get(piece.text) ?? 0) + 1);
      if (this.#encoded.has(piece.text)) continue;
      const waiting = this.#waiting.get(piece.text);
      if (waiting === undefined) this.#waiting.set(piece.text, { tokens: piece.tokens, for: [work] });
      else waiting.for.push(work);
      work.missing += 1;
    }
    if (work.missing === 0) this.#finishText(work);
    return true;
  }

  /** Tokens of the piece that has waited longest. */
  get nextLength(): number | undefined {
    return this.#waiting.values().next().value?.tokens;
  }

  /** The texts of up to `count` waiting pieces of just so many tokens. */
  listPieces(tokens: number, count: number): string[] {
    const found: string[] = [];
    if (count <= 0) return found;
    for (const [text, piece] of this.#waiting) {
      if (piece.tokens !== tokens) continue;
      found.push(text);
      if (found.length >= count) break;
    }
    return found;
  }

  takeVector(piece: string, vector: Float32Array): void {
    const waiting = this.#waiting.get(piece);
    if (waiting === undefined) return;
    this.#waiting.delete(piece);
    this.#encoded.set(piece, vector);
    for (const work of waiting.for) {
      work.missing -= 1;
      if (work.missing === 0) this.#finishText(work);
    }
    this.#forgetPieces();
  }

  #finishText(work: TextInWork): void {
    const start = work.position * BUILTIN_DIMENSIONS;
    this.#vectors.set(this.#meanOf(work.pieces), start);
    this.#openTexts -= 1;
    for (const { text } of work.pieces) {
      const users = (this.#needed.get(text) ?? 1) - 1;
      if (users === 0) this.#needed.delete(text);
      else this.#needed.set(text, users);
    }
  }

  /** In the order of the pieces, whatever order their vectors came in: sums of fractions depend on it. */
  #meanOf(pieces: readonly Piece[]): Float32Array {
    const [only] = pieces;
    if (only !== undefined && pieces.length === 1) return this.#vectorOf(only.text);
    const sum = new Float64Array(BUILTIN_DIMENSIONS);
    for (const { text, tokens } of pieces) {
      const vector = this.#vectorOf(text);
      for (let index = 0; index < BUILTIN_DIMENSIONS; index++) {
        sum[index] = (sum[index] ?? 0) + (vector[index] ?? 0) * tokens;
      }
    }
    return toUnitVector(sum);
  }

  #vectorOf(piece: string): Float32Array {
    const vector = this.#encoded.get(piece);
    if (vector === undefined) throw new Error('A text was finished before its pieces.');
    return vector;
  }

  #forgetPieces(): void {
    for (const piece of this.#encoded.keys()) {
      if (this.#encoded.size <= REMEMBERED_PIECES) return;
      if (!this.#needed.has(piece)) this.#encoded.delete(piece);
    }
  }
}
