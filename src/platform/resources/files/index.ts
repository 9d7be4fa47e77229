/** What other resources may ask of files. */
export { blobKey } from './blob-key.ts';
export { defineFileExpiry } from './expire-files.ts';
export { openFile } from './get-content.ts';
export { renderFile } from './render-file.ts';
export { type InlineFile, saveInlineFile } from './save-inline-file.ts';
export type { FileRow } from './store.ts';
export { createTurnFiles, findReadable } from './turn-files.ts';
