/**
 * What the protocol demands against DNS rebinding (2025-11-25, Transports, Security Warning). Pages of any origin may call
 * with a token, but a page that claims to come from this very host, under a name that is not this server's, was brought here
 * by a name that its owner has pointed at us.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { ApiError } from '../../kernel/http/errors.ts';

/** Throws `invalid_request` with 403. */
export function checkOrigin(publicUrl: string, { origin, host }: IncomingHttpHeaders): void {
  // `null` is what sandboxed frames send, such as those of MCP Apps.
  if (origin === undefined || origin === 'null') return;
  const from = URL.canParse(origin) ? new URL(origin).hostname : '';
  if (from === '') throw refused('`Origin` is no origin.');
  if (host === undefined || !URL.canParse(`http://${host}`) || new URL(`http://${host}`).hostname !== from) return;
  const isOurs =
    from === new URL(publicUrl).hostname || from === 'localhost' || isIP(from.replace(/^\[|\]$/g, '')) !== 0;
  if (!isOurs)
    throw refused('`Origin` and `Host` name a server that this one is not known as. Use its public address.');
}

function refused(message: string): ApiError {
  return new ApiError('invalid_request', { status: 403, param: 'Origin', message });
}
