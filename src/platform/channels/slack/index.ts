/** Slack: an app's bot. */
export { checkSlackApp } from './account.ts';
export { keepApp as keepSlackApp } from './factory/app-rows.ts';
export { readAppName as readSlackAppName, readOwnerEmail as readSlackOwnerEmail } from './factory/app-settings.ts';
export type { SlackFactory } from './factory/check-factory.ts';
export { type MintedApp as MintedSlackApp, mintSlackApp } from './factory/mint-app.ts';
export {
  defineAppRemoval as defineSlackAppRemoval,
  removeAppLater as removeSlackAppLater,
  retryRemovals as retrySlackAppRemovals,
} from './factory/remove-apps.ts';
export { renameSlackApp } from './factory/rename-app.ts';
export { completeSlackInstall } from './install.ts';
export { makeInstallLink as makeSlackInstallLink, redirectUrlOf as slackRedirectUrl } from './install-link.ts';
export { slackInstallContext } from './install-secrets.ts';
export { removeInstalls as removeSlackInstalls } from './installs.ts';
export { findOwnApp as findOwnSlackApp } from './open-account.ts';
export { createSlackChannel } from './slack-channel.ts';
export { forgetSlackTeam } from './teams.ts';
export { SLACK_URL } from './web-api.ts';
export {
  isSlackConversation,
  readSignedSlackCall,
  readSlackChallenge,
  type SignedApp as SignedSlackApp,
  verifyOwnSlackCall,
  verifySlackCall,
} from './webhook.ts';
