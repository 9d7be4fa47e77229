/** A file that somebody sent: whoever has the bot's token gets it. The token goes to Slack's hosts alone, whatever address is told. */
import type { Readable } from 'node:stream';
import { type Outbound, OutboundError, openBody } from '../../../kernel/outbound/outbound.ts';
import { AttachmentFailure, type InboundAttachment } from '../channel.ts';
import { readFileRef } from './attachment.ts';
import { isSlackUrl } from './slack-url.ts';
import type { SlackAccess } from './web-api.ts';

const GONE = new Set([400, 401, 403, 404, 410]);

/** `accessTo`: undefined for a workspace that the app has left. */
export async function openSlackFile(
  outbound: Pick<Outbound, 'fetch'>,
  accessTo: (teamId: string) => Promise<SlackAccess | undefined>,
  { ref, filename, mediaType }: InboundAttachment,
  signal: AbortSignal,
): Promise<Readable> {
  const { teamId, url } = readFileRef(ref);
  const access = await accessTo(teamId);
  const gone = (why: string, cause?: unknown) =>
    new AttachmentFailure(`The file ${filename} cannot be had from Slack: ${why}`, cause);
  if (access === undefined) throw gone('the app is not installed there');
  if (!isSlackUrl(url, access.baseUrl)) throw gone('its address is not one of Slack’s');
  // A token that may not read files is sent on to a page for signing in.
  const fetch = outbound.fetch('public', { httpsOnly: true, maxRedirects: 0 });
  const headers = { authorization: `Bearer ${access.token}` };
  const response = await fetch(url, { headers, signal }).catch((error: unknown) => {
    if (error instanceof OutboundError && error.reason !== 'unresolvable') throw gone(error.message, error);
    throw error;
  });
  const isPage = response.headers.get('content-type')?.startsWith('text/html') === true && mediaType !== 'text/html';
  if (response.ok && response.body !== null && !isPage) return openBody(response.body);
  await response.body?.cancel();
  if (isPage) throw gone('the app lacks the scope files:read');
  if (GONE.has(response.status)) throw gone(`status ${response.status}`);
  throw new Error(`the host of a file answered ${response.status}`);
}
