/** Where browsers may be sent back to. */
import { ApiError } from '../../kernel/http/errors.ts';

const MAX_LENGTH = 2_048;
/** What browsers themselves give a meaning to: none of these is an application's own. */
const TAKEN_SCHEMES = new Set(
  'about blob chrome chrome-extension content data file filesystem ftp intent javascript mailto moz-extension resource sms tel urn vbscript view-source ws wss'.split(
    ' ',
  ),
);
/** With a host as names and addresses are written: `https:name` is a path of this server to browsers, and `;` would end a page's policy. */
const HTTPS = /^https:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?(?:[/?].*)?$/i;
/** RFC 8252, section 7.3: an application listens on whatever port it is given. */
const LOOPBACK = /^http:\/\/(?<host>localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?<rest>[/?].*)?$/;

/** Throws `invalid_url` for an address that nobody may be sent to: it takes https, http to loopback, or a scheme of an application's own. */
export function checkRedirectUri(uri: string, param: string): void {
  const refuse = (what: string) =>
    new ApiError('invalid_url', {
      param,
      message: `${JSON.stringify(uri.slice(0, 200))} ${what}. Use https, http to loopback, or a scheme of the application’s own.`,
    });
  if (uri.length > MAX_LENGTH || !/^[\x21-\x7e]+$/.test(uri)) throw refuse('is longer than 2,048 printable characters');
  if (!URL.canParse(uri)) throw refuse('is no absolute URL');
  const { protocol, username, password } = new URL(uri);
  if (/[#*\\]/.test(uri)) throw refuse('has a fragment, a wildcard or a backslash');
  if (username !== '' || password !== '' || /^[^/]*\/\/[^/?]*@/.test(uri))
    throw refuse('has a user name or a password');
  if (protocol === 'https:') {
    if (!HTTPS.test(uri)) throw refuse('has no host as it is written in addresses');
    return;
  }
  if (protocol === 'http:') {
    if (!LOOPBACK.test(uri)) throw refuse('is plain http beyond loopback');
    return;
  }
  if (TAKEN_SCHEMES.has(protocol.slice(0, -1))) throw refuse('has a scheme that belongs to no application');
}

/** Whether the client may have the browser sent there: exactly as it said, but for the port of a loopback address. */
export function isRegistered(registered: readonly string[], uri: string): boolean {
  if (registered.includes(uri)) return true;
  const asked = LOOPBACK.exec(uri)?.groups;
  if (asked === undefined || !URL.canParse(uri)) return false;
  return registered.some((known) => {
    const groups = LOOPBACK.exec(known)?.groups;
    return groups !== undefined && groups.host === asked.host && groups.rest === asked.rest;
  });
}

/** The address with parameters added; undefined ones are left out. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | null | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === null ? [] : [[name, value]],
  );
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`;
}

/** As people see it: the host, or the scheme of an application. */
export function hostOfRedirect(uri: string): string {
  const { protocol, host } = new URL(uri);
  return protocol === 'https:' || protocol === 'http:' ? host : protocol;
}

/** What `form-action` of a page calls it, so that its form's answer may lead there. */
export function sourceOfRedirect(uri: string): string {
  const { protocol, origin, hostname } = new URL(uri);
  const isHttp = protocol === 'https:' || protocol === 'http:';
  // The policy has no way to write an address of IPv6 (CSP 3, section 2.3.1).
  return !isHttp || hostname.startsWith('[') ? protocol : origin;
}
