/** Smiths as everyone above knows them: provisioned, found, held, joined to agents. Their operations are a resource. */
export {
  agentNotFound,
  countJoined,
  countLeft,
  type HeldAgent,
  holdAgents,
  type PublishedAgent,
  requirePublished,
} from './agent-membership.ts';
export { holdCustomSmiths, holdSmiths, listCustomSmiths } from './hold-smiths.ts';
export { type JoinedSmith, joinAgent } from './join-agent.ts';
export { MAX_EXTERNAL_ID_LENGTH, provisionForDeployment, provisionSmith } from './provision-smith.ts';
export { recordRevisions } from './revision-store.ts';
export { findSmith } from './smith-store.ts';
