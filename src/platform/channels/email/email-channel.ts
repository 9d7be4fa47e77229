/** Mail as a channel: mailboxes of a project's own domain. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { TenantDatabase, tenantDb } from '../../store/tenant-db.ts';
import { noteAccountError } from '../accounts/account-store.ts';
import type { OpenedAccounts } from '../accounts/opened-accounts.ts';
import { AttachmentFailure, type Channel, SendFailure } from '../channel.ts';
import type { ChannelFiles } from '../channel-files.ts';
import { composeMail } from './compose.ts';
import { placeOf } from './conversation.ts';
import { findMailboxes } from './mailbox-store.ts';
import { sendMail } from './send.ts';
import { RecipientRefused } from './smtp-refusal.ts';
import { findSuppression, suppressAddress } from './suppression-store.ts';

/** Servers say when they have had enough; two mails of one conversation at once would only be sorted otherwise. */
const PACE = { accountMs: 20, chatMs: 100 };

export interface EmailDependencies {
  readonly db: Database;
  readonly accounts: OpenedAccounts;
  readonly outbound: Pick<Outbound, 'openSocket'>;
  readonly files: Pick<ChannelFiles, 'open'>;
}

export function createEmailChannel({ db, accounts, outbound, files }: EmailDependencies): Channel {
  return {
    kind: 'email',
    pace: PACE,
    openAccount: async (projectId) => (await accounts.find(projectId, 'email'))?.account,
    async noteFailure(account, error, { deploymentId, smithId, sender }) {
      await new TenantDatabase(db, account.projectId).transaction(async (tx) => {
        await noteAccountError(tx, account, error);
        const data = { channel_id: deploymentId, to: sender, detail: error.message };
        const actor = smithId === null ? null : ({ kind: 'smith', id: smithId, token_id: '', email: '' } as const);
        await appendEvent(tx, { type: 'email.send_failed', smithId, actor, data });
      });
    },
    // A mailbox is made at once: nobody has to be bound.
    startLinks: () => ({}),
    compose: composeMail,
    async send(to, part, options) {
      const { account, chat } = to;
      const address = `${placeOf(chat).handle}@${account.accountId}`;
      const scope = tenantDb(db, account.projectId);
      const suppressed = await findSuppression(scope, to.sender);
      if (suppressed !== undefined) {
        throw new SendFailure('refused', `${to.sender} gets no mail: ${suppressed.reason ?? 'it is suppressed'}`);
      }
      const [mailbox] = await findMailboxes(scope, [address]);
      try {
        return await sendMail(outbound, to, part, { ...options, displayName: mailbox?.display_name ?? null });
      } catch (error) {
        if (error instanceof RecipientRefused) await suppressAddress(scope, to.sender, `bounce: ${error.message}`);
        throw error;
      }
    },
    // They came with the mail, and are held until its turn begins.
    async openAttachment({ projectId }, { ref }) {
      if (ref === '')
        throw new AttachmentFailure(
          'There was no room for it: it is too large, or the project’s files have reached their limit.',
        );
      return files.open(projectId, ref);
    },
  };
}
