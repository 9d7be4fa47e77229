import { type TelegramWebhookDependencies, telegramWebhook } from './telegram-webhook.ts';

/** What providers call; one line a kind. */
export function channelWebhookOperations(deps: TelegramWebhookDependencies) {
  return [telegramWebhook(deps)];
}
