/** Changes of names that wait for our credit at the registry: see waiting-change.ts. */

export { resendChanges } from './resend-changes.ts';
export { type ChangeDependencies, dropWaiting, keepWaiting, type WaitingChange } from './waiting-change.ts';
