/** Files that a reader of documents may not survive, family by family. */
import type { DocumentCase } from './cases.ts';

export const documents: readonly DocumentCase[] = [
  { name: 'an empty text', filename: 'empty.txt', bytes: () => new Uint8Array(), answer: 'invalid_file' },
];
