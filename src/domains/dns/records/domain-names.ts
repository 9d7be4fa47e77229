/** Names of records and the names that they point to. Results are ASCII (punycode) and lower case. */
import { isIP } from 'node:net';
import tr46 from 'tr46';
import { badRecord, shorten } from './bad-record.ts';

/** Octets of a name without its last dot (RFC 1035 2.3.4: 255 on the wire). */
const LONGEST_NAME = 253;

const HOST_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const SERVICE_LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * Where a record stands, relative to the zone: `@` (also written '' or as the zone's name with its last dot), `www`,
 * `_dmarc`, `*.shop`. A name that ends with a dot is absolute and has to lie in the zone.
 */
export function readSubdomain(input: string, zoneName: string): string {
  const relative = makeRelative(input.trim(), zoneName);
  if (relative === '' || relative === '@') return '@';
  const labels = relative
    .split('.')
    .map((label, index) => (label === '*' && index === 0 ? label : readLabel(label, SERVICE_LABEL, 'subdomain')));
  const subdomain = labels.join('.');
  if (subdomain.length + 1 + zoneName.length > LONGEST_NAME) {
    throw badRecord('subdomain', `With the domain it has more than ${LONGEST_NAME} characters. Shorten it.`);
  }
  return subdomain;
}

function makeRelative(name: string, zoneName: string): string {
  const lower = name.toLowerCase();
  if (lower === `${zoneName}.`) return '@';
  if (lower.endsWith(`.${zoneName}.`)) return name.slice(0, -zoneName.length - 2);
  if (lower.endsWith('.'))
    throw badRecord('subdomain', `${shorten(name)} is not in ${zoneName}. Give a name below it.`);
  if (lower === zoneName || lower.endsWith(`.${zoneName}`)) {
    const meant = lower === zoneName ? '@' : name.slice(0, -zoneName.length - 1);
    throw badRecord(
      'subdomain',
      `It is relative to ${zoneName}: send "${shorten(meant)}", or "${shorten(name)}." with its last dot.`,
    );
  }
  return name;
}

export interface HostRules {
  /** Names that are no hosts, such as what a CNAME points to, may have underscores. */
  readonly allowsUnderscore?: boolean;
  /** `.` says that there is none. */
  readonly allowsRoot?: boolean;
}

/**
 * An absolute name, with its last dot. `@` is the zone itself; other names are taken as whole, with or without the last
 * dot, and one without any dot is refused: it could be meant as relative.
 */
export function readHost(input: string, zoneName: string, rules: HostRules = {}): string {
  if (input === '@') return `${zoneName}.`;
  if (input === '.') {
    if (rules.allowsRoot === true) return '.';
    throw badRecord('value', '"." is no host here. Send the name of one.');
  }
  if (isIP(input.replace(/\.$/, '')) !== 0) {
    throw badRecord('value', `${input} is an address. Send the name of a host, and give that an A or AAAA record.`);
  }
  if (!input.includes('.')) {
    throw badRecord(
      'value',
      `Send the whole name: "${shorten(input)}.${zoneName}" or "${shorten(input)}." with its last dot.`,
    );
  }
  const name = input.endsWith('.') ? input.slice(0, -1) : input;
  const pattern = rules.allowsUnderscore === true ? SERVICE_LABEL : HOST_LABEL;
  const host = name
    .split('.')
    .map((label) => readLabel(label, pattern, 'value'))
    .join('.');
  if (host.length > LONGEST_NAME) throw badRecord('value', `The name has more than ${LONGEST_NAME} characters.`);
  if (/(?:^|\.)\d+$/.test(host)) throw badRecord('value', `${host} ends like an address. Send the name of a host.`);
  return `${host}.`;
}

function readLabel(input: string, pattern: RegExp, param: string): string {
  const label = toAscii(input);
  if (label === undefined || !pattern.test(label)) {
    const underscore = pattern === SERVICE_LABEL ? ', underscores' : '';
    throw badRecord(
      param,
      `"${shorten(input)}" cannot be a part of a name: 1 to 63 letters, digits${underscore} and hyphens, no hyphen at an end.`,
    );
  }
  return label;
}

/** UTS 46; a label of plain ASCII that claims no punycode is only lower-cased. */
function toAscii(label: string): string | undefined {
  const lower = label.toLowerCase();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII.
  if (/^[\x00-\x7f]*$/.test(lower) && !lower.startsWith('xn--')) return lower;
  const ascii = tr46.toASCII(label, {
    checkBidi: true,
    checkHyphens: true,
    checkJoiners: true,
    useSTD3ASCIIRules: true,
    verifyDNSLength: false,
    transitionalProcessing: false,
  });
  // A full stop of another script would have made two labels of one.
  return ascii === null || ascii.includes('.') ? undefined : ascii;
}
