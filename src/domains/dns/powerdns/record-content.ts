/**
 * Record values as PowerDNS takes and gives them. It refuses a value that is not spelt as it would spell it itself ("Not in
 * expected format"), which for some types is narrower than the text of a zone file.
 */

/** The longest character-string, in bytes (RFC 1035 3.3). */
const STRING_BYTES = 255;

const hexTypes: ReadonlySet<string> = new Set(['TLSA', 'SMIMEA', 'SSHFP', 'DS', 'CDS']);
/** How many fields stand before the hex. */
const fieldsBeforeHex: Readonly<Record<string, number>> = { SSHFP: 2 };
const textTypes: ReadonlySet<string> = new Set(['TXT', 'SPF']);

/** A value of a zone file in PowerDNS' spelling. Values of types that it spells as a zone file does stay as they are. */
export function toPowerDns(type: string, value: string): string {
  if (textTypes.has(type)) return parseFields(value).flatMap(splitString).map(quote).join(' ');
  if (type === 'CAA') return formatCaa(value);
  if (type === 'AAAA') return formatIpv6(value);
  if (hexTypes.has(type)) return formatHex(type, value);
  return value.trim().replace(/[ \t]+(?=(?:[^"]*"[^"]*")*[^"]*$)/g, ' ');
}

/** Equal for two spellings of one value, ours or PowerDNS'. Host names in values count without their case. */
export function contentKey(type: string, value: string): string {
  const spelt = toPowerDns(type, value);
  return spelt.includes('"') ? spelt : spelt.toLowerCase();
}

function formatCaa(value: string): string {
  const [flags, tag, ...rest] = parseFields(value);
  if (flags === undefined || tag === undefined || rest.length !== 1) throw new Error(`not a CAA value: ${value}`);
  return `${flags} ${tag} ${rest.map(quote).join('')}`;
}

/** An IPv4-mapped address has to be in plain hex; PowerDNS does not parse the dotted form that it gives itself. */
function formatIpv6(value: string): string {
  return new URL(`http://[${value}]`).hostname.slice(1, -1);
}

function formatHex(type: string, value: string): string {
  const fields = value.trim().split(/\s+/);
  const before = fieldsBeforeHex[type] ?? 3;
  return [...fields.slice(0, before), fields.slice(before).join('').toLowerCase()].join(' ');
}

/** The fields of a value as bytes, one character a byte: quoted ones without their quotes, escapes undone. */
function parseFields(value: string): string[] {
  const bytes = Buffer.from(value, 'utf8').toString('latin1');
  const pattern = /"((?:[^"\\]|\\\d{3}|\\\D)*)"|((?:[^\s"\\]|\\\d{3}|\\\D)+)/g;
  return [...bytes.matchAll(pattern)].map(([, quoted, plain]) => unescapeBytes(quoted ?? plain ?? ''));
}

function unescapeBytes(text: string): string {
  return text.replace(/\\(\d{3}|\D)/g, (_, escaped: string) =>
    escaped.length === 3 ? String.fromCharCode(Number(escaped) & 0xff) : escaped,
  );
}

function splitString(bytes: string): string[] {
  const count = Math.max(1, Math.ceil(bytes.length / STRING_BYTES));
  return Array.from({ length: count }, (_, index) => bytes.slice(index * STRING_BYTES, (index + 1) * STRING_BYTES));
}

/** RFC 1035 5.1: printable ASCII as it is, everything else as \DDD. */
function quote(bytes: string): string {
  const escaped = bytes.replace(/["\\]|[^\x20-\x7e]/g, (byte) =>
    byte === '"' || byte === '\\' ? `\\${byte}` : `\\${String(byte.charCodeAt(0)).padStart(3, '0')}`,
  );
  return `"${escaped}"`;
}
