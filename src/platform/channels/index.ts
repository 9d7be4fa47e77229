/** Channels: the kinds of deployments and what deployments of each are made of. Their operations are a resource. */
export { channelAccountContext } from './accounts/account-secrets.ts';
export {
  type AccountRow,
  findAccount,
  noteAccountError,
  removeAccount,
  storeAccount,
} from './accounts/account-store.ts';
export { ACCOUNTS_CHANNEL } from './accounts/channel.ts';
export type { CheckedAccount } from './accounts/checked-account.ts';
export { openAccount, sealSecrets, settingOf } from './accounts/open-account.ts';
export { createOpenedAccounts, type OpenedAccounts } from './accounts/opened-accounts.ts';
export {
  AttachmentFailure,
  type Channel,
  type Destination,
  type InboundMessage,
  type OpenAccount,
  SendFailure,
} from './channel.ts';
export type { ChannelFiles } from './channel-files.ts';
export { deploymentSecretContext } from './deployment-secrets.ts';
export { disconnectDeployments, disconnectKind } from './disconnect-deployments.ts';
export {
  checkDiscordApplication,
  createDiscordChannel,
  DISCORD_URL,
  disconnectDiscordApplication,
  readDiscordCall,
  verifyDiscordCall,
} from './discord/index.ts';
export {
  checkEmailAccount,
  createDnsLookUp,
  createEmailChannel,
  createMailPort,
  createMailReader,
  domainOf,
  emailDnsRecords,
  INBOUND_SECRET_HEADER,
  type LookUpDns,
  listSuppressions,
  MAX_MAIL_BYTES,
  type MailboxSettings,
  type MailDomainSettings,
  type MailReader,
  proposeHandles,
  readAddress,
  readMailboxSettings,
  receiveMail,
  removeSuppression,
  type SuppressionRow,
  suppressAddress,
  UndecidedMailError,
  UnreadableMailError,
  verifyMailCall,
} from './email/index.ts';
export { hashStartToken, mintStartToken, START_TOKEN_HOURS } from './inbound/start-tokens.ts';
export { DEPLOYMENT_KINDS, kinds } from './kinds.ts';
export { createMessaging, type Messaging } from './messaging.ts';
export { hashPassword, isPassword, MAX_PASSWORD_CHARS, readPassword } from './page-password.ts';
export { FAILED_SENTENCE, PAUSED_SENTENCE } from './sentences.ts';
export {
  checkSlackApp,
  completeSlackInstall,
  createSlackChannel,
  defineSlackAppRemoval,
  findOwnSlackApp,
  forgetSlackTeam,
  isSlackConversation,
  keepSlackApp,
  type MintedSlackApp,
  makeSlackInstallLink,
  mintSlackApp,
  readSignedSlackCall,
  readSlackAppName,
  readSlackChallenge,
  readSlackOwnerEmail,
  removeSlackAppLater,
  removeSlackInstalls,
  renameSlackApp,
  retrySlackAppRemovals,
  type SignedSlackApp,
  SLACK_URL,
  type SlackFactory,
  slackInstallContext,
  slackRedirectUrl,
  verifyOwnSlackCall,
  verifySlackCall,
} from './slack/index.ts';
export { createSmsChannel, readSms } from './sms/index.ts';
export { defineChannelSweep } from './sweep-channels.ts';
export {
  checkTelegramBot,
  createTelegramChannel,
  createTelegramPolling,
  disconnectTelegramBot,
  readTelegramCall,
  SECRET_HEADER,
  TELEGRAM_URL,
  verifyTelegramCall,
} from './telegram/index.ts';
export {
  accountIdOf,
  checkTwilioNumber,
  defineNumberWebhooks,
  holdNumber,
  isSmithsNumber,
  type NumberKind,
  numberMetadata,
  type OpenNumber,
  openNumberOf,
  readNumber,
  settleNumberLater,
  type TwilioCall,
  verifyTwilioCall,
  verifyTwilioSocket,
} from './twilio/index.ts';
export { createVoice, type Voice } from './voice/index.ts';
export { MAX_TITLE_CHARS, readTitle, readWebPage, type WebPage } from './web-page.ts';
export {
  checkWhatsAppNumber,
  createWhatsAppChannel,
  disconnectWhatsAppNumber,
  GRAPH_URL,
  HUB_SIGNATURE_HEADER,
  knowsVerifyToken,
  readWhatsAppCall,
  verifyWhatsAppCall,
} from './whatsapp/index.ts';
