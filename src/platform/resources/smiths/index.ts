/** What other resources may use of smiths. */
export {
  countJoined,
  countLeft,
  type HeldAgent,
  holdAgents,
  type PublishedAgent,
  requirePublished,
} from './agent-membership.ts';
export { holdCustomSmiths, holdSmiths, listCustomSmiths } from './hold-smiths.ts';
export { type JoinedSmith, type Joining, joinAgent } from './join-agent.ts';
export { provisionSmith } from './provision-smith.ts';
export { recordRevisions } from './revision-store.ts';
export { MAX_EXTERNAL_ID_LENGTH } from './schema.ts';
export { findSmith, type SmithRow } from './store.ts';
