/** Archives that unpack without end, or say what is not so. */
import { deflateRawSync } from 'node:zlib';
import { docxParts } from '../../support/document-fixtures.ts';
import type { DocumentCase } from '../cases.ts';
import { buildZip, type ZipEntry, zip64End, zip64Sizes } from './build-zip.ts';
import { docx, entriesOf, SENTENCE } from './office.ts';

const MEBIBYTE = 1_048_576;
const PARTS = docxParts(SENTENCE);

/** A good document, and something beside it. */
function docxBeside(...more: readonly ZipEntry[]): Buffer {
  return buildZip([...entriesOf(PARTS), ...more]);
}

/** The document's main part with lies about it. */
function docxLying(lies: Partial<ZipEntry>): Buffer {
  return buildZip(
    entriesOf(PARTS).map((entry) => (entry.name === 'word/document.xml' ? { ...entry, ...lies } : entry)),
  );
}

function manyParts(count: number, part: Pick<ZipEntry, 'content' | 'overlapping'>): ZipEntry[] {
  const packed = deflateRawSync(Buffer.from(part.content), { level: 9 });
  return Array.from({ length: count }, (_, index) => ({
    name: `word/part${index}.xml`,
    ...part,
    packed,
    crc: 0,
    overlapping: part.overlapping === true && index > 0,
  }));
}

/** The archive is the content of its own first part: whoever unpacks what is unpacked never ends. */
function holdsItself(): Buffer {
  const once = buildZip([{ name: 'word/document.xml', content: '', method: 0 }]);
  once.writeUInt32LE(once.length, 18);
  once.writeUInt32LE(once.length, 22);
  const directory = once.indexOf('PK\x01\x02');
  once.writeUInt32LE(once.length, directory + 20);
  once.writeUInt32LE(once.length, directory + 24);
  return once;
}

function nested(depth: number): Buffer {
  let inner = docx(SENTENCE);
  for (let level = 0; level < depth; level += 1) inner = buildZip([{ name: `level${level}.zip`, content: inner }]);
  return inner;
}

function zip64Lie(entries: bigint, directoryBytes: bigint, directoryOffset: bigint): Buffer {
  const plain = buildZip(entriesOf(PARTS));
  const end = plain.length - 22;
  const record = zip64End(entries, directoryBytes, directoryOffset, BigInt(end));
  const lie = { entries: 0xffff, directoryBytes: 0xffffffff, directoryOffset: 0xffffffff, before: record };
  return buildZip(entriesOf(PARTS), lie);
}

const filename = 'a.docx';

