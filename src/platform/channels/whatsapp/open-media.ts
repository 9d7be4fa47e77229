/**
 * A file that somebody sent: Graph tells its address, and the address gives it to whoever has the account's token. The token
 * goes to Meta's hosts alone, whatever address is told.
 */
import { Readable } from 'node:stream';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import { OutboundError } from '../../../kernel/outbound/outbound.ts';
import { AttachmentFailure, type InboundAttachment, type OpenAccount } from '../channel.ts';
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
  const told = await graph.call(
    access,
    { method: 'GET', path: ref, query: { phone_number_id: account.accountId } },
    signal,
  );
  const address = textAt(told.body, 'url');
  if (GONE.has(told.status)) throw gone(filename, readRefusal(told)?.message ?? `status ${told.status}`);
  if (told.status !== 200 || address === undefined) throw new Error(`Graph answered ${told.status} for a file`);
  if (!isMetas(address, access)) throw gone(filename, 'its address is not one of Meta’s');
  const fetch = outbound.fetch('public', { httpsOnly: true });
  const response = await fetch(address, { headers: { authorization: `Bearer ${access.accessToken}` }, signal }).catch(
    (error: unknown) => {
      if (error instanceof OutboundError && error.reason !== 'unresolvable') throw gone(filename, error.message, error);
      throw error;
    },
  );
  if (response.ok && response.body !== null) return Readable.fromWeb(response.body as never);
  await response.body?.cancel();
  if (GONE.has(response.status)) throw gone(filename, `status ${response.status}`);
  throw new Error(`the host of a file answered ${response.status}`);
}

function gone(filename: string, why: string, cause?: unknown): AttachmentFailure {
  return new AttachmentFailure(`The file ${filename} cannot be had from WhatsApp: ${why}`, cause);
}

function isMetas(address: string, { baseUrl }: GraphAccess): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  if (url.origin === new URL(baseUrl).origin) return true;
  return url.protocol === 'https:' && MEDIA_HOSTS.some((host) => `.${url.hostname}`.endsWith(`.${host}`));
}
