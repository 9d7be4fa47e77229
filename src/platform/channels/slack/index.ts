/** Slack: an app's bot. */
export { checkSlackApp } from './account.ts';
export { createSlackChannel } from './slack-channel.ts';
export { SLACK_URL } from './web-api.ts';
export { isSlackConversation, readSignedSlackCall, readSlackChallenge, verifySlackCall } from './webhook.ts';
