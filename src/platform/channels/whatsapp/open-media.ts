/**
 * A file that somebody sent: Graph tells its address, and the address gives it to whoever has the account's token. The token
 * goes to Meta's hosts alone, whatever address is told.
 */
import type { Readable } from 'node:stream';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { InboundAttachment, OpenAccount } from '../channel.ts';
import { goneFrom, openProviderFile } from '../provider/open-file.ts';
import { textAt } from '../provider/read-json.ts';
import { accessOf } from './access.ts';
import { type Graph, type GraphAccess, readRefusal } from './graph.ts';

const MEDIA_HOSTS = ['fbsbx.com', 'facebook.com', 'fbcdn.net', 'whatsapp.net'];
const GONE = new Set([400, 403, 404, 410]);

export async function openWhatsAppMedia(
  { graph, outbound }: { readonly graph: Graph; readonly outbound: Pick<Outbound, 'fetch'> },
  account: OpenAccount,
  { ref, filename }: InboundAttachment,
  signal: AbortSignal,
): Promise<Readable> {
  const access = accessOf(account);
  const gone = goneFrom('WhatsApp', filename);
  const told = await graph.call(
    access,
    { method: 'GET', path: ref, query: { phone_number_id: account.accountId } },
    signal,
  );
  const address = textAt(told.body, 'url');
  if (GONE.has(told.status)) throw gone(readRefusal(told)?.message ?? `status ${told.status}`);
  if (told.status !== 200 || address === undefined) throw new Error(`Graph answered ${told.status} for a file`);
  if (!isMetas(address, access)) throw gone('its address is not one of Meta’s');
  const headers = { authorization: `Bearer ${access.accessToken}` };
  return openProviderFile(outbound, { address, headers, finalStatuses: GONE, gone }, signal);
}

function isMetas(address: string, { baseUrl }: GraphAccess): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  if (url.origin === new URL(baseUrl).origin) return true;
  return url.protocol === 'https:' && MEDIA_HOSTS.some((host) => `.${url.hostname}`.endsWith(`.${host}`));
}
