/** Compressed data (RFC 1950, without its checksum) that unpacks to far more than anybody could hold to pack it. */
import { constants, deflateRawSync } from 'node:zlib';

const ZLIB_HEADER = Buffer.from([0x78, 0xda]);
const LAST_BLOCK = Buffer.from([0x03, 0x00]);

/** `block`, as often as said. A full flush after each makes the packed blocks independent of each other. */
export function deflateRepeating(block: Uint8Array, times: number): Buffer {
  const packed = deflateRawSync(block, { level: 9, finishFlush: constants.Z_FULL_FLUSH });
  return Buffer.concat([ZLIB_HEADER, ...Array.from({ length: times }, () => packed), LAST_BLOCK]);
}
