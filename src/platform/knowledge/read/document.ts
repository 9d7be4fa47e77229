/** What goes into the reader and what comes out of it. */
import type { IngestErrorCode } from '../../tables.ts';

export interface DocumentSource {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly filename: string;
  /** With parameters or without; empty where it is unknown. The content has the last word. */
  readonly mediaType: string;
  /** Called when a child is there and the reading is about to begin. */
  began?(): Promise<void>;
}

export interface Chunking {
  /** Exact, in tokens of o200k_base. At least 4, so that every character fits. */
  readonly chunkTokens: number;
  /** Less than `chunkTokens`. */
  readonly overlapTokens: number;
}

export interface DocumentChunk {
  /** Well-formed Unicode without NUL; never blank. */
  readonly text: string;
  /** Of this text by itself; never more than `chunkTokens`. */
  readonly tokens: number;
}

export type DocumentErrorCode = Exclude<IngestErrorCode, 'server_error'>;

/** Why a file gives no text; the message is for the one who uploaded it. */
export class DocumentError extends Error {
  readonly code: DocumentErrorCode;

  constructor(code: DocumentErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DocumentError';
    this.code = code;
  }
}

/** A character has at most four bytes, and a byte is at most a token. */
const CHUNK_TOKENS_MIN = 4;

/** Throws RangeError for sizes that cannot be. */
export function checkChunking({ chunkTokens, overlapTokens }: Chunking): void {
  if (!Number.isInteger(chunkTokens) || chunkTokens < CHUNK_TOKENS_MIN) {
    throw new RangeError(`chunkTokens is ${chunkTokens}: give an integer of at least ${CHUNK_TOKENS_MIN}`);
  }
  if (!Number.isInteger(overlapTokens) || overlapTokens < 0 || overlapTokens >= chunkTokens) {
    throw new RangeError(`overlapTokens is ${overlapTokens}: give an integer from 0 to chunkTokens - 1`);
  }
}
