/** PDF files whose pages, fonts and tables of characters take a reader's time or memory. */
import type { DocumentAnswer, DocumentCase } from '../cases.ts';
import { cffFont, trueTypeFont } from './build-font.ts';
import {
  buildPdf,
  CATALOGUE,
  COMPOSITE,
  cmapOf,
  DESCENDANT,
  DESCRIPTOR,
  flate,
  HELVETICA,
  onePage,
  PAGES,
  page,
  pdfWithCmap,
  stream,
  TEXT,
} from './build-pdf.ts';

function pdf(name: string, bytes: () => Uint8Array, answer: DocumentCase['answer']): DocumentCase {
  return { name: `PDF: ${name}`, filename: 'a.pdf', bytes, answer };
}

const ANY: readonly DocumentAnswer[] = ['completed', 'invalid_file', 'no_text_layer'];
const LONG = 'tea '.repeat(8_000);

function inUtf16(text: string): string {
  return Buffer.from(text, 'utf16le').swap16().toString('hex');
}

/** A simple font with these members. */
function simpleFont(members: string): string {
  return `<< /Type /Font /Subtype /TrueType /BaseFont /Tea /FontDescriptor 8 0 R ${members} >>`;
}

function withFontFile(key: string, file: Buffer): Buffer {
  const descriptor = DESCRIPTOR.replace('>>', `/${key} 9 0 R >>`);
  return onePage(
    stream(TEXT),
    ['null', 'null', descriptor, flate(file, '/Subtype /Type1C')],
    simpleFont('/FirstChar 32 /LastChar 33 /Widths [500 500]'),
  );
}

function manyFonts(count: number): Buffer {
  const names = Array.from({ length: count }, (_, index) => `/G${index} 5 0 R`).join(' ');
  const shown = Array.from({ length: count }, (_, index) => `/G${index} 12 Tf (tea) Tj`).join(' ');
  return buildPdf([CATALOGUE, PAGES, page(`/Font << ${names} >>`), flate(`BT ${shown} ET`), HELVETICA]);
}

/** Each font an object of its own, so that none is kept from before. */
function manyFontObjects(count: number): Buffer {
  const names = Array.from({ length: count }, (_, index) => `/G${index} ${index + 6} 0 R`).join(' ');
  const shown = Array.from({ length: count }, (_, index) => `/G${index} 12 Tf (tea) Tj`).join(' ');
  const fonts = Array.from({ length: count }, (_, index) =>
    HELVETICA.replace('/Helvetica', `/Helvetica /Tea ${index}`),
  );
  return buildPdf([CATALOGUE, PAGES, page(`/Font << ${names} >>`), flate(`BT ${shown} ET`), HELVETICA, ...fonts]);
}

function drawsForm(form: string, content = '/X Do'): Buffer {
  const dictionary = `/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R /Y 7 0 R >> >>`;
  return buildPdf([
    CATALOGUE,
    PAGES,
    page('/Font << /F1 5 0 R >> /XObject << /X 6 0 R /Y 7 0 R >>'),
    stream(content),
    HELVETICA,
    stream(form, dictionary),
    stream('/X Do /X Do', dictionary),
  ]);
}

/** Forms that draw the next one ten times each: 10^5 texts in the end. */
function formsInForms(): Buffer {
  const form = (index: number) =>
    stream(
      index === 5 ? TEXT : '/X Do '.repeat(10),
      `/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /Font << /F1 5 0 R >> /XObject << /X ${index + 7} 0 R >> >>`,
    );
  return buildPdf([
    CATALOGUE,
    PAGES,
    page('/XObject << /X 6 0 R >>'),
    stream('/X Do'),
    HELVETICA,
    ...Array.from({ length: 6 }, (_, index) => form(index)),
  ]);
}

function type3(procedure: string): Buffer {
  const font =
    '<< /Type /Font /Subtype /Type3 /FontBBox [0 0 9 9] /FontMatrix [1 0 0 1 0 0] /FirstChar 97 /LastChar 97 /Widths [9] /Encoding << /Differences [97 /a] >> /CharProcs << /a 6 0 R >> /Resources << /Font << /F1 5 0 R >> >> >>';
  return onePage(stream('BT /F1 12 Tf (aaaa) Tj ET'), [stream(procedure)], font);
}

