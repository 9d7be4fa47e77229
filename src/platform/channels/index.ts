/** Channels: the kinds of deployments and what deployments of each are made of. Their operations are a resource. */
export { channelAccountContext } from './accounts/account-secrets.ts';
export {
  AttachmentFailure,
  type Channel,
  type InboundMessage,
  type OpenAccount,
  SendFailure,
} from './channel.ts';
export type { ChannelFiles } from './channel-files.ts';
export { deploymentSecretContext } from './deployment-secrets.ts';
export { disconnectDeployments } from './disconnect-deployments.ts';
export { hashStartToken, mintStartToken, START_TOKEN_HOURS } from './inbound/start-tokens.ts';
export { DEPLOYMENT_KINDS, kinds } from './kinds.ts';
export { createMessaging, type Messaging } from './messaging.ts';
export { hashPassword, isPassword } from './page-password.ts';
export { FAILED_SENTENCE, PAUSED_SENTENCE } from './sentences.ts';
export { defineChannelSweep } from './sweep-channels.ts';
export { MAX_TITLE_CHARS, readTitle, readWebPage, type WebPage } from './web-page.ts';
