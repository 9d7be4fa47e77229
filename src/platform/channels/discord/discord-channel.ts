/** Discord as a channel: commands of an application, answered through the interaction and later by the bot. */
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { noteAccountError } from '../accounts/account-store.ts';
import type { OpenedAccounts } from '../accounts/opened-accounts.ts';
import type { Channel } from '../channel.ts';
import { createDiscordApi } from './api.ts';
import { composeDiscord } from './compose.ts';
import { dismissDiscord } from './deferred-reply.ts';
import { findSentDiscord } from './find-sent.ts';
import { createDiscordLive } from './live.ts';
import { openDiscordAttachment } from './open-attachment.ts';
import { sendDiscord } from './send.ts';

/** Discord takes 50 calls a second of a bot, and five messages in five seconds of a channel. */
const PACE = { accountMs: 25, chatMs: 1_000 };

export interface DiscordDependencies {
  readonly db: Database;
  readonly accounts: OpenedAccounts;
  readonly outbound: Pick<Outbound, 'fetch'>;
  readonly clock: Clock;
}

export function createDiscordChannel({ db, accounts, outbound, clock }: DiscordDependencies): Channel {
  const deps = { api: createDiscordApi(outbound), now: () => clock.now() };
  return {
    kind: 'discord',
    pace: PACE,
    openAccount: async (projectId) => (await accounts.find(projectId, 'discord'))?.account,
    noteFailure: (account, error) => noteAccountError(tenantDb(db, account.projectId), account, error),
    startLinks: (_account, token) => ({ prefilled_message: `/link token:${token}` }),
    compose: composeDiscord,
    send: (to, part, options) => sendDiscord(deps, to, part, options),
    findSent: (to, part, sentAfter, signal) => findSentDiscord(deps, to, part, sentAfter, signal),
    live: createDiscordLive(deps),
    dismiss: (to, signal) => dismissDiscord(deps, to, signal),
    openAttachment: (_account, attachment, signal) => openDiscordAttachment(outbound, attachment, signal),
  };
}
