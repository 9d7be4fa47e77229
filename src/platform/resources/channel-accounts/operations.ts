import { defineAccount } from './define-account.ts';
import type { AccountDependencies } from './dependencies.ts';
import { discordAccount } from './discord.ts';
import { emailAccount } from './email.ts';
import { slackAccount } from './slack.ts';
import { telegramAccount } from './telegram.ts';
import { whatsAppAccount } from './whatsapp.ts';

/** One line a kind. */
export function channelAccountOperations(deps: AccountDependencies) {
  return [
    ...defineAccount(deps, telegramAccount(deps)),
    ...defineAccount(deps, whatsAppAccount(deps)),
    ...defineAccount(deps, discordAccount(deps)),
    ...defineAccount(deps, slackAccount(deps)),
    ...defineAccount(deps, emailAccount(deps)),
  ];
}
