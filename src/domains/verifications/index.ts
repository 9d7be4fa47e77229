/** Whether registrants have confirmed their e-mail addresses: see verification.ts. */
export { askAgain, isSameIdentity, noteRegistrantChange } from './ask-registrant.ts';
export { defineRegistrantAudit } from './audit-registrants.ts';
export { listUnverified } from './list-unverified.ts';
export { runVerifications } from './run-verifications.ts';
export { countRequest, findVerification, isAskedAbout, requestMessage, stateOf } from './verification.ts';
export { confirmAddress, verifyByHand, verifyByLink } from './verify-registrant.ts';
