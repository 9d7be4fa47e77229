/** Workbooks with cells at the end of the world, and values that stand for far more than they are. */
import { xlsxParts } from '../../support/document-fixtures.ts';
import type { DocumentAnswer, DocumentCase } from '../cases.ts';
import { cell, pack, sheetPart, xlsx, xlsxSheet, xlsxWithStrings } from './office.ts';

const MEBIBYTE = 1_048_576;
const EITHER: readonly DocumentAnswer[] = ['completed', 'invalid_file'];

function workbook(name: string, bytes: () => Uint8Array, answer: DocumentCase['answer']): DocumentCase {
  return { name: `XLSX: ${name}`, filename: 'a.xlsx', bytes, answer };
}

function text(reference: string, value: string): string {
  return `<row><c r="${reference}" t="inlineStr"><is><t>${value}</t></is></c></row>`;
}

const TEA = text('A1', 'Tea is picked in spring.');

function withStyles(styles: string): Buffer {
  return xlsx(`${TEA}${cell('A2', 45_000, 's="1"')}`, { 'xl/styles.xml': sheetPart('styleSheet', styles) });
}

function manySheets(count: number): Buffer {
  const parts = xlsxParts({ Tea: TEA });
  const sheets = Array.from(
    { length: count },
    (_, index) => `<sheet name="Tea ${index}" sheetId="${index + 1}" r:id="rId1"/>`,
  ).join('');
  return pack({ ...parts, 'xl/workbook.xml': String(parts['xl/workbook.xml']).replace(/<sheet name.*?\/>/, sheets) });
}

