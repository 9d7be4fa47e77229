/** What an operator does beside the platform's interface. */
export { tryCardPayments } from '../billing/index.ts';
export { createOperator, operatePlatform } from './operate.ts';
export { MAIL_ADDRESS, MAX_CENTS, MAX_CODES, MAX_NAME_LENGTH, type PlatformVerbs, platformVerbs } from './verbs.ts';
