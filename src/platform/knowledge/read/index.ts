/** Files into chunks of text, in child processes with caps on time, memory and text. */
export type { Chunking, DocumentChunk, DocumentErrorCode, DocumentSource } from './document.ts';
export { DocumentError } from './document.ts';
export type { DocumentReader, DocumentReaderOptions } from './document-reader.ts';
export { createDocumentReader } from './document-reader.ts';
