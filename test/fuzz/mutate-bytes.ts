/** Bytes bent out of shape, as a fuzzer of files does it: each change a throw of the dice. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Dice } from '../conformance/schema-values.ts';
import { buildZip, type ZipEntry } from '../hostile/documents/build-zip.ts';

/** What parsers compare lengths and places with. */
const NUMBERS = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];
/** Words of the formats, so that a change is now and then one that a parser understands. */
const WORDS = [
  'stream',
  'endstream',
  'endobj',
  'xref',
  'trailer',
  '/Length',
  '/Filter',
  '/FlateDecode',
  '/LZWDecode',
  '/Kids',
  '/Count 2147483647',
  '/Parent 3 0 R',
  '/Contents',
  '/Prev 0',
  '/W [0 2147483647 1]',
  '/Size',
  '1 0 R',
  '2 0 R',
  '3 0 R',
  'beginbfrange',
  'endbfrange',
  '<00000000> <7fffffff> <0041>',
  'BT',
  'ET',
  'Tj',
  'Do',
  'q',
  'BI',
  'ID',
  'EI',
  '[',
  ']',
  '<<',
  '>>',
  '(',
  ')',
  '<',
  '>',
  '"',
  "'",
  '&',
  '&#0;',
  '&lt;',
  '<!--',
  '-->',
  '<![CDATA[',
  ']]>',
  '<!DOCTYPE a [',
  '<w:p>',
  '</w:p>',
  '<w:tbl>',
  '<w:tr>',
  '<w:tc>',
  '<row>',
  '<c r="XFD1048576">',
  '<v>',
  't="s"',
  's="1"',
  '<mergeCell ref="A1:XFD1048576"/>',
  '<a:p>',
  '<table>',
  '<tr>',
  '<td colspan=2147483647>',
  '<ol start=2147483647><li>',
  '<pre>',
  'PK\x03\x04',
  'PK\x01\x02',
  'PK\x05\x06',
  '\r\n',
  '\t',
  ',',
  ';',
  '|',
  '\u0301',
  '\ufeff',
  '\u202e',
  '𐀀',
  '\0',
  '-1',
  '1e999',
  'NaN',
  '__proto__',
];

/** One to several changes. Never longer than `maxBytes`. */
export function mutateBytes(dice: Dice, bytes: Buffer, maxBytes: number): Buffer {
  let bent: Buffer = Buffer.from(bytes);
  for (let changes = 1 + dice.below(dice.chance(0.2) ? 60 : 6); changes > 0; changes -= 1) {
    bent = mutateOnce(dice, bent).subarray(0, maxBytes);
  }
  return bent;
}

function mutateOnce(dice: Dice, bytes: Buffer): Buffer {
  const at = dice.below(bytes.length + 1);
  const before = bytes.subarray(0, at);
  const after = bytes.subarray(at);
  const span = Math.min(after.length, 1 + dice.below(dice.pick([4, 64, 4_096])));
  switch (dice.below(10)) {
    case 0:
      return change(bytes, at, (byte) => byte ^ (1 << dice.below(8)));
    case 1:
      return change(bytes, at, () => dice.below(256));
    case 2:
      return writeNumber(dice, bytes, at);
    case 3:
      return Buffer.concat([before, after.subarray(span)]);
    case 4:
      return Buffer.concat([
        before,
        ...Array.from({ length: dice.pick([2, 3, 100]) }, () => after.subarray(0, span)),
        after,
      ]);
    case 5:
      return Buffer.concat([before, Buffer.from(dice.pick(WORDS)), after]);
    case 6:
      return Buffer.concat([before, Buffer.from(dice.pick(WORDS).repeat(dice.pick([2, 50, 5_000]))), after]);
    case 7: {
      const from = dice.below(bytes.length + 1);
      return Buffer.concat([before, bytes.subarray(from, from + span), after.subarray(span)]);
    }
    case 8:
      return changeDigits(dice, bytes, at);
    default:
      return dice.chance(0.1) ? before : change(bytes, at, () => 0x20);
  }
}

function change(bytes: Buffer, at: number, to: (byte: number) => number): Buffer {
  const byte = bytes[at];
  if (byte !== undefined) bytes[at] = to(byte);
  return bytes;
}

function writeNumber(dice: Dice, bytes: Buffer, at: number): Buffer {
  const value = dice.pick(NUMBERS);
  if (at + 4 > bytes.length) return bytes;
  if (dice.chance(0.5)) bytes.writeUInt32LE(value, at);
  else bytes.writeUInt16LE(value & 0xffff, at);
  return bytes;
}

/** A number in text becomes another. */
function changeDigits(dice: Dice, bytes: Buffer, at: number): Buffer {
  const window = bytes.toString('latin1', at, at + 2_000);
  const found = /\d+/.exec(window);
  if (found === null) return bytes;
  const value = Buffer.from(String(dice.chance(0.5) ? dice.pick(NUMBERS) : -dice.below(100)));
  const start = at + found.index;
  return Buffer.concat([bytes.subarray(0, start), value, bytes.subarray(start + found[0].length)]);
}

/**
 * The parts of an archive of this corpus with one of them changed, packed again: a change of packed bytes never gets past
 * their checksum or their inflation. Undefined where it is no archive that can be taken apart.
 */
export function mutateParts(dice: Dice, archive: Buffer, maxBytes: number): Buffer | undefined {
  const entries = readEntries(archive);
  if (entries.length === 0) return undefined;
  const chosen = dice.below(entries.length);
  const bent = entries.map((entry, index) =>
    index === chosen ? { name: entry.name, content: mutateBytes(dice, Buffer.from(entry.content), maxBytes) } : entry,
  );
  return buildZip(bent);
}

function readEntries(archive: Buffer): ZipEntry[] {
  const entries: ZipEntry[] = [];
  try {
    for (let at = 0; archive.toString('latin1', at, at + 4) === 'PK\x03\x04'; ) {
      const method = archive.readUInt16LE(at + 8);
      const bytes = archive.readUInt32LE(at + 18);
      const nameBytes = archive.readUInt16LE(at + 26);
      const start = at + 30 + nameBytes;
      const packed = archive.subarray(start, start + bytes);
      const content = method === 8 ? inflateRawSync(packed, { maxOutputLength: 4_000_000 }) : packed;
      entries.push({ name: archive.subarray(at + 30, start), content });
      at = start + bytes;
    }
  } catch {
    // One of those that lie about themselves: only its bytes can be changed.
    return [];
  }
  return entries;
}

/** The streams of a PDF of this corpus unpacked, changed and packed again, and its words changed outside of them. */
export function mutatePdf(dice: Dice, pdf: Buffer, maxBytes: number): Buffer {
  const text = pdf.toString('latin1');
  const start = text.indexOf('stream\n', dice.below(text.length));
  const end = text.indexOf('\nendstream', start);
  if (start < 0 || end < 0 || dice.chance(0.5)) return mutateBytes(dice, pdf, maxBytes);
  const content = pdf.subarray(start + 7, end);
  return Buffer.concat([pdf.subarray(0, start + 7), mutateStream(dice, content, maxBytes), pdf.subarray(end)]);
}

function mutateStream(dice: Dice, content: Buffer, maxBytes: number): Buffer {
  if (content.length < 2 || content.readUInt16BE(0) !== 0x78da) return mutateBytes(dice, content, maxBytes);
  const unpacked = inflateRawSync(content.subarray(2), { maxOutputLength: 4_000_000 });
  const packed = deflateRawSync(mutateBytes(dice, unpacked, maxBytes));
  return Buffer.concat([Buffer.from([0x78, 0xda]), packed, Buffer.alloc(4)]);
}
