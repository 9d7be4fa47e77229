/** Archives of which every field may be a lie (APPNOTE.TXT 4.3). */
import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  readonly name: string | Uint8Array;
  readonly content: Uint8Array | string;
  /** 8 (deflate) unless given; every other is written as it stands. */
  readonly method?: number;
  /** The bytes as they lie in the archive. Default: the content, deflated where the method says so. */
  readonly packed?: Uint8Array;
  readonly crc?: number;
  readonly flags?: number;
  /** What the headers say. Default: the truth. */
  readonly claimedBytes?: number;
  readonly claimedPackedBytes?: number;
  /** Extra field of the directory. */
  readonly extra?: Uint8Array;
  /** Has no local header: that of the entry before it is used. */
  readonly overlapping?: boolean;
}

export interface ZipEnd {
  readonly entries?: number;
  readonly directoryOffset?: number;
  readonly directoryBytes?: number;
  readonly comment?: Uint8Array;
  /** Before the end record: the records of zip64. */
  readonly before?: Uint8Array;
}

const UTF8_NAMES = 0x0800;

export function buildZip(entries: readonly ZipEntry[], end: ZipEnd = {}): Buffer {
  const blocks: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  let last = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const content = Buffer.from(entry.content);
    const method = entry.method ?? 8;
    const packed = entry.packed ?? (method === 8 ? deflateRawSync(content, { level: 9 }) : content);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(entry.flags ?? UTF8_NAMES, 2);
    fields.writeUInt16LE(method, 4);
    fields.writeUInt16LE(0x21, 8);
    fields.writeUInt32LE(entry.crc ?? crc32(content), 10);
    fields.writeUInt32LE(entry.claimedPackedBytes ?? packed.length, 14);
    fields.writeUInt32LE(entry.claimedBytes ?? content.length, 18);
    fields.writeUInt16LE(name.length, 22);
    if (entry.overlapping !== true) {
      last = offset;
      blocks.push(Buffer.from('PK\x03\x04', 'latin1'), fields, name, packed);
      offset += 30 + name.length + packed.length;
    }
    const extra = entry.extra ?? Buffer.alloc(0);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(last, 10);
    const named = Buffer.from(fields);
    named.writeUInt16LE(extra.length, 24);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), named, rest, name, extra);
  }
  return Buffer.concat([...blocks, ...directory, endOfDirectory(entries.length, offset, directory, end)]);
}

function endOfDirectory(entries: number, offset: number, directory: readonly Uint8Array[], end: ZipEnd): Buffer {
  const comment = end.comment ?? Buffer.alloc(0);
  const bytes = directory.reduce((sum, block) => sum + block.length, 0);
  const record = Buffer.alloc(22);
  record.write('PK\x05\x06', 'latin1');
  record.writeUInt16LE(Math.min(end.entries ?? entries, 0xffff), 8);
  record.writeUInt16LE(Math.min(end.entries ?? entries, 0xffff), 10);
  record.writeUInt32LE(end.directoryBytes ?? bytes, 12);
  record.writeUInt32LE(end.directoryOffset ?? offset, 16);
  record.writeUInt16LE(comment.length, 20);
  return Buffer.concat([end.before ?? Buffer.alloc(0), record, comment]);
}

/** The end of the directory in zip64, and its locator, as they claim to be. */
export function zip64End(
  entries: bigint,
  directoryBytes: bigint,
  directoryOffset: bigint,
  recordOffset: bigint,
): Buffer {
  const record = Buffer.alloc(76);
  record.write('PK\x06\x06', 'latin1');
  record.writeBigUInt64LE(44n, 4);
  record.writeUInt16LE(45, 12);
  record.writeUInt16LE(45, 14);
  record.writeBigUInt64LE(entries, 24);
  record.writeBigUInt64LE(entries, 32);
  record.writeBigUInt64LE(directoryBytes, 40);
  record.writeBigUInt64LE(directoryOffset, 48);
  record.write('PK\x06\x07', 56, 'latin1');
  record.writeBigUInt64LE(recordOffset, 64);
  record.writeUInt32LE(1, 72);
  return record;
}

/** The sizes of one entry in zip64 (APPNOTE.TXT 4.5.3). */
export function zip64Sizes(bytes: bigint, packedBytes: bigint): Buffer {
  const extra = Buffer.alloc(20);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(16, 2);
  extra.writeBigUInt64LE(bytes, 4);
  extra.writeBigUInt64LE(packedBytes, 12);
  return extra;
}
