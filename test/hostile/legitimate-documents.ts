/** Documents as people have them: limits are for others, and nothing of these is lost. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createDocumentReader } from '../../src/platform/knowledge/read/index.ts';
import {
  docxParagraph,
  docxParts,
  docxTable,
  makePdf,
  makeZip,
  pptxParts,
  readText,
  xlsxParts,
} from '../support/document-fixtures.ts';

const TEST = { timeout: 120_000 };

const numbered = (count: number) => Array.from({ length: count }, (_, index) => index);
const sentence = (index: number) =>
  `Clause ${index} says that what was agreed in it holds until ${index} of them are met.`;

function assertHolds(text: string, ...parts: readonly string[]): void {
  for (const part of parts) assert.ok(text.includes(part), part);
}

export interface DocumentSizes {
  readonly pageCount: number;
  readonly paragraphs: number;
  readonly tableRows: number;
  readonly sheetRows: number;
  readonly slideCount: number;
}

/** Declares the tests. */
export function testLegitimateDocuments({
  pageCount,
  paragraphs,
  tableRows,
  sheetRows,
  slideCount,
}: DocumentSizes): void {
  const reader = createDocumentReader();
  after(() => reader.close());

  test(`a PDF of ${pageCount} pages`, TEST, async () => {
    const pages = numbered(pageCount).map((page) => numbered(40).map((line) => sentence(page * 40 + line)));
    const text = await readText(reader, makePdf(pages), { filename: 'contract.pdf' });
    assertHolds(text, sentence(0), sentence(pageCount * 20), sentence(pageCount * 40 - 1));
  });

  test(`a DOCX of ${paragraphs} paragraphs, with a table of ${tableRows} rows`, TEST, async () => {
    const rows = numbered(tableRows).map((row) => [`item ${row}`, `${row * 3}`, `remark on ${row}`]);
    const body =
      numbered(paragraphs)
        .map((index) => docxParagraph(sentence(index)))
        .join('') + docxTable([['Item', 'Price', 'Remark'], ...rows]);
    const text = await readText(reader, makeZip(docxParts(body)), { filename: 'novel.docx' });
    assertHolds(text, sentence(0), sentence(paragraphs - 1), `remark on ${tableRows - 1}`);
  });

  test(`an XLSX of ${2 * sheetRows} rows on two sheets`, TEST, async () => {
    const cell = (value: string | number, at: string) =>
      typeof value === 'number'
        ? `<c r="${at}"><v>${value}</v></c>`
        : `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`;
    const row = (cells: readonly (string | number)[], number: number) =>
      `<row r="${number}">${cells.map((value, column) => cell(value, `${'ABC'.charAt(column)}${number}`)).join('')}</row>`;
    const sheet = (from: number) =>
      row(['Name', 'Amount', 'City'], 1) +
      numbered(sheetRows)
        .map((index) => row([`customer ${from + index}`, index / 4, 'Oslo'], index + 2))
        .join('');
    const archive = makeZip(xlsxParts({ First: sheet(0), Second: sheet(sheetRows) }));
    const text = await readText(reader, archive, { filename: 'customers.xlsx' });
    assertHolds(
      text,
      'customer 0',
      `customer ${sheetRows - 1}`,
      `customer ${2 * sheetRows - 1}`,
      `${(sheetRows - 1) / 4}`,
    );
  });

  test(`a PPTX of ${slideCount} slides with notes`, TEST, async () => {
    const slides = numbered(slideCount).map((index) => ({
      title: `Slide ${index}`,
      paragraphs: numbered(8).map((line) => sentence(index * 8 + line)),
      notes: `Say this on slide ${index}`,
    }));
    const text = await readText(reader, makeZip(pptxParts(slides)), { filename: 'talk.pptx' });
    assertHolds(
      text,
      'Slide 0',
      `Slide ${slideCount - 1}`,
      sentence(slideCount * 8 - 1),
      `Say this on slide ${slideCount - 1}`,
    );
  });
}
