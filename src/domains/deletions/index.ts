/** Deletions of names: see delete-name.ts. */

export { noteDeletion, requireNoOrder, sendDeletion } from './delete-name.ts';
export { type ResendDependencies, resendDeletions, tellIfRefused } from './resend-deletions.ts';
