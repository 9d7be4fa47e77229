/** XML that expands, nests, or lies about its characters, in each kind of office document. */
import { docxParts, pptxParts, xlsxParts } from '../../support/document-fixtures.ts';
import type { DocumentAnswer, DocumentCase } from '../cases.ts';
import { docx, docxOf, pack, pptxSlide, SENTENCE, XML } from './office.ts';

const MEBIBYTE = 1_048_576;
const EITHER: readonly DocumentAnswer[] = ['completed', 'invalid_file'];
const DOCUMENT = String(docxParts(SENTENCE)['word/document.xml']);

/** A type declaration before the document, and a text that uses it. */
function declaring(declarations: string, text: string): string {
  return DOCUMENT.replace(XML, `${XML}<!DOCTYPE w:document [${declarations}]>\n`).replace(
    'Tea is picked in spring.',
    text,
  );
}

function laughs(levels: number): string {
  const entities = Array.from(
    { length: levels },
    (_, level) => `<!ENTITY l${level + 1} "${`&l${level};`.repeat(10)}">`,
  );
  return `<!ENTITY l0 "tea ">${entities.join('')}`;
}

function slideDeclaring(declarations: string, text: string): Buffer {
  const parts = pptxParts([{ title: 'Tea', paragraphs: [text] }]);
  const slide = String(parts['ppt/slides/slide1.xml']).replace(XML, `${XML}<!DOCTYPE a [${declarations}]>\n`);
  return pack({ ...parts, 'ppt/slides/slide1.xml': slide });
}

function sheetDeclaring(declarations: string, text: string): Buffer {
  const parts = xlsxParts({ Tea: `<row><c r="A1" t="inlineStr"><is><t>${text}</t></is></c></row>` });
  const sheet = String(parts['xl/worksheets/sheet1.xml']).replace(
    XML,
    `${XML}<!DOCTYPE worksheet [${declarations}]>\n`,
  );
  return pack({ ...parts, 'xl/worksheets/sheet1.xml': sheet });
}

function word(name: string, bytes: () => Uint8Array, answer: DocumentCase['answer']): DocumentCase {
  return { name: `XML: ${name}`, filename: 'a.docx', bytes, answer };
}

const EXTERNAL = '<!ENTITY out SYSTEM "file:///etc/passwd"><!ENTITY web SYSTEM "http://127.0.0.1:9/x">';
const PARAMETER = '<!ENTITY % one "%two;"><!ENTITY % two "%one;">%one;';

export const xml: readonly DocumentCase[] = [
  word('a thousand million laughs', () => docxOf(declaring(laughs(9), '&l9;')), EITHER),
  {
    name: 'XML: a thousand million laughs on a slide',
    filename: 'a.pptx',
    bytes: () => slideDeclaring(laughs(9), '&l9;'),
    answer: EITHER,
  },
  {
    name: 'XML: a thousand million laughs in a cell',
    filename: 'a.xlsx',
    bytes: () => sheetDeclaring(laughs(9), '&l9;'),
    answer: EITHER,
  },
  word(
    'an entity of a megabyte, named fifty thousand times',
    () => docxOf(declaring(`<!ENTITY big "${'tea '.repeat(MEBIBYTE / 4)}">`, '&big;'.repeat(50_000))),
    EITHER,
  ),
  word('entities from a file and from the network', () => docxOf(declaring(EXTERNAL, '&out;&web;')), EITHER),
  {
    name: 'XML: entities from a file and from the network on a slide',
    filename: 'a.pptx',
    bytes: () => slideDeclaring(EXTERNAL, '&out;&web;'),
    answer: EITHER,
  },
  word('parameter entities in a circle', () => docxOf(declaring(PARAMETER, 'tea')), EITHER),
  word(
    'elements a hundred thousand deep',
    () => docx(`${SENTENCE}${'<w:sdt><w:sdtContent>'.repeat(50_000)}${'</w:sdtContent></w:sdt>'.repeat(50_000)}`),
    EITHER,
  ),
  word('elements a million deep that never close', () => docx(`${SENTENCE}${'<w:a>'.repeat(1_000_000)}`), EITHER),
  {
    name: 'XML: shapes a hundred thousand deep',
    filename: 'a.pptx',
    bytes: () => pptxSlide('<p:grpSp>'.repeat(100_000) + '</p:grpSp>'.repeat(100_000)),
    answer: EITHER,
  },
  word(
    'an attribute of twenty megabytes',
    () => docx(`<w:p w:rsid="${'a'.repeat(20 * MEBIBYTE)}"><w:r><w:t>Tea</w:t></w:r></w:p>`),
    EITHER,
  ),
  word(
    'a million attributes',
    () =>
      docx(
        `<w:p ${Array.from({ length: 1_000_000 }, (_, index) => `a${index}="1"`).join(' ')}><w:r><w:t>Tea</w:t></w:r></w:p>`,
      ),
    EITHER,
  ),
  word(
    'a million namespaces',
    () =>
      docx(
        `<w:p ${Array.from({ length: 1_000_000 }, (_, index) => `xmlns:n${index}="urn:${index}"`).join(' ')}><w:r><w:t>Tea</w:t></w:r></w:p>`,
      ),
    EITHER,
  ),
  {
    name: 'XML: a namespace at each of twenty thousand levels',
    filename: 'a.pptx',
    bytes: () =>
      pptxSlide(
        Array.from({ length: 20_000 }, (_, index) => `<p:g xmlns:n${index}="urn:${index}">`).join('') +
          '</p:g>'.repeat(20_000),
      ),
    answer: EITHER,
  },
  word(
    'bytes that are no UTF-8',
    () => docxOf(Buffer.from(DOCUMENT.replace('spring', '\xff\xfe\xc3\x28'), 'latin1')),
    EITHER,
  ),
  word('UTF-16 that says it is UTF-8', () => docxOf(Buffer.from(`\ufeff${DOCUMENT}`, 'utf16le')), EITHER),
  word('UTF-7', () => docxOf(DOCUMENT.replace('UTF-8', 'UTF-7').replace('Tea', '+ADw-w:p+AD4-')), EITHER),
  word('an encoding that nobody knows', () => docxOf(DOCUMENT.replace('UTF-8', 'x-tea')), EITHER),
  word(
    'characters that XML forbids',
    () => docxOf(DOCUMENT.replace('spring', '&#0;&#xffffffff;&#xd800;\u0001')),
    EITHER,
  ),
  word('a comment of fifty megabytes', () => docx(`<!--${' tea'.repeat((50 * MEBIBYTE) / 4)}-->${SENTENCE}`), EITHER),
  word('an instruction that never closes', () => docx(`<?tea ${'a'.repeat(MEBIBYTE)}`), 'invalid_file'),
  word('nothing in it', () => docxOf(''), 'invalid_file'),
  word('a document that is a picture', () => docxOf(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')), 'invalid_file'),
];
