import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** One setting with a bad value. The message says what is expected and never repeats the value. */
export class ValueError extends Error {}

const NAMED_NETWORKS = new Set(['loopback', 'linklocal', 'uniquelocal']);
const HOST_NAME = /^(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*$/;

export function parseInteger(text: string, min: number, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new ValueError(`use a whole number from ${min} to ${max}`);
  return value;
}

export function parseChoice<Choice extends string>(text: string, choices: readonly Choice[]): Choice {
  const found = choices.find((choice) => choice === text.toLowerCase());
  if (found === undefined) throw new ValueError(`use one of ${choices.join(', ')}`);
  return found;
}

export function parseHost(text: string): string {
  const bare = text.replace(/^\[(.+)\]$/, '$1');
  if (isIP(bare) === 0 && !HOST_NAME.test(bare)) {
    throw new ValueError('use an IP address or a host name, without scheme or port');
  }
  return bare;
}

/** An absolute http(s) URL; trailing slashes are dropped, so that paths can be appended. */
export function parsePublicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new ValueError('use an absolute URL such as https://agents.example.com');
  }
  if (url.username !== '' || url.password !== '') throw new ValueError('leave user and password out of the URL');
  if (url.search !== '' || url.hash !== '') throw new ValueError('leave query and fragment out of the URL');
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

/** Where browsers are sent; a query stays. */
export function parsePageUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new ValueError('use an absolute URL such as https://app.example.com/consent');
  }
  if (url.username !== '' || url.password !== '') throw new ValueError('leave user and password out of the URL');
  return url.href;
}

/** Lines of text with | between them. */
export function parseLines(text: string): string[] {
  const lines = text.split('|').map((line) => line.trim());
  if (lines.length > 10 || lines.some((line) => !/^[^\p{Cc}]{1,100}$/u.test(line))) {
    throw new ValueError('use up to 10 lines of up to 100 characters, with | between them');
  }
  return lines;
}

/** A percentage up to 50, in hundredths of a per cent. */
export function parseHundredths(text: string): number {
  const match = /^(\d{1,2})(?:\.(\d{1,2}))?$/.exec(text);
  const value = match === null ? Number.NaN : Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'));
  if (!(value <= 5_000)) throw new ValueError('use a percentage from 0 to 50 with at most two decimals, such as 8.1');
  return value;
}

export function parseDatabaseUrl(text: string): string {
  // A socket folder in the query leaves the host empty, which pg accepts and the URL class does not.
  const parsable = URL.canParse(text) || URL.canParse(text.replace('@/', '@socket/'));
  if (!/^postgres(ql)?:\/\//.test(text) || !parsable) {
    throw new ValueError(
      'use postgres://user:password@host:port/database (percent-encode special characters of the password), ' +
        'or remove it to use the embedded database',
    );
  }
  return text;
}

/** As Fastify's `trustProxy`. Fastify itself never trusts a bare number, so a hop count becomes a function. */
export type TrustProxy = false | string[] | ((address: string, hop: number) => boolean);

export function parseTrustProxy(text: string): TrustProxy {
  if (/^(false|0)$/i.test(text)) return false;
  if (/^\d{1,2}$/.test(text)) {
    const hops = Number(text);
    return (_address, hop) => hop < hops;
  }
  const networks = splitList(text);
  for (const network of networks) {
    if (NAMED_NETWORKS.has(network) || isIP(network) !== 0 || ipaddr.isValidCIDR(network)) continue;
    throw new ValueError(
      'use false, addresses and CIDRs such as 10.0.0.0/8, or the number of proxies in front ' +
        '(true would let every caller choose its address)',
    );
  }
  return networks;
}

/** Currencies of ISO 4217 that have no cents, or more than two decimals. */
const WITHOUT_CENTS =
  'bhd bif clp djf gnf iqd isk jod jpy kmf krw kwd lyd mga omr pyg rwf tnd ugx uyi vnd vuv xaf xof xpf'.split(' ');

export function parseCurrency(text: string): string {
  const currency = text.toLowerCase();
  if (!/^[a-z]{3}$/.test(currency)) throw new ValueError('use three letters such as eur');
  if (WITHOUT_CENTS.includes(currency)) throw new ValueError('use a currency that has cents, such as eur');
  return currency;
}

/** A decimal number as millionths, exactly. */
export function parseExchangeRate(text: string): number {
  const [, whole = '', decimals = ''] = /^(\d{1,7})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  const millionths = whole === '' ? 0 : Number(whole + decimals.padEnd(6, '0'));
  if (millionths >= 1 && millionths <= 1_000_000_000_000) return millionths;
  throw new ValueError('use a number from 0.000001 to 1000000 with up to six decimals');
}

export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** `epps://host:port`; EPP's port is 700. */
export function parseEppUrl(text: string): { host: string; port: number } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'epps:' || url.hostname === '' || !['', '/'].includes(url.pathname) || url.username !== '') {
    throw new ValueError('use epps://host:port, without user and path');
  }
  return { host: url.hostname, port: url.port === '' ? 700 : Number(url.port) };
}

/** Public suffixes, lower case. */
export function parseTlds(text: string): string[] {
  const tlds = splitList(text).map((tld) => tld.toLowerCase().replace(/^\./, ''));
  if (tlds.length === 0 || !tlds.every((tld) => HOST_NAME.test(tld))) {
    throw new ValueError('use suffixes such as com,co.uk');
  }
  return tlds;
}

