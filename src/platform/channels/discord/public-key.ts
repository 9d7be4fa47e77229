/** The Ed25519 key of an application, as Discord shows it: 64 hexadecimal digits. */

const DIGITS = /^[0-9a-f]{64}$/i;
/**
 * Points of small order (RFC 8032, section 5.1; the eight of the curve in each of their encodings, without the sign): under
 * such a key a signature that nobody made can hold.
 */
const SMALL_ORDER = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]);

export function isPublicKey(hex: string): boolean {
  if (!DIGITS.test(hex)) return false;
  const bytes = Buffer.from(hex, 'hex');
  bytes[31] = (bytes[31] ?? 0) & 0x7f;
  return !SMALL_ORDER.has(bytes.toString('hex'));
}