export const archives: readonly DocumentCase[] = [
  {
    name: 'one part that unpacks a thousandfold',
    filename,
    bytes: () => docxBeside({ name: 'word/a.xml', content: Buffer.alloc(48 * MEBIBYTE) }),
    answer: 'invalid_file',
  },
  {
    name: 'a hundred parts that unpack to 700 MiB',
    filename,
    bytes: () => docxBeside(...manyParts(100, { content: Buffer.alloc(7 * MEBIBYTE) })),
    answer: 'invalid_file',
  },
  {
    name: 'a thousand parts that overlap in one',
    filename,
    bytes: () => docxBeside(...manyParts(1_000, { content: Buffer.alloc(MEBIBYTE), overlapping: true })),
    answer: 'invalid_file',
  },
  {
    name: 'an archive in an archive, sixty deep',
    filename: 'a.zip',
    bytes: () => nested(60),
    answer: 'unsupported_file',
  },
  { name: 'an archive that holds itself', filename, bytes: holdsItself, answer: ['invalid_file', 'unsupported_file'] },
  {
    name: 'a part that is larger than it says',
    filename,
    bytes: () => docxLying({ claimedBytes: 10 }),
    answer: 'invalid_file',
  },
  {
    name: 'a part that is smaller than it says',
    filename,
    bytes: () => docxLying({ claimedBytes: 100_000 }),
    answer: 'invalid_file',
  },
  {
    name: 'a part that claims 4 GiB',
    filename,
    bytes: () => docxLying({ claimedBytes: 0xfffffffe }),
    answer: 'invalid_file',
  },
  {
    name: 'a part that claims an exbibyte in zip64',
    filename,
    bytes: () =>
      docxLying({ claimedBytes: 0xffffffff, claimedPackedBytes: 0xffffffff, extra: zip64Sizes(2n ** 60n, 2n ** 60n) }),
    answer: 'invalid_file',
  },
  {
    name: 'a packed size that reaches past the end',
    filename,
    bytes: () => docxLying({ claimedPackedBytes: 0x7fffffff }),
    answer: 'invalid_file',
  },
  {
    name: 'a directory of 2^63 entries in zip64',
    filename,
    bytes: () => zip64Lie(2n ** 63n - 1n, 1_000n, 0n),
    answer: 'invalid_file',
  },
  {
    name: 'a directory in zip64 beyond the end',
    filename,
    bytes: () => zip64Lie(3n, 1_000n, 2n ** 62n),
    answer: 'invalid_file',
  },
  {
    name: 'a part named twice',
    filename,
    bytes: () => docxBeside({ name: 'word/document.xml', content: 'no XML at all' }),
    answer: ['completed', 'invalid_file'],
  },
  {
    name: 'a part above the root',
    filename,
    bytes: () => docxBeside({ name: '../../../../etc/cron.d/a.xml', content: '<a/>' }),
    answer: 'invalid_file',
  },
  {
    name: 'a part with an absolute name',
    filename,
    bytes: () => docxBeside({ name: '/etc/passwd.xml', content: '<a/>' }),
    answer: ['completed', 'invalid_file'],
  },
  {
    name: 'a part with a drive and backslashes',
    filename,
    bytes: () => docxBeside({ name: 'C:\\..\\..\\a.xml', content: '<a/>' }),
    answer: ['completed', 'invalid_file'],
  },
  {
    name: 'a part named as a prototype',
    filename,
    bytes: () => docxBeside({ name: '__proto__', content: '<a/>' }, { name: 'constructor.xml', content: '<a/>' }),
    answer: 'completed',
  },
  {
    name: 'a part whose name is no UTF-8 and has a NUL',
    filename,
    bytes: () => docxBeside({ name: Buffer.from([0xff, 0x00, 0xc3, 0x28, 0x2e, 0x78, 0x6d, 0x6c]), content: '<a/>' }),
    answer: ['completed', 'invalid_file'],
  },
  {
    name: 'a part with a name of 65,535 bytes',
    filename,
    bytes: () => docxBeside({ name: `${'n'.repeat(65_531)}.xml`, content: '<a/>' }),
    answer: ['completed', 'invalid_file'],
  },
  { name: 'encrypted parts', filename, bytes: () => docxLying({ flags: 0x0801 }), answer: 'invalid_file' },
  {
    name: 'parts under strong encryption',
    filename,
    bytes: () => docxLying({ flags: 0x0841, method: 99 }),
    answer: 'invalid_file',
  },
  {
    name: '25,000 parts',
    filename,
    bytes: () => docxBeside(...manyParts(25_000, { content: '' })),
    answer: 'invalid_file',
  },
  {
    name: 'fewer parts than the directory counts',
    filename,
    bytes: () => buildZip(entriesOf(PARTS), { entries: 60_000 }),
    answer: 'invalid_file',
  },
  {
    name: 'more parts than the directory counts',
    filename,
    bytes: () => buildZip(entriesOf(PARTS), { entries: 1 }),
    answer: ['invalid_file', 'unsupported_file'],
  },
  {
    name: 'a directory beyond the end',
    filename,
    bytes: () => buildZip(entriesOf(PARTS), { directoryOffset: 0x7fffffff }),
    answer: 'invalid_file',
  },
  {
    name: 'a directory that begins at the end record',
    filename,
    bytes: () => buildZip(entriesOf(PARTS), { directoryOffset: buildZip(entriesOf(PARTS)).length - 22 }),
    answer: 'invalid_file',
  },
  {
    name: 'a comment that looks like another end',
    filename,
    bytes: () => buildZip(entriesOf(PARTS), { comment: Buffer.from(`PK\x05\x06${'\0'.repeat(18)}`, 'latin1') }),
    answer: ['completed', 'invalid_file', 'unsupported_file'],
  },
  { name: 'a wrong checksum', filename, bytes: () => docxLying({ crc: 1 }), answer: ['completed', 'invalid_file'] },
  { name: 'deflate64', filename, bytes: () => docxLying({ method: 9 }), answer: 'invalid_file' },
  { name: 'a method that nobody knows', filename, bytes: () => docxLying({ method: 0xfffe }), answer: 'invalid_file' },
  {
    name: 'a stream that is no deflate',
    filename,
    bytes: () => docxLying({ packed: Buffer.alloc(500, 0xff) }),
    answer: 'invalid_file',
  },
  {
    name: 'an archive that breaks off',
    filename,
    bytes: () => docx(SENTENCE).subarray(0, 400),
    answer: 'invalid_file',
  },
  {
    name: 'four bytes of an archive',
    filename,
    bytes: () => Buffer.from('PK\x03\x04', 'latin1'),
    answer: 'invalid_file',
  },
  { name: 'an empty archive', filename: 'a.zip', bytes: () => buildZip([]), answer: 'unsupported_file' },
  {
    name: 'an archive of pictures',
    filename: 'a.zip',
    bytes: () => buildZip([{ name: 'a.png', content: Buffer.alloc(MEBIBYTE) }]),
    answer: 'unsupported_file',
  },
];
