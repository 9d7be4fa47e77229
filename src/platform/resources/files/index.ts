/** What other resources may ask of files. */
export type { FileLimits } from './create-file.ts';
export { defineFileExpiry } from './expire-files.ts';
export { measureStorage, readUsedBytes } from './storage-quota.ts';
export { createTurnFiles, findReadable } from './turn-files.ts';
