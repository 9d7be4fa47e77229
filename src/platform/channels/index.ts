/** Channels: the kinds of deployments and what deployments of each are made of. Their operations are a resource. */
export { channelAccountContext } from './accounts/account-secrets.ts';
export { deploymentSecretContext } from './deployment-secrets.ts';
export { disconnectDeployments } from './disconnect-deployments.ts';
export { DEPLOYMENT_KINDS, kinds } from './kinds.ts';
export { hashPassword, isPassword } from './page-password.ts';
export { MAX_TITLE_CHARS, readTitle, readWebPage, type WebPage } from './web-page.ts';
