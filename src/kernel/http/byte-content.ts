/** Answers of bytes, as handlers give them: what there is. send-byte-content.ts decides which part of it is sent. */
import type { Readable } from 'node:stream';

/** Positions of the first and the last byte; without `end`: to the last one. */
export interface ContentRange {
  readonly start: number;
  readonly end: number;
}

export interface ContentFacts {
  readonly totalBytes: number;
  readonly mediaType: string;
  /** Changes whenever the bytes do. Letters and digits. */
  readonly etag: string;
  /** The name to save it under. */
  readonly filename: string;
  /** `Content-Security-Policy` of bytes that are a page. */
  readonly contentSecurityPolicy?: string;
  /** Opens the bytes, or these of them. What it throws is answered like any other failure. */
  open(range: ContentRange | undefined): Promise<Readable>;
}

/** What a handler returns to answer with bytes. */
export class ByteContent {
  readonly facts: ContentFacts;

  constructor(facts: ContentFacts) {
    this.facts = facts;
  }
}
