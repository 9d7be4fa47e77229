/** The bot of an account, checked at Telegram and connected to this server. */
import { abortAfter } from '../../../kernel/clock/timers.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { CheckedAccount } from '../accounts/checked-account.ts';
import type { OpenAccount } from '../channel.ts';
import type { TelegramSettings } from './bot.ts';
import { createBotApi, readProblem } from './bot-api.ts';
import { ALLOWED_UPDATES } from './read-update.ts';
import { mintWebhookSecret, webhookUrlFor } from './webhook.ts';

const PATIENCE_MS = 20_000;

export interface TelegramSetup {
  readonly outbound: Outbound;
  readonly publicUrl: string;
}

/** Throws `empty_bot_token`, `invalid_request` and `telegram_api_error`. */
export async function checkTelegramBot(
  { outbound, publicUrl }: TelegramSetup,
  projectId: string,
  given: { readonly botToken: string; readonly apiUrl: string },
): Promise<CheckedAccount> {
  const token = readToken(given.botToken);
  const botApi = createBotApi(outbound);
  const secrets = { bot_token: token };
  const api = await botApi.of({ settings: { api_base_url: given.apiUrl }, secrets });
  const bot = await atTelegram(api.getMe(patience()));
  const webhookUrl = await webhookUrlFor(outbound, publicUrl, projectId);
  const settings: TelegramSettings = {
    bot_username: bot.username,
    api_base_url: given.apiUrl,
    webhook_url: webhookUrl,
  };
  const { secret, hash } = mintWebhookSecret();
  return {
    accountId: String(bot.id),
    settings: { ...settings },
    secrets,
    webhookKeyHash: webhookUrl === '' ? null : hash,
    async register() {
      const call =
        webhookUrl === ''
          ? // While a webhook stands, nothing can be fetched.
            api.deleteWebhook({}, patience())
          : api.setWebhook(webhookUrl, { secret_token: secret, allowed_updates: ALLOWED_UPDATES }, patience());
      await atTelegram(call);
    },
  };
}

/** Telegram brings no more messages. Throws `telegram_api_error`. */
export async function disconnectTelegramBot({ outbound }: TelegramSetup, account: OpenAccount): Promise<void> {
  const api = await createBotApi(outbound).of(account);
  await atTelegram(api.deleteWebhook({}, patience()));
}

function readToken(text: string): string {
  // Pasted tokens tend to bring a line break along.
  const token = text.trim();
  if (token === '') throw new ApiError('empty_bot_token', { param: 'bot_token' });
  if (/^\d{1,20}:[\w-]{1,200}$/.test(token)) return token;
  throw new ApiError('invalid_request', {
    param: 'bot_token',
    message: '`bot_token` is no token of a bot. Copy it from BotFather whole: digits, a colon, letters and digits.',
  });
}

async function atTelegram<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const { code, message } = readProblem(error);
    const advice = code === 401 || code === 404 ? 'Check the bot token' : 'Try again, or check `api_base_url`';
    throw new ApiError('telegram_api_error', { message: `${message}. ${advice}.` });
  }
}

/** As grammy types it, whose signals are of a class of their own. */
function patience() {
  return abortAfter(PATIENCE_MS) as never;
}
