/** Changes of registrants that take the consent of both: see registrant-change.ts and designated-agent.ts. */
export { consent } from './consent.ts';
export {
  agentStateOf,
  askAuthorization,
  countAgentChange,
  findAgent,
  giveAuthorization,
  withdrawAuthorization,
} from './designated-agent.ts';
export { makeChange } from './make-change.ts';
export {
  consentingTldsOf,
  endChange,
  findChange,
  wantsConsents,
} from './registrant-change.ts';
export { requestChange } from './request-change.ts';
export { defineRegistrantChanges } from './send-consents.ts';
export { tellRegistries } from './tell-registries.ts';
