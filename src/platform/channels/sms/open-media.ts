/** A picture that somebody sent. The account's token goes to Twilio's hosts alone, whatever address is told. */
import type { Readable } from 'node:stream';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { InboundAttachment, OpenAccount } from '../channel.ts';
import { goneFrom, openProviderFile } from '../provider/open-file.ts';
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
  const gone = goneFrom('Twilio', filename);
  if (!isTwilios(ref, access)) throw gone('its address is not one of Twilio’s');
  return openProviderFile(
    outbound,
    { address: ref, headers: authorizationOf(access), finalStatuses: GONE, gone },
    signal,
  );
}

function isTwilios(address: string, { baseUrl }: TwilioAccess): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  if (url.origin === new URL(baseUrl).origin) return true;
  return url.protocol === 'https:' && url.port === '' && `.${url.hostname}`.endsWith('.twilio.com');
}
