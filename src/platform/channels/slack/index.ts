/** Slack: an app's bot. */
export { checkSlackApp } from './account.ts';
export { completeSlackInstall } from './install.ts';
export { slackInstallContext } from './install-secrets.ts';
export { removeInstalls as removeSlackInstalls } from './installs.ts';
export { createSlackChannel } from './slack-channel.ts';
export { forgetSlackTeam } from './teams.ts';
export { SLACK_URL } from './web-api.ts';
export { isSlackConversation, readSignedSlackCall, readSlackChallenge, verifySlackCall } from './webhook.ts';
