/** DOCX by mammoth, XLSX by read-excel-file, PPTX here: each from XML that has been unpacked and measured. */
import mammoth from 'mammoth';
import readXlsxFile, { type CellValue } from 'read-excel-file/universal';
import { checkCells } from './check-cells.ts';
import { DocumentError } from './document.ts';
import type { OfficePackage } from './open-office-package.ts';
import { readHtml } from './read-html.ts';
import { readSlides } from './read-slides.ts';
import { writeStoredZip } from './stored-zip.ts';
import { readHeaders, writeLine, writeRecord } from './table-text.ts';

/** Throws `invalid_file` for a package whose XML the parser refuses. */
export async function* readOffice({ kind, parts }: OfficePackage): AsyncGenerator<string> {
  try {
    if (kind === 'pptx') yield* readSlides(parts);
    else if (kind === 'docx') yield await readDocx(parts);
    else yield* readWorkbook(parts);
  } catch (error) {
    if (error instanceof DocumentError) throw error;
    const detail = error instanceof Error ? ` (${error.message.slice(0, 200)})` : '';
    throw new DocumentError(
      'invalid_file',
      `The ${kind.toUpperCase()} is damaged${detail}. Save it anew and send it.`,
      {
        cause: error,
      },
    );
  }
}

async function readDocx(parts: ReadonlyMap<string, Buffer>): Promise<string> {
  const { value } = await mammoth.convertToHtml(
    { buffer: writeStoredZip(parts) },
    // Pictures were left out of the package; what stands for one is nothing.
    { convertImage: mammoth.images.imgElement(() => Promise.resolve({ src: '' })) },
  );
  // Word seldom marks a header row, yet every table of a document is one of data.
  return readHtml(value.replaceAll('<table>', '<table data-rows>'));
}

/** Sheets by name. A first row of nothing but text names the columns. */
async function* readWorkbook(parts: ReadonlyMap<string, Buffer>): AsyncGenerator<string> {
  checkCells(parts);
  const archive = writeStoredZip(parts);
  for (const { sheet, data } of await readXlsxFile(new Uint8Array(archive).buffer, { trim: false })) {
    yield `${sheet}\n\n`;
    const rows = data.filter((row) => row.some((cell) => cell !== null));
    const first = rows.shift();
    if (first === undefined) continue;
    const headers = readHeaders(first.map(writeCell));
    const named = first.every((cell) => cell === null || typeof cell === 'string');
    yield `${writeLine(headers)}\n`;
    for (const row of rows) yield named ? writeRecord(headers, row.map(writeCell)) : writeLine(row.map(writeCell));
    yield '\n';
  }
}

function writeCell(value: CellValue | Date | null): string | null {
  if (value === null) return null;
  if (value instanceof Date)
    return value
      .toISOString()
      .replace(/T00:00:00\.000Z$/, '')
      .replace(/\.000Z$/, 'Z');
  return String(value);
}
