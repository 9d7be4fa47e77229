/** Accounts: what others need of them. */
export { normalizeEmail } from './email-address.ts';
export { contactMembers } from './schema.ts';
