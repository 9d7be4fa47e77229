/** Turns that begin on their own account, one after the other for each smith: what schedules and channels have in common. */
export {
  type Claim,
  type ClaimedQueue,
  type ClaimRequest,
  claimQueues,
  type QueueTable,
  resumeQueues,
  waitSql,
} from './claim-queues.ts';
export { type Attempted, Dispatcher } from './dispatcher.ts';
export { judgeFailure } from './judge-start.ts';
