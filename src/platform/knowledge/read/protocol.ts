/**
 * What this process and the child that reads a document say to each other. They take turns: each message is the answer to
 * the last one, so that neither runs ahead of the other, and so that it is always clear who is at work.
 *
 * ```
 * here   open ─▶        bytes ─▶          taken ─▶
 * child         ◀─ read          ◀─ chunks         … ◀─ done | failed
 * ```
 */
import type { Chunking, DocumentChunk, DocumentErrorCode } from './document.ts';

export interface ReadLimits {
  /** Of files that are read as they come: text, CSV. */
  readonly streamedBytes: number;
  /** Of files that a parser needs whole. */
  readonly wholeBytes: number;
  /** Of the text that a file gives: so much, and so much more for each of its bytes. */
  readonly textCharacters: number;
  readonly textCharactersPerByte: number;
  readonly pdfPages: number;
}

export type ToReader =
  | {
      readonly kind: 'open';
      readonly filename: string;
      readonly mediaType: string;
      readonly chunking: Chunking;
      readonly limits: ReadLimits;
    }
  /** Undefined after the last. */
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array | undefined }
  | { readonly kind: 'taken' };

export type FromReader =
  | { readonly kind: 'read' }
  | { readonly kind: 'chunks'; readonly chunks: readonly DocumentChunk[] }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly code: DocumentErrorCode; readonly message: string };
