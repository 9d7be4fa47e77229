/** Where names are delegated: see follow-delegations.ts. */

export type { Delegations } from './delegations.ts';
export { followDelegations } from './follow-delegations.ts';
export { createParentServers } from './parent-servers.ts';
export { createRegistryDelegations } from './registry-delegations.ts';