export const spreadsheets: readonly DocumentCase[] = [
  workbook('a cell at ZZZZZZ99999999', () => xlsx(TEA + cell('ZZZZZZ99999999', 1)), EITHER),
  workbook('a cell at the last place there is', () => xlsx(TEA + cell('XFD1048576', 1)), EITHER),
  workbook('a cell in the last row', () => xlsx(TEA + cell('A1048576', 1)), EITHER),
  workbook('a cell in a row of 300 digits', () => xlsx(TEA + cell(`A${'9'.repeat(300)}`, 1)), EITHER),
  workbook('a cell of ten thousand letters', () => xlsx(TEA + cell(`${'Z'.repeat(10_000)}1`, 1)), EITHER),
  workbook(
    'cells without a place, or with none that is one',
    () =>
      xlsx(
        `${TEA}<row><c><v>1</v></c><c r=""><v>2</v></c><c r="A-1"><v>3</v></c><c r="0"><v>4</v></c><c r="A0"><v>5</v></c></row>`,
      ),
    EITHER,
  ),
  workbook(
    'a size of the whole world with one cell',
    () => xlsxSheet(`<dimension ref="A1:XFD1048576"/><sheetData>${TEA}</sheetData>`),
    EITHER,
  ),
  workbook(
    'a size beyond the world',
    () => xlsxSheet(`<dimension ref="A1:ZZZZZZ99999999"/><sheetData>${TEA}</sheetData>`),
    EITHER,
  ),
  workbook(
    'a size that begins behind its end',
    () => xlsxSheet(`<dimension ref="XFD1048576:A1"/><sheetData>${TEA}</sheetData>`),
    EITHER,
  ),
  workbook(
    'cells merged over the whole sheet, fifty thousand times',
    () =>
      xlsxSheet(
        `<sheetData>${TEA}</sheetData><mergeCells>${'<mergeCell ref="A1:XFD1048576"/>'.repeat(50_000)}</mergeCells>`,
      ),
    EITHER,
  ),
  workbook(
    'a string of a megabyte in a hundred thousand cells',
    () =>
      xlsxWithStrings(
        Array.from({ length: 100_000 }, (_, at) => cell(`A${at + 1}`, 0, 't="s"')).join(''),
        `<si><t>${'tea '.repeat(MEBIBYTE / 4)}</t></si>`,
      ),
    'invalid_file',
  ),
  workbook(
    'a name of a column of a megabyte over a hundred thousand rows',
    () =>
      xlsxWithStrings(
        cell('A1', 0, 't="s"') + Array.from({ length: 100_000 }, (_, at) => cell(`A${at + 2}`, at)).join(''),
        `<si><t>${'tea '.repeat(MEBIBYTE / 4)}</t></si>`,
      ),
    'invalid_file',
  ),
  workbook(
    'a million strings that no cell has',
    () => xlsxWithStrings(TEA, '<si><t>t</t></si>'.repeat(1_000_000)),
    EITHER,
  ),
  workbook(
    'a string of three hundred thousand runs',
    () => xlsxWithStrings(cell('A1', 0, 't="s"'), `<si>${'<r><rPr><b/></rPr><t>t </t></r>'.repeat(300_000)}</si>`),
    EITHER,
  ),
  workbook(
    'strings with numbers that are none',
    () =>
      xlsxWithStrings(
        ['-1', '2147483648', '1e9', 'NaN', '__proto__', '']
          .map((value, at) => cell(`A${at + 1}`, value, 't="s"'))
          .join(''),
        '<si><t>tea</t></si>',
      ),
    EITHER,
  ),
  workbook(
    'half a million styles',
    () => withStyles(`<cellXfs count="500000">${'<xf numFmtId="14" xfId="0"/>'.repeat(500_000)}</cellXfs>`),
    EITHER,
  ),
  workbook(
    'a format of a megabyte of brackets',
    () =>
      withStyles(
        `<numFmts count="1"><numFmt numFmtId="164" formatCode="${'[h&quot;'.repeat(150_000)}"/></numFmts><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="164" applyNumberFormat="1"/></cellXfs>`,
      ),
    EITHER,
  ),
  workbook(
    'styles that are there two thousand million times',
    () => withStyles('<cellXfs count="2147483647"><xf numFmtId="2147483647"/><xf numFmtId="-1"/></cellXfs>'),
    EITHER,
  ),
  workbook(
    'dates beyond all calendars',
    () =>
      xlsx(
        TEA +
          ['1e308', '-1e308', '1e400', 'NaN', '-99999999999', '2958466']
            .map((value, at) => cell(`A${at + 2}`, value, 's="1"'))
            .join(''),
      ),
    EITHER,
  ),
  workbook(
    'a formula ten thousand brackets deep',
    () => xlsx(`${TEA}<row><c r="A2"><f>${'SUM('.repeat(10_000)}A2${')'.repeat(10_000)}</f><v>1</v></c></row>`),
    'completed',
  ),
  workbook(
    'a formula that is shared with itself',
    () => xlsx(`${TEA}<row><c r="A2"><f t="shared" ref="A2:XFD1048576" si="0">A2</f><v>1</v></c></row>`),
    'completed',
  ),
  workbook(
    'formulas that call a program',
    () =>
      xlsx(
        `${TEA}<row><c r="A2"><f>CMD|'/C calc'!A0</f><v>1</v></c><c r="B2"><f>WEBSERVICE("http://127.0.0.1:9")</f><v>1</v></c></row>`,
      ),
    'completed',
  ),
  workbook(
    'cells of kinds that there are not',
    () =>
      xlsx(
        `${TEA}${cell('A2', 'x', 't="zzz"')}${cell('A3', 'x', 't="b"')}${cell('A4', '', 't="e"')}${cell('A5', 'x', 't="d"')}`,
      ),
    EITHER,
  ),
  workbook('fifty thousand sheets, all the same', () => manySheets(50_000), EITHER),
  workbook(
    'a row of sixteen thousand columns, ten times',
    () =>
      xlsx(
        Array.from(
          { length: 10 },
          (_, row) =>
            `<row>${Array.from({ length: 16_384 }, (_, column) => `<c r="${columnName(column)}${row + 1}"><v>1</v></c>`).join('')}</row>`,
        ).join(''),
      ),
    EITHER,
  ),
  workbook('no sheet at all', () => pack({ ...xlsxParts({}) }), 'invalid_file'),
  workbook(
    'a workbook that is its own sheet',
    () =>
      pack({
        ...xlsxParts({ Tea: TEA }),
        'xl/_rels/workbook.xml.rels': String(xlsxParts({ Tea: TEA })['xl/_rels/workbook.xml.rels']).replace(
          'worksheets/sheet1.xml',
          'workbook.xml',
        ),
      }),
    EITHER,
  ),
];

function columnName(index: number): string {
  let name = '';
  for (let rest = index + 1; rest > 0; rest = Math.floor((rest - 1) / 26))
    name = String.fromCharCode(65 + ((rest - 1) % 26)) + name;
  return name;
}
