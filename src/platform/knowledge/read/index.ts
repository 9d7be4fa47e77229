/** Files into chunks of text, in worker threads with caps on time and memory. */
export type { Chunking, DocumentChunk, DocumentErrorCode, DocumentSource } from './document.ts';
export { DocumentError } from './document.ts';
export type { DocumentReader, DocumentReaderOptions } from './document-reader.ts';
export { createDocumentReader } from './document-reader.ts';
