/** The channel on which the replicas are told that a project has another account, or none; the payload is the project. */
export const ACCOUNTS_CHANNEL = 'channel_accounts';