const CID_MEMBERS = (members: string): Buffer =>
  onePage(
    stream('BT /F1 12 Tf <00010002> Tj ET'),
    [
      flate(cmapOf('1 beginbfrange <0000> <ffff> <0020> endbfrange')),
      DESCENDANT.replace('/FontDescriptor', `${members} /FontDescriptor`),
      DESCRIPTOR,
    ],
    COMPOSITE,
  );

export const pdfFonts: readonly DocumentCase[] = [
  pdf(
    'a range of two thousand million characters',
    () => pdfWithCmap('1 beginbfrange <00000000> <7fffffff> <0041> endbfrange'),
    ANY,
  ),
  pdf(
    'a hundred such ranges',
    () => pdfWithCmap(`100 beginbfrange ${'<00000000> <7fffffff> <0041> '.repeat(100)} endbfrange`),
    ANY,
  ),
  pdf(
    'a range of sixteen million characters up to the last code',
    () => pdfWithCmap('1 beginbfrange <7f000000> <7fffffff> <0041> endbfrange'),
    ANY,
  ),
  pdf(
    'a range at the end of all codes',
    () => pdfWithCmap('1 beginbfrange <7ffffff0> <7fffffff> <0041> endbfrange'),
    ANY,
  ),
  pdf(
    'a range of an array at the end of all codes',
    () => pdfWithCmap('1 beginbfrange <7f000000> <7fffffff> [<0041>] endbfrange'),
    ANY,
  ),
  pdf(
    'sixteen million characters, a hundred times',
    () =>
      pdfWithCmap(
        `100 beginbfrange ${Array.from({ length: 100 }, (_, at) => `<${at.toString(16).padStart(2, '0')}000000> <${at.toString(16).padStart(2, '0')}fffffe> <0041> `).join('')} endbfrange`,
      ),
    ANY,
  ),
  pdf(
    'one character at the end of all codes',
    () => pdfWithCmap('1 beginbfchar <7fffffff> <0041> endbfchar 1 begincidchar <7fffffff> 0 endcidchar'),
    ANY,
  ),
  pdf('a range that ends before it begins', () => pdfWithCmap('1 beginbfrange <ffff> <0000> <0041> endbfrange'), ANY),
  pdf(
    'a range of codes of forty bytes',
    () => pdfWithCmap(`1 beginbfrange <${'00'.repeat(40)}> <${'ff'.repeat(40)}> <0041> endbfrange`),
    ANY,
  ),
  pdf(
    'a range of two thousand million glyphs',
    () => pdfWithCmap('1 begincidrange <00000000> <7fffffff> 0 endcidrange'),
    ANY,
  ),
  pdf(
    'a code space of 2^32',
    () =>
      pdfWithCmap(
        `${'1 begincodespacerange <00000000> <ffffffff> endcodespacerange '.repeat(50_000)} 1 beginbfchar <0001> <0041> endbfchar`,
      ),
    ANY,
  ),
  pdf(
    'characters that stand for 32,000 each',
    () => pdfWithCmap(`1 beginbfchar <0001> <${inUtf16(LONG)}> endbfchar`, `<${'0001'.repeat(20_000)}>`),
    ANY,
  ),
  pdf(
    'a table of characters that uses itself',
    () =>
      onePage(
        stream('BT /F1 12 Tf <0001> Tj ET'),
        [stream(cmapOf('/Tea usecmap'), '/UseCMap 6 0 R'), DESCENDANT, DESCRIPTOR],
        COMPOSITE,
      ),
    ANY,
  ),
  pdf('a million names in a table of characters', () => pdfWithCmap('/Tea usecmap '.repeat(1_000_000)), ANY),
  pdf('widths of 2^31 glyphs', () => CID_MEMBERS('/W [0 2147483647 500]'), ANY),
  pdf('vertical metrics of 2^31 glyphs', () => CID_MEMBERS('/W2 [0 2147483647 1 2 3] /DW2 [1e308 -1e308]'), ANY),
  pdf(
    'widths that are their own array',
    () =>
      onePage(
        stream('BT /F1 12 Tf <0001> Tj ET'),
        [
          flate(cmapOf('')),
          DESCENDANT.replace('/FontDescriptor', '/W 9 0 R /FontDescriptor'),
          DESCRIPTOR,
          '[0 9 0 R 9 0 R]',
        ],
        COMPOSITE,
      ),
    ANY,
  ),
  pdf(
    'a map of glyphs of 64 MiB',
    () =>
      onePage(
        stream('BT /F1 12 Tf <0001> Tj ET'),
        [
          flate(cmapOf('')),
          DESCENDANT.replace('/FontDescriptor', '/CIDToGIDMap 9 0 R /FontDescriptor'),
          DESCRIPTOR,
          flate(Buffer.alloc(64 * 1_048_576)),
        ],
        COMPOSITE,
      ),
    ANY,
  ),
  pdf(
    'an encoding with a place at 2^31',
    () =>
      onePage(
        stream(TEXT),
        [],
        simpleFont('/Encoding << /Differences [2147483647 /a /b] >>').replace('/FontDescriptor 8 0 R', ''),
      ),
    ANY,
  ),
  pdf(
    'an encoding of a million differences',
    () =>
      onePage(
        stream(TEXT),
        [],
        simpleFont(`/Encoding << /Differences [0 ${'/a '.repeat(1_000_000)}] >>`).replace('/FontDescriptor 8 0 R', ''),
      ),
    ANY,
  ),
  pdf(
    'a simple font with 2^31 characters',
    () => onePage(stream(TEXT), [], HELVETICA.replace('>>', '/FirstChar 0 /LastChar 2147483647 /Widths [500] >>')),
    ANY,
  ),
  pdf('fifty thousand names of one font', () => manyFonts(50_000), 'completed'),
  pdf('five thousand fonts', () => manyFontObjects(5_000), ANY),
  pdf('a character that draws itself', () => type3('9 0 0 0 9 9 d1 BT /F1 12 Tf (a) Tj ET'), ANY),
  pdf('a character of a million operators', () => type3(`9 0 0 0 9 9 d1 ${'q Q '.repeat(500_000)}`), ANY),
  pdf('a form that draws itself', () => drawsForm(`${TEXT} /X Do`), ANY),
  pdf('two forms that draw each other', () => drawsForm('/Y Do /Y Do'), ANY),
  pdf('a hundred thousand texts by forms in forms', formsInForms, ANY),
  pdf('ten million operands', () => onePage(flate(`${'1 '.repeat(10_000_000)} ${TEXT}`)), ANY),
  pdf('two hundred thousand saved states', () => onePage(flate(`${'q '.repeat(200_000)} ${TEXT}`)), ANY),
  pdf('three hundred thousand texts', () => onePage(flate(`BT /F1 12 Tf ${'(a) Tj '.repeat(300_000)} ET`)), ANY),
  pdf(
    'an array of text two hundred thousand long',
    () => onePage(flate(`BT /F1 12 Tf [${'(a) -9999 '.repeat(200_000)}] TJ ET`)),
    ANY,
  ),
  pdf(
    'a million marks that never end',
    () => onePage(flate(`${'/P << /MCID 0 >> BDC '.repeat(500_000)} ${TEXT}`)),
    ANY,
  ),
  pdf('an inline picture without end', () => onePage(flate(`BI /W 99999 /H 99999 ID ${'x'.repeat(5_000_000)}`)), ANY),
  pdf(
    'numbers of a million digits',
    () => onePage(stream(`${'9'.repeat(1_000_000)} 0 Td -${'0'.repeat(1_000_000)}1 0 Td ${TEXT}`)),
    ANY,
  ),
  pdf(
    'a matrix of infinities',
    () => onePage(stream(`1e999 -1e999 1e999 1e999 0 0 cm BT /F1 1e308 Tf 1e308 Tz 1e308 Tc 1e308 Tw (tea) Tj ET`)),
    ANY,
  ),
  pdf('a TrueType font with 65,535 tables', () => withFontFile('FontFile2', trueTypeFont(65_535, 0xffffffff)), ANY),
  pdf('a TrueType font whose glyph is part of itself', () => withFontFile('FontFile2', trueTypeFont(12, 64)), ANY),
  pdf('a CFF font that calls itself', () => withFontFile('FontFile3', cffFont()), ANY),
  pdf(
    'a Type 1 font of noise',
    () =>
      withFontFile(
        'FontFile',
        Buffer.from(
          `%!PS-AdobeFont-1.0: Tea\n${'/Subrs 2147483647 array dup 0 2147483647 RD '.repeat(2_000)} eexec ${'\xa5'.repeat(100_000)}`,
          'latin1',
        ),
      ),
    ANY,
  ),
];
