/** PDF files whose objects, tables and streams lead in circles or unpack without end. */
import { deflateSync } from 'node:zlib';
import { PDF_ENCRYPTION } from '../../support/document-fixtures.ts';
import type { DocumentAnswer, DocumentCase } from '../cases.ts';
import { buildPdf, CATALOGUE, flate, HELVETICA, onePage, PAGES, page, stream, TEXT } from './build-pdf.ts';
import { deflateRepeating } from './deflate-repeating.ts';

const MEBIBYTE = 1_048_576;

function pdf(name: string, bytes: () => Uint8Array, answer: DocumentCase['answer']): DocumentCase {
  return { name: `PDF: ${name}`, filename: 'a.pdf', bytes, answer };
}

/** What is no text and does no harm: the reader may see an empty page, or a broken file. */
const EMPTY_OR_BROKEN: readonly DocumentAnswer[] = ['invalid_file', 'no_text_layer'];
/** What a lenient reader repairs and a strict one refuses. */
const REPAIRED_OR_BROKEN: readonly DocumentAnswer[] = ['completed', 'invalid_file', 'no_text_layer'];

function pages(kids: string, count: number | string, more: readonly string[] = []): Buffer {
  const tree = `<< /Type /Pages /Kids [${kids}] /Count ${count} >>`;
  return buildPdf([CATALOGUE, tree, page(), stream(TEXT), HELVETICA, ...more]);
}

/** Content that was packed again and again. */
function packedTimes(times: number, content: Uint8Array): Buffer {
  let packed = content;
  for (let time = 0; time < times; time += 1) packed = deflateSync(packed, { level: 9 });
  return stream(packed, `/Filter [${'/FlateDecode '.repeat(times)}]`);
}

/** A table that says of itself that it goes on where it began. */
function loopingTables(links: number): Buffer {
  const base = onePage(stream(TEXT));
  const blocks = [base];
  let position = base.length;
  let previous = base.indexOf('xref\n0');
  for (let link = 0; link < links; link += 1) {
    const last = link === links - 1;
    const table = `xref\n0 0\ntrailer\n<< /Size 6 /Root 1 0 R /Prev ${previous} >>\nstartxref\n${last ? position : 0}\n%%EOF\n`;
    blocks.push(Buffer.from(table));
    previous = position;
    position += table.length;
  }
  return Buffer.concat(blocks);
}

/** An object stream (9) that says it lies in itself, with a cross-reference stream (10) that says so too. */
function objectStreamInItself(extending: boolean): Buffer {
  const objects = [CATALOGUE, PAGES, page(), stream(TEXT), HELVETICA, 'null', 'null', 'null'];
  const inside = '1 0 << /Type /Catalog /Pages 2 0 R >>';
  const dictionary = `/Type /ObjStm /N 1 /First 4 ${extending ? '/Extends 9 0 R' : ''}`;
  return buildPdf([...objects, stream(inside, dictionary)], {
    end(offsets, position) {
      const rows = [row(0, 0, 65_535), ...offsets.map((at) => row(1, at, 0)), row(1, position, 0)];
      rows[1] = row(2, 9, 0);
      if (!extending) rows[9] = row(2, 9, 0);
      const table = stream(Buffer.concat(rows), `/Type /XRef /Size 11 /W [1 4 2] /Root 1 0 R`);
      return Buffer.concat([
        Buffer.from('10 0 obj\n'),
        table,
        Buffer.from(`\nendobj\nstartxref\n${position}\n%%EOF\n`),
      ]);
    },
  });
}

function row(type: number, second: number, third: number): Buffer {
  const bytes = Buffer.alloc(7);
  bytes.writeUInt8(type, 0);
  bytes.writeUInt32BE(second, 1);
  bytes.writeUInt16BE(third, 5);
  return bytes;
}

/** Codes of nine bits that only ever clear the table or repeat its longest entry. */
function lzwBomb(bytes: number): Buffer {
  const bits: number[] = [];
  const put = (code: number, width: number): void => {
    for (let bit = width - 1; bit >= 0; bit -= 1) bits.push((code >> bit) & 1);
  };
  for (let made = 0; made < bytes; ) {
    put(256, 9);
    put(32, 9);
    let width = 9;
    for (let code = 258; code < 4_094; code += 1) {
      put(code, width);
      made += code - 256;
      if (code + 2 >= 2 ** width && width < 12) width += 1;
    }
  }
  put(257, 12);
  const packed = Buffer.alloc(Math.ceil(bits.length / 8));
  for (const [index, bit] of bits.entries())
    packed[index >> 3] = (packed[index >> 3] ?? 0) | (bit << (7 - (index & 7)));
  return packed;
}

