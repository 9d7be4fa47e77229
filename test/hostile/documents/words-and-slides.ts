/** DOCX and PPTX whose own means (tables, notes, styles, lists of slides) are turned against their reader. */
import { pptxParts } from '../../support/document-fixtures.ts';
import type { DocumentAnswer, DocumentCase } from '../cases.ts';
import { docx, docxWith, pack, pptxRepeating, pptxSlide, SENTENCE, wordPart } from './office.ts';

const EITHER: readonly DocumentAnswer[] = ['completed', 'invalid_file'];

function word(name: string, bytes: () => Uint8Array, answer: DocumentCase['answer']): DocumentCase {
  return { name: `DOCX: ${name}`, filename: 'a.docx', bytes, answer };
}

function slides(name: string, bytes: () => Uint8Array, answer: DocumentCase['answer']): DocumentCase {
  return { name: `PPTX: ${name}`, filename: 'a.pptx', bytes, answer };
}

function nestedTables(depth: number): string {
  return `${'<w:tbl><w:tr><w:tc>'.repeat(depth)}${SENTENCE}${`${SENTENCE}</w:tc></w:tr></w:tbl>`.repeat(depth)}`;
}

function table(row: string): string {
  return `<w:tbl>${row}</w:tbl>`;
}

const NOTES = wordPart(
  'footnotes',
  `<w:footnote w:id="1"><w:p><w:r><w:t>Note</w:t></w:r><w:r><w:footnoteReference w:id="1"/></w:r></w:p></w:footnote>`,
);
const NUMBERS = wordPart(
  'numbering',
  `${'<w:abstractNum w:abstractNumId="0"><w:numStyleLink w:val="a"/><w:lvl w:ilvl="2147483647"/></w:abstractNum>'.repeat(20_000)}<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>`,
);
const STYLES = wordPart(
  'styles',
  '<w:style w:type="paragraph" w:styleId="a"><w:basedOn w:val="b"/><w:numPr><w:numId w:val="1"/></w:numPr></w:style><w:style w:type="paragraph" w:styleId="b"><w:basedOn w:val="a"/></w:style>',
);
const IN_STYLE =
  '<w:p><w:pPr><w:pStyle w:val="a"/><w:numPr><w:ilvl w:val="2147483647"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>Tea</w:t></w:r></w:p>';
const CELL = '<a:tc><a:txBody><a:p><a:r><a:t>tea</a:t></a:r></a:p></a:txBody></a:tc>';

function slideTable(head: string, rows: number): string {
  const cells = (text: string): string => `<a:tr>${CELL.replace('tea', () => text)}</a:tr>`;
  return `<p:graphicFrame><a:graphic><a:graphicData><a:tbl>${cells(head)}${cells('t').repeat(rows)}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`;
}

