/** Messages to owners of names whose term ends. */
export { defineExpiryNotices, sendExpiryNotices } from './send-notices.ts';
