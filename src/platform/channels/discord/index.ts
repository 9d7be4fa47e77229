/** Discord: an application's commands. */
export { checkDiscordApplication, disconnectDiscordApplication } from './account.ts';
export { DISCORD_URL } from './api.ts';
export { createDiscordChannel } from './discord-channel.ts';
export { readDiscordCall, verifyDiscordCall } from './webhook.ts';
