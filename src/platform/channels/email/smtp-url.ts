/** Where a project's mail goes out, as it writes it: `smtp://user:password@host:587`, or `smtps://` for TLS from the first byte. */
import { domainToASCII } from 'node:url';

export interface SmtpAccess {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; else STARTTLS. */
  readonly secure: boolean;
  /** Nothing is sent without TLS. */
  readonly requireTLS: boolean;
  readonly auth: { readonly user: string; readonly pass: string } | undefined;
}

/** Throws a TypeError that says what to write, and holds no secret. */
export function readSmtpUrl(text: string): SmtpAccess {
  if (!URL.canParse(text)) throw new TypeError('it is no URL; write smtp://user:password@host:587');
  const { protocol, hostname, port, username, password, searchParams, pathname } = new URL(text);
  if (protocol !== 'smtp:' && protocol !== 'smtps:')
    throw new TypeError('it starts neither with smtp:// nor with smtps://');
  const bare = hostname.replace(/^\[|\]$/g, '');
  const host = bare.includes(':') ? bare : domainToASCII(decode(bare));
  if (host === '') throw new TypeError('it names no host; write smtp://user:password@host:587');
  if (pathname !== '' && pathname !== '/') throw new TypeError('it has a path; end it with the host and its port');
  const secure = protocol === 'smtps:';
  return {
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS: !secure && searchParams.get('tls') !== 'optional',
    auth: username === '' ? undefined : { user: decode(username), pass: decode(password) },
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new TypeError('its host, name or password is not percent-encoded', { cause });
  }
}
