/** Slack as a channel: an app's bot, in direct messages, and in channels where it is mentioned. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { noteAccountError } from '../accounts/account-store.ts';
import type { Channel } from '../channel.ts';
import { createFindAccess } from './access.ts';
import { composeSlack } from './compose.ts';
import { findSentSlack } from './find-sent.ts';
import { inviteToSlack } from './invite.ts';
import { createSlackLive } from './live.ts';
import { lookUpSlackFile } from './look-up-attachment.ts';
import { openSlackAccount } from './open-account.ts';
import { openSlackFile } from './open-attachment.ts';
import { sendSlack } from './send.ts';
import { showSlackTyping } from './show-typing.ts';
import { createSlackApi } from './web-api.ts';

/** Slack takes one message a second in a channel, and some hundred a minute in a workspace. */
const PACE = { accountMs: 100, chatMs: 1_000 };

export interface SlackDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open'>;
  readonly outbound: Pick<Outbound, 'fetch'>;
  readonly publicUrl: string;
}

export function createSlackChannel({ db, vault, outbound, publicUrl }: SlackDependencies): Channel {
  const findAccess = createFindAccess({ db, vault });
  const deps = { api: createSlackApi(outbound), outbound, findAccess };
  return {
    kind: 'slack',
    pace: PACE,
    openAccount: (projectId, deploymentId) => openSlackAccount({ db, vault }, projectId, deploymentId),
    noteFailure: (account, error) => noteAccountError(tenantDb(db, account.projectId), account, error),
    // Nobody is bound by what they write: `setup` makes an app.
    startLinks: () => ({}),
    invite: (tx, deployment, account) => inviteToSlack(tx, publicUrl, deployment, account),
    compose: composeSlack,
    send: (to, part, options) => sendSlack(deps, to, part, options),
    findSent: (to, part, sentAfter, signal) => findSentSlack(deps, to, part, sentAfter, signal),
    live: createSlackLive(deps),
    showTyping: (to, signal) => showSlackTyping(deps, to, signal),
    lookUpAttachment: (account, attachment, signal) =>
      lookUpSlackFile(deps.api, (teamId) => findAccess(account, teamId), attachment, signal),
    openAttachment: (account, attachment, signal) =>
      openSlackFile(outbound, (teamId) => findAccess(account, teamId), attachment, signal),
  };
}
