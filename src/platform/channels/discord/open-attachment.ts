/** A file that somebody sent: its address opens for whoever has it, for a day. No credentials go there. */
import type { Readable } from 'node:stream';
import { type Outbound, OutboundError, openBody } from '../../../kernel/outbound/outbound.ts';
import { AttachmentFailure, type InboundAttachment } from '../channel.ts';

const GONE = new Set([400, 403, 404, 410]);

export async function openDiscordAttachment(
  outbound: Pick<Outbound, 'fetch'>,
  { ref, filename }: InboundAttachment,
  signal: AbortSignal,
): Promise<Readable> {
  const gone = (why: string, cause?: unknown) =>
    new AttachmentFailure(`The file ${filename} cannot be had from Discord: ${why}`, cause);
  const fetch = outbound.fetch('public', { httpsOnly: true });
  const response = await fetch(ref, { signal }).catch((error: unknown) => {
    if (error instanceof OutboundError && error.reason !== 'unresolvable') throw gone(error.message, error);
    throw error;
  });
  if (response.ok && response.body !== null) return openBody(response.body);
  await response.body?.cancel();
  if (GONE.has(response.status)) throw gone(`status ${response.status}`);
  throw new Error(`the host of a file answered ${response.status}`);
}
