/** The chain of events: sealed behind their writers, and proven. */
export { createEventSealer } from './seal-events.ts';
export { BEFORE_CHAIN, checkHead, verifyChainPage } from './verify-chain.ts';
