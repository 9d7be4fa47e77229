/**
 * Addresses by which somebody may try to have the server call what is not public, made from few: each address in every form that a
 * parser of URLs, a resolver or a system call takes for it.
 */

type Octets = readonly [number, number, number, number];

/** Loopback, private networks, link-local, metadata services, and what no host has. */
const TARGETS: readonly Octets[] = [
  [127, 0, 0, 1],
  [127, 1, 2, 3],
  [10, 0, 0, 1],
  [172, 16, 0, 1],
  [192, 168, 1, 1],
  [100, 64, 0, 1],
  [169, 254, 169, 254],
  [100, 100, 100, 200],
  [168, 63, 129, 16],
  [0, 0, 0, 0],
  [224, 0, 0, 1],
  [255, 255, 255, 255],
];

const TARGETS_V6 = [
  '::1',
  '::',
  'fe80::1',
  'fec0::1',
  'fc00::1',
  'fd12:3456::1',
  'fd00:ec2::254',
  'fd20:ce::254',
  'ff02::1',
];

const hex = (value: number): string => value.toString(16);
const number = ([a, b, c, d]: Octets): number => a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d;
/** The last 32 bits of an IPv6 address. */
const groups = ([a, b, c, d]: Octets): string => `${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
const digits = (text: string, first: number): string =>
  text.replaceAll(/\d/g, (digit) => String.fromCodePoint(first + Number(digit)));

/** As the host of a URL. */
const IPV4_FORMS: Readonly<Record<string, (octets: Octets) => string>> = {
  'dotted decimal': (octets) => octets.join('.'),
  'one decimal number': (octets) => String(number(octets)),
  'one hexadecimal number': (octets) => `0x${hex(number(octets))}`,
  'one octal number': (octets) => `0${number(octets).toString(8)}`,
  'octal parts': (octets) => octets.map((part) => `0${part.toString(8)}`).join('.'),
  'octal parts with many zeros': (octets) => octets.map((part) => `0000${part.toString(8)}`).join('.'),
  'hexadecimal parts': (octets) => octets.map((part) => `0X${hex(part).toUpperCase()}`).join('.'),
  'parts of each base': ([a, b, c, d]) => `${a}.0x${hex(b)}.0${c.toString(8)}.${d}`,
  'three parts': ([a, b, c, d]) => `${a}.${b}.${c * 256 + d}`,
  'two parts': ([a, b, c, d]) => `${a}.${b * 65_536 + c * 256 + d}`,
  'a full stop at the end': (octets) => `${octets.join('.')}.`,
  'percent signs': (octets) => octets.join('.').replaceAll(/./g, (sign) => `%${hex(sign.charCodeAt(0))}`),
  'full-width digits': (octets) => digits(octets.join('.'), 0xff10),
  'mathematical digits': (octets) => digits(octets.join('.'), 0x1d7ce),
  'ideographic full stops': (octets) => octets.join('\u3002'),
  'a soft hyphen': (octets) => octets.join('.').replace('.', '\u00ad.'),
  'IPv4-mapped, dotted': (octets) => `[::ffff:${octets.join('.')}]`,
  'IPv4-mapped, hexadecimal': (octets) => `[::ffff:${groups(octets)}]`,
  'IPv4-mapped, every group': (octets) => `[0000:0:0:0:0:FFFF:${groups(octets)}]`,
  'IPv4-compatible': (octets) => `[::${octets.join('.')}]`,
  'IPv4-translated': (octets) => `[::ffff:0:${octets.join('.')}]`,
  NAT64: (octets) => `[64:ff9b::${groups(octets)}]`,
  'NAT64 of a network': (octets) => `[64:ff9b:1::${groups(octets)}]`,
  '6to4': (octets) => `[2002:${groups(octets)}::]`,
  Teredo: (octets) => `[2001:0:${groups(octets)}:0:0:0:0]`,
};

export interface HostileAddress {
  readonly what: string;
  readonly url: string;
}

/** Hosts that are addresses themselves, each where something listens on `port` of this machine. */
function listLiterals(port: number): HostileAddress[] {
  const fourth = TARGETS.flatMap((octets) =>
    Object.entries(IPV4_FORMS).map(([form, write]) => ({
      what: `${octets.join('.')}, ${form}`,
      url: `https://${write(octets)}:${port}/mcp`,
    })),
  );
  const sixth = TARGETS_V6.map((address) => ({ what: address, url: `https://[${address}]:${port}/mcp` }));
  return [...fourth, ...sixth];
}

