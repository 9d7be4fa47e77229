/** Accounts: what others need of them. */
export { contactMembers } from './schema.ts';
