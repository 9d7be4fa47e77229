/** Addresses that a client might have browsers sent to in place of its own, and where browsers would go in truth. */

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);
/** What this server adds to the address that a client named. */
const ADDED: ReadonlySet<string> = new Set(['code', 'error', 'error_description', 'state', 'iss']);

/** Near the client's own address, or far from it; a few are its own in another spelling, which may be taken. */
export function redirectTricks(own: string): readonly string[] {
  const { protocol, host, hostname, pathname } = new URL(own);
  const at = (authority: string) => `${protocol}//${authority}${pathname}`;
  return [
    'javascript:alert(1)',
    `JaVaScRiPt://${host}/%0aalert(1)`,
    'java\tscript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:msgbox(1)',
    `blob:${own}`,
    `view-source:${own}`,
    'about:blank',
    'file:///etc/passwd',
    'ws://evil.example/',
    `http://${host === '' ? 'evil.example' : host}.evil.example/`,
    'https://evil.example/callback',
    '//evil.example/callback',
    '/callback',
    '///evil.example',
    '\\\\evil.example',
    `https:${hostname}/callback`,
    `https:/${hostname}/callback`,
    'https:\\\\evil.example',
    at('user@evil.example'),
    at(`${host}@evil.example`),
    at(`${hostname}:80@evil.example`),
    at(`user:secret@${host}`),
    at(`:@${host}`),
    at(`@${host}`),
    at(`evil.example\\@${host}`),
    at(`evil.example%23@${host}`),
    at(`${hostname}.evil.example`),
    at(`${hostname}%2eevil.example`),
    at(`${hostname}%00.evil.example`),
    at(`${hostname};script-src`),
    at(`${hostname},evil.example`),
    at(`*.${hostname}`),
    at('*'),
    at(''),
    at(hostname.toUpperCase()),
    at(`${hostname}.`),
    at(`${hostname}:443`),
    at(`${hostname}:8443`),
    at(`${hostname}:`),
    at(`${hostname}:99999`),
    at(`${hostname}:-1`),
    at(hostname.replace('e', '\u0435')),
    at(hostname.replace('.', '\u3002')),
    at('xn--e1awd7f.example'),
    at('127.1'),
    at('2130706433'),
    at('0x7f.0.0.1'),
    at('0.0.0.0'),
    at('[::ffff:127.0.0.1]'),
    at('[::1]'),
    at('localhost'),
    at('localhost.evil.example'),
    `${own}#fragment`,
    `${own}#`,
    `${own}/`,
    `${own}/../evil`,
    `${own}/%2e%2e/evil`,
    `${own}%2f..%2fevil`,
    `${own}\\..\\evil`,
    `${own}?x=1`,
    `${own}&x=1`,
    `${own};x=1`,
    `${own}*`,
    `${own}%0d%0aLocation:%20https://evil.example`,
    `${own}\r\nLocation: https://evil.example`,
    `${own}\0`,
    ` ${own}`,
    `${own} `,
    `${own}\t`,
    own.toUpperCase(),
    own.replace('//', '/'),
    own.replace('//', '////'),
    own.slice(0, -1),
    own + own,
    `${own} https://evil.example/`,
    `${own},https://evil.example/`,
  ];
}

/** Whether a browser that was at this server is now at one of the client's own addresses, of loopback at any port. */
export function leadsToClient(location: string, issuer: string, registered: readonly string[]): boolean {
  const place = placeOf(new URL(location, `${issuer}/oauth/authorize`));
  return registered.some((own) => placeOf(new URL(own)) === place);
}

function placeOf(url: URL): string {
  const isLoopback = url.protocol === 'http:' && LOOPBACK_HOSTS.has(url.hostname);
  const query = [...url.searchParams].filter(([name]) => !ADDED.has(name));
  const who = [url.protocol, url.username, url.password, url.hostname, isLoopback ? '' : url.port];
  return JSON.stringify([...who, url.pathname, query, url.hash]);
}
