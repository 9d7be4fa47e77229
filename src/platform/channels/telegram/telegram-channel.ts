/** Telegram: a bot of BotFather's, which people write to. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { noteAccountError } from '../accounts/account-store.ts';
import type { OpenedAccounts } from '../accounts/opened-accounts.ts';
import type { Channel } from '../channel.ts';
import { botOf } from './bot.ts';
import { createBotApi } from './bot-api.ts';
import { composeAnswer } from './compose.ts';
import { createTelegramLive } from './live.ts';
import { openAttachment } from './open-attachment.ts';
import { placeOf } from './place.ts';
import { sendPart } from './send.ts';

/**
 * Telegram asks for one message a second in a chat and thirty a second of a bot, lets through many more for a while, and says
 * how long to wait when it does not: that is heeded.
 */
const PACE = { accountMs: 5, chatMs: 100 };

export interface TelegramDependencies {
  readonly db: Database;
  readonly accounts: OpenedAccounts;
  readonly outbound: Outbound;
}

export function createTelegramChannel({ db, accounts, outbound }: TelegramDependencies): Channel {
  const botApi = createBotApi(outbound);
  return {
    kind: 'telegram',
    pace: PACE,
    openAccount: async (projectId) => (await accounts.find(projectId, 'telegram'))?.account,
    noteFailure: (account, error) => noteAccountError(tenantDb(db, account.projectId), account, error),
    startLinks: (account, token) => ({ deep_link: `https://t.me/${botOf(account).username}?start=${token}` }),
    compose: composeAnswer,
    send: (to, part, options) => sendPart(botApi, to, part, options),
    live: createTelegramLive(botApi),
    async showTyping(to, signal) {
      const { chatId, topic } = placeOf(to.chat);
      await (await botApi.of(to.account)).sendChatAction(chatId, 'typing', topic, signal as never);
    },
    openAttachment: (account, attachment, signal) => openAttachment(botApi, account, attachment, signal),
  };
}