export const wordsAndSlides: readonly DocumentCase[] = [
  word('tables five hundred deep', () => docx(nestedTables(500)), EITHER),
  word('tables fifty thousand deep', () => docx(nestedTables(50_000)), EITHER),
  word(
    'a cell over two thousand million columns and rows',
    () =>
      docx(
        table(
          `<w:tr><w:tc><w:tcPr><w:gridSpan w:val="2147483647"/><w:vMerge w:val="restart"/></w:tcPr>${SENTENCE}</w:tc></w:tr>${'<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc></w:tr>'.repeat(10_000)}`,
        ),
      ),
    EITHER,
  ),
  word(
    'a name of a column of a megabyte over fifty thousand rows',
    () =>
      docx(
        table(
          `<w:tr><w:tc>${SENTENCE.replace('Tea', () => 'tea '.repeat(262_144))}</w:tc></w:tr>${'<w:tr><w:tc><w:p><w:r><w:t>t</w:t></w:r></w:p></w:tc></w:tr>'.repeat(50_000)}`,
        ),
      ),
    EITHER,
  ),
  word(
    'fifty thousand paragraphs',
    () => docx(SENTENCE.replace('Tea is picked in spring.', 'Tea').repeat(50_000)),
    EITHER,
  ),
  word(
    'a note that refers to itself',
    () => docxWith(`${SENTENCE}<w:p><w:r><w:footnoteReference w:id="1"/></w:r></w:p>`, { footnotes: NOTES }),
    EITHER,
  ),
  word(
    'ten thousand references to one note',
    () => docxWith(`<w:p>${'<w:r><w:footnoteReference w:id="1"/></w:r>'.repeat(10_000)}</w:p>`, { footnotes: NOTES }),
    EITHER,
  ),
  word(
    'twenty thousand numberings that link to themselves',
    () => docxWith(SENTENCE + IN_STYLE, { numbering: NUMBERS, styles: STYLES }),
    EITHER,
  ),
  word(
    'styles that are based on each other',
    () => docxWith(SENTENCE + IN_STYLE.repeat(1_000), { styles: STYLES }),
    EITHER,
  ),
  word('a list two thousand million levels deep', () => docxWith(SENTENCE + IN_STYLE, { numbering: NUMBERS }), EITHER),
  word(
    'fields in fields that never end',
    () =>
      docx(
        `${SENTENCE}<w:p>${'<w:r><w:fldChar w:fldCharType="begin"/><w:instrText>HYPERLINK "http://127.0.0.1:9"</w:instrText></w:r>'.repeat(50_000)}</w:p>`,
      ),
    EITHER,
  ),
  word(
    'alternatives in alternatives',
    () =>
      docx(
        `${SENTENCE}${'<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Fallback>'.repeat(2_000)}${'</mc:Fallback></mc:AlternateContent>'.repeat(2_000)}`,
      ),
    EITHER,
  ),
  word(
    'pictures, links and other parts that are not there',
    () =>
      docx(
        `${SENTENCE}<w:p><w:hyperlink r:id="rId99"><w:r><w:t>tea</w:t></w:r></w:hyperlink><w:r><w:drawing><wp:inline><a:graphic><a:graphicData><pic:pic><pic:blipFill><a:blip r:embed="rId98"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p><w:altChunk r:id="rId97"/>`,
      ),
    EITHER,
  ),
  word(
    'bookmarks and comments without end',
    () =>
      docx(
        `${SENTENCE}<w:p>${'<w:bookmarkStart w:id="1" w:name="__proto__"/><w:commentRangeStart w:id="-1"/>'.repeat(100_000)}</w:p>`,
      ),
    EITHER,
  ),
  slides(
    'one slide of a megabyte, shown ten thousand times',
    () => pptxRepeating(10_000, 'tea '.repeat(262_144)),
    'invalid_file',
  ),
  slides(
    'slides that are not there',
    () =>
      pack({ ...pptxParts([{ title: 'a', paragraphs: [] }]), 'ppt/_rels/presentation.xml.rels': '<Relationships/>' }),
    'invalid_file',
  ),
  slides(
    'a slide that is the presentation',
    () =>
      pack({
        ...pptxParts([{ title: 'a', paragraphs: ['b'] }]),
        'ppt/_rels/presentation.xml.rels':
          '<Relationships><Relationship Id="rId1" Type="slide" Target="presentation.xml"/></Relationships>',
      }),
    EITHER,
  ),
  slides(
    'a part above the package',
    () =>
      pack({
        ...pptxParts([{ title: 'a', paragraphs: ['b'] }]),
        'ppt/_rels/presentation.xml.rels':
          '<Relationships><Relationship Id="rId1" Type="slide" Target="../../../../../etc/passwd"/></Relationships>',
      }),
    'invalid_file',
  ),
  slides(
    'a hundred thousand notes to a slide',
    () =>
      pack({
        ...pptxParts([{ title: 'a', paragraphs: ['b'], notes: 'tea '.repeat(100_000) }]),
        'ppt/slides/_rels/slide1.xml.rels': `<Relationships>${Array.from({ length: 100_000 }, (_, index) => `<Relationship Id="r${index}" Type="x/notesSlide" Target="../notesSlides/n0.xml"/>`).join('')}</Relationships>`,
      }),
    'invalid_file',
  ),
  slides(
    'a name of a column of a megabyte over fifty thousand rows',
    () => pptxSlide(slideTable('tea '.repeat(262_144), 50_000)),
    'invalid_file',
  ),
  slides(
    'tables in tables, two thousand deep',
    () => pptxSlide(`${'<a:tbl><a:tr><a:tc>'.repeat(2_000)}${'</a:tc></a:tr></a:tbl>'.repeat(2_000)}`),
    EITHER,
  ),
];
