/** A zip archive whose parts are stored as they are, without compression (APPNOTE.TXT 4.3). */
import { crc32 } from 'node:zlib';

const LOCAL_HEADER_BYTES = 30;
const CENTRAL_HEADER_BYTES = 46;
const END_BYTES = 22;
const VERSION = 20;
/** Names are UTF-8. */
const FLAGS = 0x0800;
/** 1 January 1980, the first day of zip's calendar. */
const DATE = 0x0021;

/** Fewer than 65,536 parts and less than 4 GiB: both hold for what is written here. */
export function writeStoredZip(parts: Iterable<readonly [name: string, content: Uint8Array]>): Buffer {
  const blocks: Uint8Array[] = [];
  const central: Uint8Array[] = [];
  let offset = 0;
  for (const [partName, content] of parts) {
    const name = Buffer.from(partName, 'utf8');
    const checksum = crc32(content);
    const local = Buffer.alloc(LOCAL_HEADER_BYTES);
    local.writeUInt32LE(0x04034b50, 0);
    writeFields(local, 4, checksum, content.length, name.length);
    const entry = Buffer.alloc(CENTRAL_HEADER_BYTES);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(VERSION, 4);
    writeFields(entry, 6, checksum, content.length, name.length);
    entry.writeUInt32LE(offset, 42);
    blocks.push(local, name, content);
    central.push(entry, name);
    offset += local.length + name.length + content.length;
  }
  const centralBytes = central.reduce((sum, block) => sum + block.length, 0);
  const end = Buffer.alloc(END_BYTES);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(central.length / 2, 8);
  end.writeUInt16LE(central.length / 2, 10);
  end.writeUInt32LE(centralBytes, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...blocks, ...central, end]);
}

/** The fields that both headers share, from "version needed" on. The method is 0: stored. */
function writeFields(header: Buffer, at: number, checksum: number, bytes: number, nameBytes: number): void {
  header.writeUInt16LE(VERSION, at);
  header.writeUInt16LE(FLAGS, at + 2);
  header.writeUInt16LE(DATE, at + 8);
  header.writeUInt32LE(checksum, at + 10);
  header.writeUInt32LE(bytes, at + 14);
  header.writeUInt32LE(bytes, at + 18);
  header.writeUInt16LE(nameBytes, at + 22);
}
