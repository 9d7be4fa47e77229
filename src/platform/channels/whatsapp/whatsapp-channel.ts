/** WhatsApp as a channel: a number of a business, which people write to. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { noteAccountError } from '../accounts/account-store.ts';
import { settingOf } from '../accounts/open-account.ts';
import type { OpenedAccounts } from '../accounts/opened-accounts.ts';
import type { Channel } from '../channel.ts';
import { composeWhatsApp } from './compose.ts';
import { createGraph } from './graph.ts';
import { openWhatsAppMedia } from './open-media.ts';
import { sendWhatsApp, showWhatsAppTyping } from './send.ts';

/** Meta takes 80 messages a second of a number, and says how long to wait where it takes no more. */
const PACE = { accountMs: 12, chatMs: 100 };

export interface WhatsAppDependencies {
  readonly db: Database;
  readonly accounts: OpenedAccounts;
  readonly outbound: Pick<Outbound, 'fetch'>;
}

export function createWhatsAppChannel({ db, accounts, outbound }: WhatsAppDependencies): Channel {
  const graph = createGraph(outbound);
  return {
    kind: 'whatsapp',
    pace: PACE,
    openAccount: async (projectId) => (await accounts.find(projectId, 'whatsapp'))?.account,
    noteFailure: (account, error) => noteAccountError(tenantDb(db, account.projectId), account, error),
    startLinks({ settings }, token) {
      const prefilled_message = `Connect me: ${token}`;
      const number = settingOf(settings, 'number');
      return { deep_link: `https://wa.me/${number}?text=${encodeURIComponent(prefilled_message)}`, prefilled_message };
    },
    compose: composeWhatsApp,
    send: (to, part, options) => sendWhatsApp(graph, to, part, options),
    showTyping: (to, signal) => showWhatsAppTyping(graph, to, signal),
    openAttachment: (account, attachment, signal) =>
      openWhatsAppMedia({ graph, outbound }, account, attachment, signal),
  };
}
