/** Files into chunks of text, in worker threads with caps on time and memory. */
import type { IngestErrorCode } from '../../tables.ts';

export interface DocumentSource {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly filename: string;
  readonly mediaType: string;
}

export interface Chunking {
  /** Exact, in tokens of o200k_base. */
  readonly chunkTokens: number;
  readonly overlapTokens: number;
}

export interface DocumentChunk {
  readonly text: string;
  readonly tokens: number;
}

/** Why a file gives no text; the message is for the one who uploaded it. */
export class DocumentError extends Error {
  readonly code: Exclude<IngestErrorCode, 'server_error'>;
  constructor(code: Exclude<IngestErrorCode, 'server_error'>, message: string) {
    super(message);
    this.name = 'DocumentError';
    this.code = code;
  }
}

export interface DocumentReader {
  /** The chunks in order, some at a time: the reader goes on as they are taken. Throws DocumentError. */
  chunks(source: DocumentSource, chunking: Chunking, signal: AbortSignal): AsyncIterable<readonly DocumentChunk[]>;
  close(): Promise<void>;
}

export function createDocumentReader(): DocumentReader {
  return {
    chunks: () => {
      throw new Error('not there yet');
    },
    close: () => Promise.resolve(),
  };
}
