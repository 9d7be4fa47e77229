/**
 * `X-Hub-Signature-256`: `sha256=` and the hex HMAC of the body under the app's secret. Meta says that it signs the body with
 * everything beyond ASCII escaped, in lower-case digits, and sends it as UTF-8: both forms are taken.
 */
import { isAscii } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../../kernel/http/errors.ts';

export const HUB_SIGNATURE_HEADER = 'x-hub-signature-256';

const HEADER = /^sha256=([0-9a-f]{64})$/;

/** Whether the body was signed with a secret. */
export type SignatureCheck = (secret: string) => boolean;

/** Throws `missing_signature`, and `bad_signature` for what is no signature. */
export function readSignature(bytes: Buffer, header: string | string[] | undefined): SignatureCheck {
  if (header === undefined) throw new ApiError('missing_signature');
  const hex = typeof header === 'string' ? HEADER.exec(header)?.[1] : undefined;
  if (hex === undefined) throw new ApiError('bad_signature');
  const signature = Buffer.from(hex, 'hex');
  const holds = (form: Buffer, secret: string) =>
    timingSafeEqual(createHmac('sha256', secret).update(form).digest(), signature);
  let escaped: Buffer | undefined;
  return (secret) => {
    if (holds(bytes, secret)) return true;
    escaped ??= escapeText(bytes);
    return escaped !== bytes && holds(escaped, secret);
  };
}

const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const DIGITS = Buffer.from('0123456789abcdef');
/** Of an escape. */
const BYTES = 6;

/** The same bytes where nothing is beyond ASCII, or they are no text. In one loop: a body may be nothing but escapes. */
function escapeText(bytes: Buffer): Buffer {
  if (isAscii(bytes)) return bytes;
  const text = decode(bytes);
  if (text === undefined) return bytes;
  const escaped = Buffer.allocUnsafe(text.length * BYTES);
  let at = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) {
      escaped[at++] = unit;
      continue;
    }
    escaped[at++] = BACKSLASH;
    escaped[at++] = LETTER_U;
    for (let shift = 12; shift >= 0; shift -= 4) escaped[at++] = DIGITS[(unit >> shift) & 0xf] ?? 0;
  }
  return escaped.subarray(0, at);
}

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
