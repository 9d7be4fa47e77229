/** A picture that somebody sent. The account's token goes to Twilio's hosts alone, whatever address is told. */
import { Readable } from 'node:stream';
import { type Outbound, OutboundError } from '../../../kernel/outbound/outbound.ts';
import { AttachmentFailure, type InboundAttachment, type OpenAccount } from '../channel.ts';
import { authorizationOf, type TwilioAccess } from '../twilio/api.ts';
import { accessOf } from '../twilio/number.ts';

const GONE = new Set([400, 401, 403, 404, 410]);

export async function openSmsMedia(
  outbound: Pick<Outbound, 'fetch'>,
  account: OpenAccount,
  { ref, filename }: InboundAttachment,
  signal: AbortSignal,
): Promise<Readable> {
  const access = accessOf(account);
  if (!isTwilios(ref, access)) throw gone(filename, 'its address is not one of Twilio’s');
  // Twilio redirects to where it keeps files: credentials do not go along to another origin.
  const fetch = outbound.fetch('public', { httpsOnly: true });
  const response = await fetch(ref, { headers: authorizationOf(access), signal }).catch((error: unknown) => {
    if (error instanceof OutboundError && error.reason !== 'unresolvable') throw gone(filename, error.message, error);
    throw error;
  });
  if (response.ok && response.body !== null) return Readable.fromWeb(response.body as never);
  await response.body?.cancel();
  if (GONE.has(response.status)) throw gone(filename, `status ${response.status}`);
  throw new Error(`the host of a file answered ${response.status}`);
}

function gone(filename: string, why: string, cause?: unknown): AttachmentFailure {
  return new AttachmentFailure(`The file ${filename} cannot be had from Twilio: ${why}`, cause);
}

function isTwilios(address: string, { baseUrl }: TwilioAccess): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  if (url.origin === new URL(baseUrl).origin) return true;
  return url.protocol === 'https:' && url.port === '' && `.${url.hostname}`.endsWith('.twilio.com');
}
