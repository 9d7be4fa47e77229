/**
 * SipHash-2-4 (Aumasson, Bernstein 2012) with a result of 64 bits, as halves of 32: numbers of 64 bits would be allocated. Node's
 * crypto does not offer it. Nothing here waits, so that all calls share one state.
 */

/** 128 bits: four words, little-endian. */
export type SipKey = Uint32Array;

export function sipKey(bytes: Uint8Array): SipKey {
  if (bytes.length !== 16) throw new Error('a key of SipHash has 16 bytes');
  const view = new DataView(bytes.buffer, bytes.byteOffset, 16);
  return Uint32Array.from([0, 4, 8, 12], (at) => view.getUint32(at, true));
}

/** v0 to v3, the lower half of each first. */
const v = new Uint32Array(8);

/** Hashes the first `length` bytes, and writes the result to `out` at `at`: eight bytes, as the reference implementation orders them. */
export function sipHash(key: SipKey, message: Uint8Array, length: number, out: Uint8Array, at: number): void {
  const k0 = key[0] ?? 0;
  const k1 = key[1] ?? 0;
  const k2 = key[2] ?? 0;
  const k3 = key[3] ?? 0;
  v[0] = k0 ^ 0x70736575;
  v[1] = k1 ^ 0x736f6d65;
  v[2] = k2 ^ 0x6e646f6d;
  v[3] = k3 ^ 0x646f7261;
  v[4] = k0 ^ 0x6e657261;
  v[5] = k1 ^ 0x6c796765;
  v[6] = k2 ^ 0x79746573;
  v[7] = k3 ^ 0x74656462;
  const whole = length - (length % 8);
  for (let from = 0; from < whole; from += 8) mix(word(message, from, length), word(message, from + 4, length));
  mix(word(message, whole, length), (word(message, whole + 4, length) | (length << 24)) >>> 0);
  v[4] = read(4) ^ 0xff;
  for (let round = 0; round < 4; round += 1) sipRound();
  writeWord(out, at, read(0) ^ read(2) ^ read(4) ^ read(6));
  writeWord(out, at + 4, read(1) ^ read(3) ^ read(5) ^ read(7));
}

function read(index: number): number {
  return v[index] ?? 0;
}

/** Bytes beyond the end are zeros. */
function word(message: Uint8Array, from: number, length: number): number {
  const byte = (at: number) => (at < length ? (message[at] ?? 0) : 0);
  return (byte(from) | (byte(from + 1) << 8) | (byte(from + 2) << 16) | (byte(from + 3) << 24)) >>> 0;
}

function writeWord(out: Uint8Array, at: number, value: number): void {
  for (let index = 0; index < 4; index += 1) out[at + index] = (value >>> (8 * index)) & 0xff;
}

function mix(low: number, high: number): void {
  v[6] = read(6) ^ low;
  v[7] = read(7) ^ high;
  sipRound();
  sipRound();
  v[0] = read(0) ^ low;
  v[1] = read(1) ^ high;
}

function sipRound(): void {
  add(0, 2);
  rotate(2, 13);
  exclusiveOr(2, 0);
  swap(0);
  add(4, 6);
  rotate(6, 16);
  exclusiveOr(6, 4);
  add(0, 6);
  rotate(6, 21);
  exclusiveOr(6, 0);
  add(4, 2);
  rotate(2, 17);
  exclusiveOr(2, 4);
  swap(4);
}

function add(to: number, from: number): void {
  const low = read(to) + read(from);
  v[to] = low;
  v[to + 1] = read(to + 1) + read(from + 1) + (low > 0xffffffff ? 1 : 0);
}

/** To the left, by fewer than 32 bits. */
function rotate(at: number, bits: number): void {
  const low = read(at);
  const high = read(at + 1);
  v[at] = (low << bits) | (high >>> (32 - bits));
  v[at + 1] = (high << bits) | (low >>> (32 - bits));
}

function exclusiveOr(to: number, from: number): void {
  v[to] = read(to) ^ read(from);
  v[to + 1] = read(to + 1) ^ read(from + 1);
}

/** A rotation by 32 bits. */
function swap(at: number): void {
  const low = read(at);
  v[at] = read(at + 1);
  v[at + 1] = low;
}