/** Two to thirteen host names, lower case and sorted. */
export function parseNameservers(text: string): string[] {
  const names = [...new Set(splitList(text).map((name) => name.toLowerCase().replace(/\.$/, '')))].sort();
  const areNames = names.every((name) => HOST_NAME.test(name) && name.includes('.') && isIP(name) === 0);
  if (names.length < 2 || names.length > 13 || !areNames) {
    throw new ValueError('use two to thirteen host names such as ns1.example.com,ns2.example.com');
  }
  return names;
}

/** Of nameservers to ask: addresses, as `Resolver.setServers` takes them. */
export function parseDnsServers(text: string): string[] {
  const servers = splitList(text);
  const isServer = (given: string) => {
    const [, inner, v6Port, v4, v4Port] = /^(?:\[([^\]]+)\](?::(\d+))?|([\d.]+)(?::(\d+))?)$/.exec(given) ?? [];
    const port = Number(v6Port ?? v4Port ?? 53);
    return isIP(inner ?? v4 ?? given) !== 0 && port > 0 && port <= 65_535;
  };
  if (servers.length === 0 || !servers.every(isServer)) {
    throw new ValueError('use addresses of nameservers such as 192.0.2.53,[2001:db8::53]:5353');
  }
  return servers;
}

/** Addresses with the number of bits that count, or without for single ones. */
export function parseNetworks(text: string): string[] {
  const networks = splitList(text);
  const isNetwork = (given: string) => {
    const [, address = '', bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(given) ?? [];
    const version = isIP(address);
    return version !== 0 && Number(bits ?? 0) <= (version === 4 ? 32 : 128);
  };
  if (!networks.every(isNetwork)) throw new ValueError('use networks such as 192.0.2.0/24,2001:db8::/32');
  return networks;
}

/** Of DNS cookies: 128 bits each. */
export function parseCookieSecrets(text: string): string[] {
  const secrets = splitList(text).map((secret) => secret.toLowerCase());
  if (secrets.length > 4 || !secrets.every((secret) => /^[0-9a-f]{32}$/.test(secret))) {
    throw new ValueError('use one to four secrets of 32 hex digits, such as openssl rand -hex 16 makes');
  }
  return secrets;
}

export interface DnsKey {
  /** Lower case, without the last dot. */
  readonly name: string;
  readonly algorithm: 'hmac-sha256' | 'hmac-sha512';
  readonly secret: Uint8Array;
}

const SHORTEST_DNS_KEY = 16;

/** `name:hmac-sha256:base64`, as `dig -y` takes them in another order. */
export function parseDnsKeys(text: string): DnsKey[] {
  return splitList(text).map((given) => {
    const [, name = '', algorithm, base64 = ''] =
      /^([^:]+):(hmac-sha256|hmac-sha512):([A-Za-z0-9+/]+={0,2})$/.exec(given) ?? [];
    const secret = Buffer.from(base64, 'base64');
    const isKnown = algorithm === 'hmac-sha256' || algorithm === 'hmac-sha512';
    if (!isKnown || !HOST_NAME.test(name.toLowerCase()) || secret.length < SHORTEST_DNS_KEY) {
      throw new ValueError('use name:hmac-sha256:base64 or name:hmac-sha512:base64, with secrets of at least 16 bytes');
    }
    return { name: name.toLowerCase(), algorithm, secret };
  });
}

/** Nameservers: addresses, with a port or not, or networks; and the names of their keys. */
export function parseSecondaries(text: string): { address: string; port: number; keyName: string | undefined }[] {
  return splitList(text).map((given) => {
    const [, server = '', keyName] = /^([^@]+)(?:@([^@]+))?$/.exec(given) ?? [];
    const key = keyName?.toLowerCase().replace(/\.$/, '');
    const [, inner, v6Port, v4, v4Port] = /^(?:\[([^\]]+)\](?::(\d+))?|([\d.]+)(?::(\d+))?)$/.exec(server) ?? [];
    const address = inner ?? v4 ?? server;
    const port = Number(v6Port ?? v4Port ?? 53);
    if (parseNetworks(address).length !== 1 || port === 0 || port > 65_535) {
      throw new ValueError('use address@key, [address]:port@key or network@key');
    }
    return { address, port, keyName: key };
  });
}

/** A token as it can stand behind `Bearer`, too long to be guessed. */
export function parseBearer(text: string): string {
  if (!/^[\x21-\x7e]{16,}$/.test(text))
    throw new ValueError('use at least 16 visible ASCII characters, without spaces');
  return text;
}

export function parseMailUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if ((url?.protocol !== 'smtp:' && url?.protocol !== 'smtps:') || url.hostname === '') {
    throw new ValueError('use smtp://user:password@host:587 or smtps://user:password@host:465');
  }
  return text;
}

export function parseMailAddress(text: string): string {
  if (!/^[^\s@<>,]+@[^\s@<>,]+$/.test(text)) throw new ValueError('use a mail address such as domains@example.com');
  return text;
}

/** `name=value`, comma-separated; values may be percent-encoded, as OpenTelemetry's own variable has them. */
export function parseHeaders(text: string): Record<string, string> {
  const pairs = splitList(text).map((pair) => /^([!#$%&'*+.^_`|~\w-]+) *= *(.*)$/.exec(pair));
  const headers = pairs.map((pair) => [pair?.[1] ?? '', decodeValue(pair?.[2] ?? '')] as const);
  if (headers.some(([name, value]) => name === '' || !/^[\x20-\x7e]+$/.test(value))) {
    throw new ValueError('use name=value pairs, comma-separated, with values percent-encoded where they are not plain');
  }
  return Object.fromEntries(headers);
}

/** '' for what is encoded badly. */
function decodeValue(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
