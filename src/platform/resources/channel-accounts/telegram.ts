import { closedObject, component, missingFailsWith, nullable } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { checkTelegramBot, disconnectTelegramBot, settingOf, TELEGRAM_URL } from '../../channels/index.ts';
import type { AccountKind } from './account-kind.ts';
import { checkApiUrl } from './check-api-url.ts';
import type { AccountDependencies } from './dependencies.ts';
import { apiBaseUrl } from './schema.ts';

const MAX_TOKEN_CHARS = 256;

const TelegramAccountIn = component(
  'TelegramAccountIn',
  closedObject({
    bot_token: Type.String({
      maxLength: MAX_TOKEN_CHARS,
      description: 'As BotFather gives it. Never shown again.',
      ...missingFailsWith('empty_bot_token'),
    }),
    api_base_url: apiBaseUrl(TELEGRAM_URL),
  }),
);

export function telegramAccount(deps: AccountDependencies): AccountKind<typeof TelegramAccountIn> {
  return {
    kind: 'telegram',
    name: 'Telegram bot',
    body: TelegramAccountIn,
    example: { bot_token: '123456789:AAExampleExampleExampleExample' },
    description:
      'Replaces the bot, once Telegram has said whose token it is. Where this server’s public URL is https, Telegram is told ' +
      'to bring messages to `webhook_url`; else they are fetched.',
    errors: ['empty_bot_token', 'invalid_url', 'telegram_api_error'],
    shown: {
      name: 'TelegramAccount',
      own: {
        bot_id: nullable(Type.String()),
        bot_username: nullable(Type.String(), { description: 'Without the `@`.' }),
        api_base_url: nullable(Type.String()),
      },
    },
    async check(projectId, body) {
      const apiUrl = await checkApiUrl(deps.outbound, body.api_base_url, TELEGRAM_URL);
      return checkTelegramBot(deps, projectId, { botToken: body.bot_token, apiUrl });
    },
    disconnect: (account) => disconnectTelegramBot(deps, account),
    show: (row) => ({
      bot_id: row?.account_id ?? null,
      bot_username: row === undefined ? null : settingOf(row.settings, 'bot_username'),
      api_base_url: row === undefined ? null : settingOf(row.settings, 'api_base_url'),
      webhook_url: row === undefined ? null : settingOf(row.settings, 'webhook_url') || null,
    }),
  };
}
