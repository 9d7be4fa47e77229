/**
 * Two layers, because a credential reaches a log in two ways: as a field of an object (`redactFields`, by name, at any
 * depth) and inside a text, such as an upstream's error message (`scrubText`, by shape).
 */
import { stdSerializers } from 'pino';

const REDACTED = '[redacted]';
const DEPTH_MAX = 10;
const ITEMS_MAX = 100;
const TEXT_LENGTH_MAX = 8192;

const SENSITIVE_FIELD =
  /^(proxyauthorization|authorization|cookies?|setcookie|pwd|passwd|privatekeys?|masterkeys?|signingkeys?|xamzsecuritytoken)$|(token|secrets?|passwords?|passphrase|apikeys?|credentials?|privatejwk)$/;

/** A copy to log: values of sensitive fields are replaced, long texts, lists and depths are cut. */
export function redactFields(fields: Record<string, unknown>): Record<string, unknown> {
  return redactObject(fields, 0);
}

function redactObject(fields: object, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  // Inherited members included: pino's own error objects keep theirs on a prototype.
  for (const key in fields) {
    const value = Reflect.get(fields, key);
    copy[key] = isSensitive(key, value) ? REDACTED : redactValue(value, depth + 1);
  }
  return copy;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.length > TEXT_LENGTH_MAX ? `${value.slice(0, TEXT_LENGTH_MAX)}…` : value;
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (depth > DEPTH_MAX) return '[too deep]';
  if (Array.isArray(value)) return value.slice(0, ITEMS_MAX).map((item) => redactValue(item, depth + 1));
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Error) return redactObject(stdSerializers.errWithCause(value), depth);
  if (value instanceof URL) return value.href;
  if (value instanceof Headers) return redactObject(Object.fromEntries(value.entries()), depth);
  if ('toJSON' in value && typeof value.toJSON === 'function') return redactValue(value.toJSON(), depth + 1);
  return redactObject(value, depth);
}

/** Counts and flags (`input_tokens`, `has_secret`) are no secrets, and absence is worth seeing. */
function isSensitive(key: string, value: unknown): boolean {
  if (value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean') return false;
  return SENSITIVE_FIELD.test(key.toLowerCase().replace(/[^a-z]/g, ''));
}

/** Not after a letter or digit, where an escape such as the n of \n counts as neither and is never cut in half. */
const START = String.raw`(?<=^|[^A-Za-z0-9\\]|\\[nrtbf])`;
/** Nor after the other characters of base64url: one attempt a word keeps scrubbing linear. */
const WORD_START = String.raw`(?<=^|[^A-Za-z0-9_\\-]|\\[nrtbf])`;
const SEPARATOR = String.raw`\s*[:=]\s*(?:\\"|')?`;

/**
 * Matches never hold a quote or half an escape outside a kept group, so that scrubbing a line of JSON leaves it valid.
 */
const SHAPES: readonly [RegExp, string][] = [
  // Header lines.
  [
    new RegExp(String.raw`((?:authorization|cookie)(?:\\"|')?${SEPARATOR})(?!\[redacted\])[^"'\\]+`, 'gi'),
    `$1${REDACTED}`,
  ],
  [new RegExp(String.raw`${START}(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`, 'gi'), `$1 ${REDACTED}`],
  // Handles of the `abc_live_...` family, JSON Web Tokens, keys of well-known providers.
  [new RegExp(`${START}[a-z]{2,20}_(?:live|test)_[A-Za-z0-9._-]{6,}`, 'g'), REDACTED],
  [new RegExp(String.raw`${WORD_START}eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*`, 'g'), REDACTED],
  [new RegExp(`${START}(?:sk|rk|pk|xai|gsk|whsec|tvly|fw|r8|hf)[-_][A-Za-z0-9_-]{12,}`, 'g'), REDACTED],
  [/AIza[A-Za-z0-9_-]{30,}|(?:AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{20,}|xox[a-z]-[A-Za-z0-9-]{10,}/g, REDACTED],
  [new RegExp(String.raw`${START}\d{8,10}:[A-Za-z0-9_-]{35}`, 'g'), REDACTED],
  // user:password@ of a URL.
  [/(:\/\/[^\s/:@"\\]*):[^\s/@"\\]+@/g, `$1:${REDACTED}@`],
  // name=value of a query or form, and "name":"value" of JSON quoted inside a text.
  [
    /((?:api[_-]?key|token|secret|password|passwd|credential|signature|[?&](?:key|code|sig))=)[^\s"'\\&,;]+/gi,
    `$1${REDACTED}`,
  ],
  [/((?:api[_-]?key|token|secret|password|passwd|credential)(?:\\"|')\s*:\s*(?:\\"|'))[^"'\\]+/gi, `$1${REDACTED}`],
  [/((?:api[_ -]?key|secret|password|passwd)(?: provided)?:\s+)[^\s"'\\,;]+/gi, `$1${REDACTED}`],
];

/** Replaces whatever looks like a credential. A text without one comes back unchanged. */
export function scrubText(text: string): string {
  let scrubbed = text;
  for (const [shape, replacement] of SHAPES) scrubbed = scrubbed.replace(shape, replacement);
  return scrubbed;
}
