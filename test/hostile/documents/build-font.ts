/** Fonts whose tables say what is not so. */

const TABLES = ['OS/2', 'cmap', 'cvt ', 'fpgm', 'glyf', 'head', 'hhea', 'hmtx', 'loca', 'maxp', 'name', 'post'];

/** As many tables as said, of the lengths said, all at one place. The glyph is made of itself. */
export function trueTypeFont(tables: number, length: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt32BE(0x00010000, 0);
  header.writeUInt16BE(tables, 4);
  const directory = TABLES.map((tag) => {
    const entry = Buffer.alloc(16);
    entry.write(tag, 'latin1');
    entry.writeUInt32BE(12 + TABLES.length * 16, 8);
    entry.writeUInt32BE(length >>> 0, 12);
    return entry;
  });
  // A composite glyph (numberOfContours -1) with the component 0 and more to come.
  const body = Buffer.alloc(4_096, Buffer.from('ffff00000000000000000020000000000020', 'hex'));
  return Buffer.concat([header, ...directory, body]);
}

/** A top dictionary whose charstrings and subroutines are one index, and whose first calls itself. */
export function cffFont(): Buffer {
  const index = (item: Buffer): Buffer => Buffer.concat([Buffer.from([0, 1, 1, 1, item.length + 1]), item]);
  const header = Buffer.from([1, 0, 4, 1]);
  const name = index(Buffer.from('Tea'));
  // CharStrings (17) at an offset in the middle of the file.
  const top = index(Buffer.from([28, 0, 40, 17, 28, 0, 40, 16, 29, 0x7f, 0xff, 0xff, 0xff, 28, 0, 40, 18]));
  const strings = Buffer.from([0, 0]);
  const callsItself = index(Buffer.from([0x20, 10, 0x20, 29, 0x20, 10]));
  return Buffer.concat([header, name, top, strings, callsItself, Buffer.alloc(600, callsItself)]);
}

/** WOFF (1 or 2) that claims to unpack to 4 GiB. */
export function webFont(signature: 'wOFF' | 'wOF2'): Buffer {
  const header = Buffer.alloc(512);
  header.write(signature, 'latin1');
  header.writeUInt32BE(0x00010000, 4);
  header.writeUInt32BE(512, 8);
  header.writeUInt16BE(65_535, 12);
  header.writeUInt32BE(0xfffffffe, 16);
  return header;
}
