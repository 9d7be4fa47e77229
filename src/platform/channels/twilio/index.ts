/** Numbers at Twilio: what SMS and voice have in common. */
export { checkTwilioNumber, type NumberKind } from './check-number.ts';
export { accountIdOf, numberMetadata, readNumber } from './number.ts';
export { holdNumber, isSmithsNumber, type OpenNumber, openNumberOf } from './number-store.ts';
export { defineNumberWebhooks, settleNumberLater } from './number-webhooks.ts';
export { type TwilioCall, verifyTwilioCall, verifyTwilioSocket } from './verify-call.ts';
