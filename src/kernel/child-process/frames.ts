/**
 * Messages on a pipe between two processes: four bytes of length, then the value in V8's structured format, which knows
 * typed arrays. A reader learns the length first, so that it refuses a frame before it holds any of it.
 */
import { deserialize, serialize } from 'node:v8';

const HEADER_BYTES = 4;

export class FrameTooLargeError extends Error {
  override readonly name = 'FrameTooLargeError';
}

/** The blocks to write, in order. Throws FrameTooLargeError past `limitBytes`. */
export function encodeFrame(value: unknown, limitBytes: number): [header: Buffer, body: Buffer] {
  const body = serialize(value);
  if (body.length > limitBytes) throw new FrameTooLargeError(`a message of ${body.length} bytes`);
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt32BE(body.length);
  return [header, body];
}

/** Puts frames together from whatever pieces the pipe gives. */
export class FrameReader {
  readonly #limitBytes: number;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerFilled = 0;
  /** Of the frame that is arriving; undefined between two. */
  #body: Buffer | undefined;
  #bodyFilled = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Yields the values that are complete. Throws FrameTooLargeError as soon as a header says so. */
  *push(piece: Uint8Array): Generator<unknown> {
    let taken = 0;
    while (taken < piece.length) {
      if (this.#body === undefined) {
        const part = piece.subarray(taken, taken + HEADER_BYTES - this.#headerFilled);
        this.#header.set(part, this.#headerFilled);
        this.#headerFilled += part.length;
        taken += part.length;
        if (this.#headerFilled < HEADER_BYTES) return;
        const length = this.#header.readUInt32BE();
        if (length > this.#limitBytes) throw new FrameTooLargeError(`a message of ${length} bytes`);
        // A buffer of its own: typed arrays that come out of it are views of it.
        this.#body = Buffer.allocUnsafeSlow(length);
        this.#bodyFilled = 0;
        this.#headerFilled = 0;
      }
      const part = piece.subarray(taken, taken + this.#body.length - this.#bodyFilled);
      this.#body.set(part, this.#bodyFilled);
      this.#bodyFilled += part.length;
      taken += part.length;
      if (this.#bodyFilled < this.#body.length) return;
      const body = this.#body;
      this.#body = undefined;
      yield deserialize(body);
    }
  }
}
