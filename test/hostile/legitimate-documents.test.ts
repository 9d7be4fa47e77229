/** Documents of the size that people have: limits are for others, and nothing of these is lost. */
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
const reader = createDocumentReader();
after(() => reader.close());

const numbered = (count: number) => Array.from({ length: count }, (_, index) => index);
const sentence = (index: number) =>
  `Clause ${index} says that what was agreed in it holds until ${index} of them are met.`;

function assertHolds(text: string, ...parts: readonly string[]): void {
  for (const part of parts) assert.ok(text.includes(part), part);
}

test('a PDF of a thousand pages', TEST, async () => {
  const pages = numbered(1_000).map((page) => numbered(40).map((line) => sentence(page * 40 + line)));
  const text = await readText(reader, makePdf(pages), { filename: 'contract.pdf' });
  assertHolds(text, sentence(0), sentence(20_000), sentence(39_999));
});

test('a DOCX of a long novel, with a table of a thousand rows', TEST, async () => {
  const rows = numbered(1_000).map((row) => [`item ${row}`, `${row * 3}`, `remark on ${row}`]);
  const body =
    numbered(10_000)
      .map((index) => docxParagraph(sentence(index)))
      .join('') + docxTable([['Item', 'Price', 'Remark'], ...rows]);
  const text = await readText(reader, makeZip(docxParts(body)), { filename: 'novel.docx' });
  assertHolds(text, sentence(0), sentence(9_999), 'remark on 999');
});

test('an XLSX of twenty thousand rows on two sheets', TEST, async () => {
  const cell = (value: string | number, at: string) =>
    typeof value === 'number'
      ? `<c r="${at}"><v>${value}</v></c>`
      : `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`;
  const row = (cells: readonly (string | number)[], number: number) =>
    `<row r="${number}">${cells.map((value, column) => cell(value, `${'ABC'.charAt(column)}${number}`)).join('')}</row>`;
  const sheet = (from: number) =>
    row(['Name', 'Amount', 'City'], 1) +
    numbered(10_000)
      .map((index) => row([`customer ${from + index}`, index / 4, 'Oslo'], index + 2))
      .join('');
  const archive = makeZip(xlsxParts({ First: sheet(0), Second: sheet(10_000) }));
  const text = await readText(reader, archive, { filename: 'customers.xlsx' });
  assertHolds(text, 'customer 0', 'customer 9999', 'customer 19999', '2499.75');
});

test('a PPTX of three hundred slides with notes', TEST, async () => {
  const slides = numbered(300).map((index) => ({
    title: `Slide ${index}`,
    paragraphs: numbered(8).map((line) => sentence(index * 8 + line)),
    notes: `Say this on slide ${index}`,
  }));
  const text = await readText(reader, makeZip(pptxParts(slides)), { filename: 'talk.pptx' });
  assertHolds(text, 'Slide 0', 'Slide 299', sentence(2_399), 'Say this on slide 299');
});
