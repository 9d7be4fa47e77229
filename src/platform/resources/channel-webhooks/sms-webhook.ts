import { operationsFor } from '../../../kernel/http/operation.ts';
import { xml } from '../../../kernel/http/reply.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { TenantCaller } from '../../access/caller.ts';
import { isSmithsNumber, type Messaging, readSms, type TwilioCall, verifyTwilioCall } from '../../channels/index.ts';

/** A message has a few KiB. */
const MAX_CALL_BYTES = 64 * 1024;
/** Answers are sent by the API, when they are there. */
const NOTHING_TO_SAY = '<?xml version="1.0" encoding="UTF-8"?><Response/>';

/** Twilio, speaking of one project's number: the call takes from that project's budget. */
interface TwilioSender extends TenantCaller, TwilioCall<'sms'> {}

const twilio = operationsFor<TwilioSender>();

export interface SmsWebhookDependencies {
  readonly publicUrl: string;
  readonly vault: Pick<Vault, 'open'>;
  readonly messaging: Pick<Messaging, 'accept'>;
}

export function smsWebhook({ publicUrl, vault, messaging }: SmsWebhookDependencies) {
  return twilio.raw({
    id: 'sms.webhook.receive',
    method: 'POST',
    path: '/v1/sms/webhook/{tenant}',
    posture: 'public',
    summary: 'Receive a text message from Twilio',
    description:
      'Only Twilio calls this, and signs the public address that it calls and the form that it sends, with the token of the ' +
      'account that has the number. A message that comes again changes nothing.',
    params: Type.Object({ tenant: Type.String() }),
    answers: ['xml'],
    maxBodyBytes: MAX_CALL_BYTES,
    errors: ['missing_signature', 'bad_signature', 'payload_too_large'],
    async verify({ db, params, body, url, headers }) {
      const call = await verifyTwilioCall({ db, vault, publicUrl }, 'sms', params.tenant, {
        url,
        headers,
        bytes: body.bytes,
      });
      return { kind: 'tenant', projectId: call.account.projectId, tokenId: '', scopes: new Set<string>(), ...call };
    },
    async handler({ caller: { account, form }, db }) {
      const message = readSms(form);
      if (message !== undefined) {
        const isMachines = message.fate === undefined && (await isSmithsNumber(db, message.sender));
        await messaging.accept(account, [isMachines ? { ...message, type: 'automatic', fate: 'noted' } : message]);
      }
      return xml(NOTHING_TO_SAY, { mediaType: 'text/xml' });
    },
  });
}
