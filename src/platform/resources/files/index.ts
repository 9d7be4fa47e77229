/** What other resources may ask of files. */
export { defineFileExpiry } from './expire-files.ts';
export { saveInlineFile } from './save-inline-file.ts';
export { createTurnFiles, findReadable } from './turn-files.ts';
