/**
 * Trademark claims: while a TLD is being launched, whoever wants a name that a trademark claims has to read a notice and to accept it.
 *
 *   registry: claimed, by this key ──▶ shown: fetched, and kept until it ends ──▶ accepted: kept with the order, and sent with the create
 *
 * In a sunrise, before that, it takes the mark that the clearinghouse has signed for its holder.
 *
 * A notice belongs to the workspace that was shown it and to its name. What was accepted stays with the order. Where the registry did not
 * say in time that the name is claimed, the order asks, and waits for the acceptance (orders/settle-launch.ts).
 */
export type { ClaimsDependencies } from './launch-demand.ts';
export {
  acceptNotice,
  type GivenForLaunch,
  keepForLaunch,
  type LaunchTerms,
  meetLaunchDemand,
  readLaunchNeed,
} from './meet-launch-demand.ts';
export { showNotice } from './show-notice.ts';
export { removeEndedNotices } from './store.ts';
