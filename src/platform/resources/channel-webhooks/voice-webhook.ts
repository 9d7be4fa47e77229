import { operationsFor } from '../../../kernel/http/operation.ts';
import { xml } from '../../../kernel/http/reply.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { TenantCaller } from '../../access/caller.ts';
import {
  type OpenNumber,
  type TwilioCall,
  type Voice,
  verifyTwilioCall,
  verifyTwilioSocket,
} from '../../channels/index.ts';

const MAX_CALL_BYTES = 64 * 1024;
/** Of what somebody says at a time. */
const MAX_MESSAGE_BYTES = 64 * 1024;

/** Twilio, speaking of one project's number: the call takes from that project's budget. */
interface TwilioCaller extends TenantCaller, TwilioCall<'voice'> {}

/** Twilio, connecting a call. */
interface TwilioRelay extends TenantCaller {
  readonly accounts: readonly OpenNumber<'voice'>[];
}

const calling = operationsFor<TwilioCaller>();
const relaying = operationsFor<TwilioRelay>();

const Tenant = Type.Object({ tenant: Type.String() });

export interface VoiceWebhookDependencies {
  readonly publicUrl: string;
  readonly vault: Pick<Vault, 'open'>;
  readonly voice: Pick<Voice, 'answer' | 'relay'>;
}

export function voiceWebhook({ publicUrl, vault, voice }: VoiceWebhookDependencies) {
  return [
    calling.raw({
      id: 'voice.webhook.receive',
      method: 'POST',
      path: '/v1/voice/webhook/{tenant}',
      posture: 'public',
      summary: 'Receive a call from Twilio',
      description:
        'Only Twilio calls this, and signs the public address that it calls and the form that it sends, with the token of the ' +
        'account that has the number. The answer is TwiML: it connects the call to `/v1/voice/relay/{tenant}`, or rejects it ' +
        'where nobody is reached.',
      params: Tenant,
      answers: ['xml'],
      maxBodyBytes: MAX_CALL_BYTES,
      errors: ['missing_signature', 'bad_signature', 'payload_too_large'],
      async verify({ db, params, body, url, headers }) {
        const request = { url, headers, bytes: body.bytes };
        const call = await verifyTwilioCall({ db, vault, publicUrl }, 'voice', params.tenant, request);
        return { kind: 'tenant', projectId: call.account.projectId, tokenId: '', scopes: new Set<string>(), ...call };
      },
      handler: async ({ caller }) => xml(await voice.answer(caller), { mediaType: 'text/xml' }),
    }),
    relaying.socket({
      id: 'voice.relay.connect',
      path: '/v1/voice/relay/{tenant}',
      posture: 'public',
      summary: 'Hear and speak in a call',
      description:
        'Only Twilio’s ConversationRelay connects here, and signs the public `wss:` address. Its first message has the call that ' +
        'the webhook has answered. What the caller says begins a turn, whose text is sent while it is written; who speaks into ' +
        'the answer cancels it.',
      params: Tenant,
      socket: { maxMessageBytes: MAX_MESSAGE_BYTES },
      errors: ['missing_signature', 'bad_signature'],
      async verify({ db, params: { tenant }, url, headers }) {
        const accounts = await verifyTwilioSocket({ db, vault, publicUrl }, tenant, { url, headers });
        return { kind: 'tenant', projectId: tenant, tokenId: '', scopes: new Set<string>(), accounts };
      },
      handler: async ({ caller: { projectId, accounts } }) => voice.relay(projectId, accounts),
    }),
  ];
}
