/** Auth codes of names: see auth-codes.ts. */
export { type AuthCodeParts, type GivenCode, giveAuthCode } from './auth-codes.ts';
export { lookAfterAuthCodes } from './look-after-auth-codes.ts';
