/**
 * Frames on the wire (RFC 5734 4): four bytes of length, most significant first and counted in, then the XML.
 */
const HEADER_BYTES = 4;

/** No command or answer of EPP comes near it; a longer frame is an attack or a peer that speaks something else. */
export const MAX_FRAME_BYTES = 1024 * 1024;

/** The peer's bytes are no frame. Nothing after them can be read: the connection is of no more use. */
export class FrameError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FrameError';
  }
}

/** Throws `FrameError` for what no peer would accept. */
export function encodeFrame(xml: string): Buffer {
  const length = HEADER_BYTES + Buffer.byteLength(xml);
  if (length > MAX_FRAME_BYTES) throw new FrameError(`a frame of ${length} bytes is above ${MAX_FRAME_BYTES}`);
  const frame = Buffer.allocUnsafe(length);
  frame.writeUInt32BE(length);
  frame.write(xml, HEADER_BYTES);
  return frame;
}

/** Puts frames together from the pieces that a socket gives. Holds at most one frame that is not whole. */
export class FrameReader {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #held = 0;
  /** Of the frame that is being read, its header included; 0 before the header is whole. */
  #expected = 0;

  constructor(maxBytes: number = MAX_FRAME_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Whether a frame has begun and is not whole. */
  get isPartial(): boolean {
    return this.#held > 0;
  }

  /** The XML of each frame that `piece` completes. Throws `FrameError`; read no further then. */
  push(piece: Buffer): Buffer[] {
    this.#pieces.push(piece);
    this.#held += piece.length;
    const frames: Buffer[] = [];
    while (this.#readHeader() && this.#held >= this.#expected) {
      frames.push(this.#take(this.#expected).subarray(HEADER_BYTES));
      this.#expected = 0;
    }
    return frames;
  }

  #readHeader(): boolean {
    if (this.#expected > 0) return true;
    if (this.#held < HEADER_BYTES) return false;
    const length = this.#joined().readUInt32BE(0);
    if (length <= HEADER_BYTES) throw new FrameError(`a frame cannot be ${length} bytes long`);
    if (length > this.#maxBytes) throw new FrameError(`a frame of ${length} bytes is above ${this.#maxBytes}`);
    this.#expected = length;
    return true;
  }

  #take(bytes: number): Buffer {
    const all = this.#joined();
    const rest = all.subarray(bytes);
    this.#pieces = rest.length > 0 ? [rest] : [];
    this.#held = rest.length;
    return all.subarray(0, bytes);
  }

  /** Joins only when there is something to read, so that a frame in many small pieces is copied once and not for each. */
  #joined(): Buffer {
    const [first] = this.#pieces;
    if (first !== undefined && this.#pieces.length === 1) return first;
    const all = Buffer.concat(this.#pieces, this.#held);
    this.#pieces = [all];
    return all;
  }
}
