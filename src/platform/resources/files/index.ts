/** What other resources may ask of files. */
export { blobKey } from './blob-key.ts';
export { createChannelFiles } from './channel-files.ts';
export type { FileDependencies, FileLimits } from './create-file.ts';
export { defineFileExpiry } from './expire-files.ts';
export { openBlob } from './get-content.ts';
export { claimBlobs, discardBlob, keepBlob, releaseBlobs } from './keep-blob.ts';
export { mediaTypeOf } from './media-type.ts';
export { createResultFiles, defineResultFileSweep } from './result-files.ts';
export { createSandboxFiles } from './sandbox-files.ts';
export { chargeStorage, giveBackStorage, measureStorage, readUsedBytes, storageExceeded } from './storage-quota.ts';
export { createTurnFiles, findReadable } from './turn-files.ts';
