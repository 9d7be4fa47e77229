/** Accounts: what others need of them. */
export { type EmailAddress, normalizeEmail } from './email-address.ts';
export { contactTexts, requirePlain } from './plain-text.ts';
export { contactMembers } from './schema.ts';
