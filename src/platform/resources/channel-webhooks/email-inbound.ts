import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { operationsFor } from '../../../kernel/http/operation.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { TenantCaller } from '../../access/caller.ts';
import {
  type ChannelFiles,
  INBOUND_SECRET_HEADER,
  MAX_MAIL_BYTES,
  type MailReader,
  type Messaging,
  type OpenAccount,
  receiveMail,
  UndecidedMailError,
  UnreadableMailError,
  verifyMailCall,
} from '../../channels/index.ts';

/** Whoever takes a domain's mail, or hands it on: the call takes from its project's budget. */
interface MailForwarder extends TenantCaller {
  readonly account: OpenAccount;
}

const mail = operationsFor<MailForwarder>();

export interface EmailInboundDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open'>;
  readonly messaging: Pick<Messaging, 'accept'>;
  readonly mailReader: MailReader;
  readonly channelFiles: ChannelFiles;
  readonly clock: Clock;
}

export function emailInbound({ vault, messaging, mailReader, channelFiles, clock, ...rest }: EmailInboundDependencies) {
  const deps = {
    ...{ db: rest.db, now: () => clock.now() },
    ...{ reader: mailReader, files: channelFiles, accept: messaging.accept },
  };
  return mail.raw({
    id: 'email.inbound.receive',
    method: 'POST',
    path: '/v1/email/inbound/{tenant}',
    posture: 'public',
    summary: 'Receive a mail',
    description:
      'Raw MIME, as a mail server hands it on, with the project’s `inbound_secret` as `X-IC-Inbound-Secret`. `Delivered-To`, ' +
      '`X-Original-To` or `Envelope-To`, else `To` and `Cc`, name the mailboxes. A mail that comes again changes nothing; one that is ' +
      'not signed by the domain in `From` is noted and begins no turn.',
    params: Type.Object({ tenant: Type.String() }),
    maxBodyBytes: MAX_MAIL_BYTES,
    errors: ['bad_inbound_secret', 'bad_webhook', 'payload_too_large', 'service_overloaded'],
    async verify({ db, params, headers }) {
      const account = await verifyMailCall({ db, vault }, params.tenant, headers[INBOUND_SECRET_HEADER]);
      return { kind: 'tenant', projectId: account.projectId, tokenId: '', scopes: new Set<string>(), account };
    },
    async handler({ caller: { account }, body }) {
      try {
        await receiveMail(deps, account, body.bytes);
      } catch (error) {
        if (error instanceof UnreadableMailError)
          throw new ApiError('bad_webhook', { message: error.message, cause: error });
        if (error instanceof UndecidedMailError) {
          throw new ApiError('service_overloaded', {
            message: `${error.message} Send the mail again later.`,
            cause: error,
          });
        }
        throw error;
      }
    },
  });
}
