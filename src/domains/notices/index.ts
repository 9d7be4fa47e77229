/** Messages to owners of names whose term ends. */
export { sendExpiryNotices } from './send-notices.ts';
