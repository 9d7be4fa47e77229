import { type DiscordWebhookDependencies, discordWebhook } from './discord-webhook.ts';
import { type EmailInboundDependencies, emailInbound } from './email-inbound.ts';
import { type SlackOauthDependencies, slackOauth } from './slack-oauth.ts';
import { type SlackWebhookDependencies, slackWebhooks } from './slack-webhook.ts';
import { type SmsWebhookDependencies, smsWebhook } from './sms-webhook.ts';
import { type TelegramWebhookDependencies, telegramWebhook } from './telegram-webhook.ts';
import { type VoiceWebhookDependencies, voiceWebhook } from './voice-webhook.ts';
import { type WhatsAppWebhookDependencies, whatsAppWebhook } from './whatsapp-webhook.ts';

/** What providers call; one line a kind. */
export function channelWebhookOperations(
  deps: TelegramWebhookDependencies &
    WhatsAppWebhookDependencies &
    DiscordWebhookDependencies &
    SlackWebhookDependencies &
    SlackOauthDependencies &
    SmsWebhookDependencies &
    EmailInboundDependencies &
    VoiceWebhookDependencies,
) {
  return [
    telegramWebhook(deps),
    ...whatsAppWebhook(deps),
    discordWebhook(deps),
    ...slackWebhooks(deps),
    slackOauth(deps),
    smsWebhook(deps),
    emailInbound(deps),
    ...voiceWebhook(deps),
  ];
}
