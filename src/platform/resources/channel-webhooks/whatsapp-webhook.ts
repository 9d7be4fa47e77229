import { ApiError } from '../../../kernel/http/errors.ts';
import { operationsFor } from '../../../kernel/http/operation.ts';
import { plainText } from '../../../kernel/http/reply.ts';
import { component } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { TenantCaller } from '../../access/caller.ts';
import { open } from '../../access/operation.ts';
import {
  HUB_SIGNATURE_HEADER,
  knowsVerifyToken,
  type Messaging,
  noteAccountError,
  type OpenAccount,
  readWhatsAppCall,
  verifyWhatsAppCall,
} from '../../channels/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';

/** What Meta says that a call may have. */
const MAX_CALL_BYTES = 3 * 1024 * 1024;
const MAX_QUERY_CHARS = 1_024;

/** Meta, speaking of the numbers of one project or of several that share an app: the call takes from the first one's budget. */
interface MetaSender extends TenantCaller {
  readonly accounts: readonly OpenAccount[];
}

const WhatsAppWebhookAck = component('WhatsAppWebhookAck', Type.Object({ received: Type.Literal(true) }));

const meta = operationsFor<MetaSender>();

export interface WhatsAppWebhookDependencies {
  readonly vault: Pick<Vault, 'open'>;
  readonly messaging: Pick<Messaging, 'accept'>;
}

export function whatsAppWebhook({ vault, messaging }: WhatsAppWebhookDependencies) {
  return [
    open.read({
      id: 'whatsapp.webhook.verify',
      method: 'GET',
      path: '/v1/whatsapp/webhook',
      posture: 'public',
      summary: 'Prove to Meta that its calls are meant to come here',
      description:
        'Meta asks when the callback URL is saved, and is answered with its challenge where a project has the token.',
      query: Type.Object({
        'hub.mode': Type.Optional(Type.String({ maxLength: MAX_QUERY_CHARS, description: '`subscribe`.' })),
        'hub.verify_token': Type.Optional(Type.String({ maxLength: MAX_QUERY_CHARS })),
        'hub.challenge': Type.Optional(Type.String({ maxLength: MAX_QUERY_CHARS })),
      }),
      answers: ['text'],
      errors: ['verification_failed'],
      async handler({ db, query }) {
        const { 'hub.mode': mode, 'hub.verify_token': token = '', 'hub.challenge': challenge = '' } = query;
        if (mode !== 'subscribe' || !(await knowsVerifyToken(db, token))) throw new ApiError('verification_failed');
        return plainText(challenge);
      },
    }),
    meta.raw({
      id: 'whatsapp.webhook.receive',
      method: 'POST',
      path: '/v1/whatsapp/webhook',
      posture: 'public',
      summary: 'Receive messages from WhatsApp',
      description:
        'Only Meta calls this, for all projects: a number’s messages are taken where the secret of the project’s own app has ' +
        'signed the call. A message that comes again changes nothing.',
      reply: WhatsAppWebhookAck,
      maxBodyBytes: MAX_CALL_BYTES,
      errors: ['missing_signature', 'bad_signature', 'bad_webhook', 'payload_too_large'],
      async verify({ db, body, headers }) {
        const accounts = await verifyWhatsAppCall({ db, vault }, body.bytes, headers[HUB_SIGNATURE_HEADER]);
        const projectId = accounts[0]?.projectId ?? '';
        return { kind: 'tenant', projectId, tokenId: '', scopes: new Set<string>(), accounts };
      },
      async handler({ caller: { accounts }, body, db }) {
        for (const { account, messages, failure } of readWhatsAppCall(accounts, body.bytes)) {
          if (messages.length > 0) await messaging.accept(account, messages);
          if (failure !== undefined) {
            const error = { code: 'send_refused', message: `WhatsApp did not deliver a message: ${failure}` };
            await noteAccountError(tenantDb(db, account.projectId), account, error);
          }
        }
        return { received: true as const };
      },
    }),
  ];
}