export const pdfStructure: readonly DocumentCase[] = [
  pdf('no end', () => onePage(stream(TEXT)).subarray(0, 300), 'invalid_file'),
  pdf('nothing but its header and its end', () => Buffer.from('%PDF-1.7\n%%EOF\n'), 'invalid_file'),
  pdf('no catalogue', () => buildPdf([CATALOGUE, PAGES, page()], { root: '99 0 R' }), REPAIRED_OR_BROKEN),
  pdf(
    'a table at a place beyond the file',
    () => buildPdf([CATALOGUE, PAGES, page(), stream(TEXT), HELVETICA], { startxref: 2 ** 40 }),
    'completed',
  ),
  pdf(
    'a table at a negative place',
    () => buildPdf([CATALOGUE, PAGES, page(), stream(TEXT), HELVETICA], { startxref: -1 }),
    'completed',
  ),
  pdf(
    'a table before itself',
    () => buildPdf([CATALOGUE, PAGES, page(), stream(TEXT), HELVETICA], { trailer: '/Prev 15' }),
    REPAIRED_OR_BROKEN,
  ),
  pdf('ten thousand tables in a chain', () => loopingTables(10_000), REPAIRED_OR_BROKEN),
  pdf(
    'a table of 2^31 objects',
    () => Buffer.from(onePage(stream(TEXT)).toString('latin1').replace('xref\n0 6', 'xref\n0 2147483647'), 'latin1'),
    REPAIRED_OR_BROKEN,
  ),
  pdf('an object stream in itself', () => objectStreamInItself(false), REPAIRED_OR_BROKEN),
  pdf('an object stream that extends itself', () => objectStreamInItself(true), REPAIRED_OR_BROKEN),
  pdf('2^31 pages, and one there', () => pages('3 0 R', 2 ** 31 - 1), REPAIRED_OR_BROKEN),
  pdf('a negative number of pages', () => pages('3 0 R', -5), REPAIRED_OR_BROKEN),
  pdf('a page tree that holds itself', () => pages('2 0 R 3 0 R', 2), REPAIRED_OR_BROKEN),
  pdf(
    'a page tree whose branch holds its root',
    () => pages('6 0 R 3 0 R', 2, ['<< /Type /Pages /Parent 2 0 R /Kids [2 0 R] /Count 1 >>']),
    REPAIRED_OR_BROKEN,
  ),
  pdf(
    'a page that is its own parent',
    () => buildPdf([CATALOGUE, PAGES, '<< /Type /Page /Parent 3 0 R /Contents 4 0 R >>', stream(TEXT), HELVETICA]),
    REPAIRED_OR_BROKEN,
  ),
  pdf('one page named two hundred thousand times', () => pages('3 0 R '.repeat(200_000), 200_000), REPAIRED_OR_BROKEN),
  pdf(
    'a content named twenty thousand times',
    () =>
      buildPdf([
        CATALOGUE,
        PAGES,
        page(undefined, `[${'4 0 R '.repeat(20_000)}]`),
        stream(TEXT.repeat(500)),
        HELVETICA,
      ]),
    REPAIRED_OR_BROKEN,
  ),
  pdf('arrays a million deep', () => onePage(stream(TEXT), ['['.repeat(1_000_000)]), REPAIRED_OR_BROKEN),
  pdf(
    'a page of arrays a million deep',
    () =>
      buildPdf([
        CATALOGUE,
        PAGES,
        page(undefined, undefined, `/Tea ${'['.repeat(1_000_000)}`),
        stream(TEXT),
        HELVETICA,
      ]),
    REPAIRED_OR_BROKEN,
  ),
  pdf(
    'dictionaries three hundred thousand deep',
    () =>
      buildPdf([
        CATALOGUE,
        PAGES,
        page(undefined, undefined, `/Tea ${'<</T '.repeat(300_000)}`),
        stream(TEXT),
        HELVETICA,
      ]),
    REPAIRED_OR_BROKEN,
  ),
  pdf('a string that never closes', () => onePage(stream(TEXT), [`(${'a'.repeat(5 * MEBIBYTE)}`]), REPAIRED_OR_BROKEN),
  pdf('a name of five megabytes', () => onePage(stream(TEXT), [`/${'a'.repeat(5 * MEBIBYTE)}`]), REPAIRED_OR_BROKEN),
  pdf(
    'a reference that leads to itself',
    () => buildPdf([CATALOGUE, PAGES, page(undefined, '6 0 R'), stream(TEXT), HELVETICA, '7 0 R', '6 0 R']),
    REPAIRED_OR_BROKEN,
  ),
  pdf('a length that is the stream’s own', () => onePage(stream(TEXT, '', '4 0 R')), REPAIRED_OR_BROKEN),
  pdf('a length of 2^53', () => onePage(stream(TEXT, '', 2 ** 53)), REPAIRED_OR_BROKEN),
  pdf('a negative length', () => onePage(stream(TEXT, '', -1)), REPAIRED_OR_BROKEN),
  pdf(
    'Flate of a gibibyte of blanks',
    () => onePage(stream(deflateRepeating(Buffer.alloc(MEBIBYTE, ' '), 1_024), '/Filter /FlateDecode')),
    EMPTY_OR_BROKEN,
  ),
  pdf(
    'Flate in Flate in Flate of 256 MiB',
    () => onePage(packedTimes(3, Buffer.alloc(256 * MEBIBYTE, ' '))),
    EMPTY_OR_BROKEN,
  ),
  pdf(
    'a thousand filters',
    () => onePage(stream('x', `/Filter [${'/ASCIIHexDecode '.repeat(1_000)}]`)),
    EMPTY_OR_BROKEN,
  ),
  pdf(
    'LZW of a hundred megabytes',
    () => onePage(stream(lzwBomb(100 * MEBIBYTE), '/Filter /LZWDecode')),
    EMPTY_OR_BROKEN,
  ),
  pdf(
    'runs of a hundred megabytes',
    () => onePage(stream(Buffer.from(`${'\x81 '.repeat(MEBIBYTE)}\x80`, 'latin1'), '/Filter /RunLengthDecode')),
    EMPTY_OR_BROKEN,
  ),
  pdf(
    'a predictor of 2^31 columns',
    () => onePage(flate(TEXT, '/DecodeParms << /Predictor 12 /Columns 2147483647 /Colors 32 /BitsPerComponent 16 >>')),
    REPAIRED_OR_BROKEN,
  ),
  pdf(
    'a TIFF predictor of no columns',
    () => onePage(flate(TEXT, '/DecodeParms << /Predictor 2 /Columns 0 /Colors 0 /BitsPerComponent 0 >>')),
    REPAIRED_OR_BROKEN,
  ),
  pdf(
    'a password',
    () => buildPdf([CATALOGUE, PAGES, page(), stream(TEXT), HELVETICA], { trailer: PDF_ENCRYPTION }),
    'invalid_file',
  ),
  pdf(
    'encryption that nobody knows',
    () =>
      buildPdf([CATALOGUE, PAGES, page(), stream(TEXT), HELVETICA], {
        trailer: '/Encrypt << /Filter /Tea /V 9 >> /ID [<00> <00>]',
      }),
    'invalid_file',
  ),
  pdf(
    'encryption by a dictionary that is itself',
    () =>
      buildPdf(
        [
          CATALOGUE,
          PAGES,
          page(),
          stream(TEXT),
          HELVETICA,
          '<< /Filter /Standard /V 4 /R 4 /O 6 0 R /U 6 0 R /P 6 0 R /CF 6 0 R >>',
        ],
        { trailer: '/Encrypt 6 0 R /ID [<00> <00>]' },
      ),
    REPAIRED_OR_BROKEN,
  ),
  pdf(
    'a script that runs at its opening, and a form that sends itself',
    () =>
      buildPdf([
        '<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (while \\(true\\) app.launchURL\\("http://127.0.0.1:9"\\)) >> /AA << /WC << /S /URI /URI (http://127.0.0.1:9) >> >> >>',
        PAGES,
        page(),
        stream(TEXT),
        HELVETICA,
      ]),
    'completed',
  ),
  pdf(
    'an outline and names that lead in circles',
    () =>
      buildPdf([
        '<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R /Names << /Dests 7 0 R >> /StructTreeRoot 6 0 R >>',
        PAGES,
        page(),
        stream(TEXT),
        HELVETICA,
        '<< /First 6 0 R /Last 6 0 R /Next 6 0 R /Parent 6 0 R /K 6 0 R /RoleMap << /A /B /B /A >> >>',
        '<< /Kids [7 0 R] >>',
      ]),
    'completed',
  ),
  pdf(
    'layers whose visibility depends on itself',
    () =>
      buildPdf([
        '<< /Type /Catalog /Pages 2 0 R /OCProperties << /OCGs [6 0 R] /D << /Order [6 0 R 7 0 R] >> >> >>',
        PAGES,
        page('/Font << /F1 5 0 R >> /Properties << /L 7 0 R >>'),
        stream(`/OC /L BDC ${TEXT} EMC`),
        HELVETICA,
        '<< /Type /OCG /Name (L) >>',
        '<< /Type /OCMD /OCGs [6 0 R] /VE [/And 8 0 R 8 0 R] >>',
        '[/Or 8 0 R 8 0 R]',
      ]),
    REPAIRED_OR_BROKEN,
  ),
];