/** URLs that look like others than they are; a host of theirs that is public is `decoy`. */
function listTricks(port: number, decoy: string): HostileAddress[] {
  const loopback = `127.0.0.1:${port}`;
  const tricks: Readonly<Record<string, string>> = {
    'a user name': `https://${decoy}@${loopback}/mcp`,
    'a user name and a password': `https://${decoy}:443@${loopback}/mcp`,
    'a user name before a public host': `https://127.0.0.1@${decoy}/mcp`,
    'a user name that is escaped': `https://${decoy}%2F@${loopback}/mcp`,
    'two at signs': `https://${decoy}@x@${loopback}/mcp`,
    'a reverse solidus': `https:\\\\${loopback}\\mcp`,
    'a reverse solidus before a public host': `https://${loopback}\\@${decoy}/mcp`,
    'one solidus': `https:/${loopback}/mcp`,
    'many of them': `https://///${loopback}/mcp`,
    'line breaks': `https://127.0.\n0.1:${port}/mcp`,
    tabs: `ht\ttps://127.0.0.1:${port}/mcp`,
    'spaces around it': `  https://${loopback}/mcp  `,
    'a fragment': `https://${decoy}/#@${loopback}/mcp`,
    'a zone': `https://[fe80::1%25eth0]:${port}/mcp`,
    'a name of loopback': `https://localhost:${port}/mcp`,
    'a name of loopback in capitals': `https://LOCALHOST:${port}/mcp`,
    'a name below that of loopback': `https://mcp.localhost:${port}/mcp`,
    'a name of loopback with a full stop': `https://localhost.:${port}/mcp`,
    'a name of loopback in letters of another width': `https://\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54:${port}/mcp`,
    'no host': 'https:///',
    'no scheme': `//${loopback}/mcp`,
    'no address at all': loopback,
    'a port beyond the last': `https://${decoy}:65536/mcp`,
    'a port below the first': `https://${decoy}:-1/mcp`,
    'five parts': `https://127.0.0.0.1:${port}/mcp`,
    'a part that is too large': `https://127.0.0.256:${port}/mcp`,
    'an empty part': `https://127..0.1:${port}/mcp`,
  };
  const ports = [22, 25, 80, 443, 2375, 5432, 6379, 8787, 9200, 11_211].map((each) => ({
    what: `port ${each}`,
    url: `https://127.0.0.1:${each}/mcp`,
  }));
  const schemes = ['http', 'ws', 'wss', 'ftp', 'file', 'gopher', 'dict', 'ldap', 'unix', 'data', 'blob', 'javascript'];
  return [
    ...Object.entries(tricks).map(([what, url]) => ({ what, url })),
    ...ports,
    ...schemes.map((scheme) => ({ what: `the scheme ${scheme}`, url: `${scheme}://${loopback}/mcp` })),
    ...schemes.map((scheme) => ({ what: `the scheme ${scheme} of a public host`, url: `${scheme}://${decoy}/mcp` })),
  ];
}

/** What is refused before a name has been looked up, and names that nobody needs to look up. */
export function listHostileUrls(port: number, decoy: string): HostileAddress[] {
  return [...listLiterals(port), ...listTricks(port, decoy)];
}

/** Answers of DNS that no host of a tenant may have. */
export const HOSTILE_ANSWERS: readonly { readonly address: string; readonly family: 4 | 6 }[] = [
  ...TARGETS.map((octets) => ({ address: octets.join('.'), family: 4 as const })),
  ...TARGETS_V6.map((address) => ({ address, family: 6 as const })),
  ...TARGETS.map((octets) => ({ address: `::ffff:${octets.join('.')}`, family: 6 as const })),
  ...TARGETS.map((octets) => ({ address: `64:ff9b::${groups(octets)}`, family: 6 as const })),
];
