/** Changes of names that the registry has neither made nor refused: see waiting-change.ts. */

export { resendChanges } from './resend-changes.ts';
export {
  type ChangeDependencies,
  dropDone,
  dropWaiting,
  keepWaiting,
  noteChange,
  noteNoCredit,
  type WaitingChange,
} from './waiting-change.ts';
