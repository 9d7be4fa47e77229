import { operationsFor } from '../../../kernel/http/operation.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { TenantCaller } from '../../access/caller.ts';
import {
  type Messaging,
  type OpenAccount,
  type OpenedAccounts,
  readTelegramCall,
  SECRET_HEADER,
  verifyTelegramCall,
} from '../../channels/index.ts';

/** An update has at most a hundred thousand characters, as far as anybody has seen. */
const MAX_UPDATE_BYTES = 1024 * 1024;

/** Telegram, speaking of one project's bot: the call takes from that project's budget. */
interface TelegramSender extends TenantCaller {
  readonly account: OpenAccount;
}

const telegram = operationsFor<TelegramSender>();

export interface TelegramWebhookDependencies {
  readonly accounts: OpenedAccounts;
  readonly messaging: Messaging;
}

export function telegramWebhook({ accounts, messaging }: TelegramWebhookDependencies) {
  return telegram.raw({
    id: 'telegram.webhook.receive',
    method: 'POST',
    path: '/v1/telegram/webhook/{tenant}',
    posture: 'public',
    summary: 'Receive a message from Telegram',
    description:
      'Only Telegram calls this, with the secret that it was told when the bot was saved. A message that comes again changes ' +
      'nothing.',
    params: Type.Object({ tenant: Type.String() }),
    maxBodyBytes: MAX_UPDATE_BYTES,
    errors: ['bad_webhook_secret', 'bad_webhook'],
    async verify({ params, headers }) {
      const account = await verifyTelegramCall(accounts, params.tenant, headers[SECRET_HEADER]);
      return { kind: 'tenant', projectId: account.projectId, tokenId: '', scopes: new Set<string>(), account };
    },
    async handler({ caller: { account }, body }) {
      const { messages, moved } = readTelegramCall(account, body.bytes);
      if (moved !== undefined) await messaging.move(account, moved);
      if (messages.length > 0) await messaging.accept(account, messages);
    },
  });
}
