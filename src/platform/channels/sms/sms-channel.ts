/** Text messages as a channel: a number at Twilio, which people write to. The account is each deployment's own. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { settingOf } from '../accounts/open-account.ts';
import type { Channel } from '../channel.ts';
import { createTwilioApi } from '../twilio/api.ts';
import { openNumberOf } from '../twilio/number-store.ts';
import { composeSms } from './compose.ts';
import { openSmsMedia } from './open-media.ts';
import { findSentSms, sendSms } from './send.ts';

/** Twilio queues what a number may not send yet; its API takes a hundred calls at once. */
const PACE = { accountMs: 12, chatMs: 1_000 };

export interface SmsDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open'>;
  readonly outbound: Pick<Outbound, 'fetch'>;
}

export function createSmsChannel({ db, vault, outbound }: SmsDependencies): Channel {
  const api = createTwilioApi(outbound);
  return {
    kind: 'sms',
    pace: PACE,
    async openAccount(projectId, deploymentId) {
      return deploymentId === undefined ? undefined : openNumberOf(tenantDb(db, projectId), vault, 'sms', deploymentId);
    },
    // There is no account that would show it: what is not sent is logged.
    noteFailure: async () => undefined,
    startLinks({ settings }, token) {
      const prefilled_message = `Connect me: ${token}`;
      // With both signs: telephones differ in which of them they look for.
      const deep_link = `sms:${settingOf(settings, 'number')}?&body=${encodeURIComponent(prefilled_message)}`;
      return { deep_link, prefilled_message };
    },
    compose: composeSms,
    send: (to, part, { signal }) => sendSms(api, to, part, signal),
    findSent: (to, part, sentAfter, signal) => findSentSms(api, to, part, sentAfter, signal),
    openAttachment: (account, attachment, signal) => openSmsMedia(outbound, account, attachment, signal),
  };
}
