/**
 * The places that the rows and cells of a sheet claim, looked at before the sheet is read: the reader makes room for
 * everything up to them (ECMA-376 part 1, 18.3.1.4 and 18.3.1.73; the size of a sheet is Excel's).
 */
import { DocumentError } from './document.ts';

const ROWS_MAX = 1_048_576;
const COLUMNS_MAX = 16_384;
const LAST_CELL = 'XFD1048576';
const SHEET = /^xl\/worksheets\/[^/]+\.xml$/i;
/** Attributes before the place are few and short; without a bound a start tag that never ends would cost the square of its length. */
const PLACE = /<(?:\w{1,20}:)?(?:c|row)\s[^<>]{0,300}?\br\s*=\s*["']([A-Za-z]*)(\d*)["']/g;
const BLOCK_BYTES = 1_048_576;
/** A start tag that two blocks share is whole in one of them. */
const OVERLAP_BYTES = 512;

/** Throws `invalid_file` for a place past the last row or column that a sheet can have. */
export function checkCells(parts: ReadonlyMap<string, Buffer>): void {
  for (const [name, part] of parts) {
    if (!SHEET.test(name)) continue;
    for (let at = 0; at < part.length; at += BLOCK_BYTES) {
      const block = part.toString('latin1', at, at + BLOCK_BYTES + OVERLAP_BYTES);
      for (const [, letters = '', digits = ''] of block.matchAll(PLACE)) checkPlace(letters, digits);
    }
  }
}

function checkPlace(letters: string, digits: string): void {
  if (Number(digits) <= ROWS_MAX && (letters.length < LETTERS_MAX || readColumn(letters) <= COLUMNS_MAX)) return;
  throw new DocumentError(
    'invalid_file',
    `The XLSX is damaged: it has a cell at ${(letters + digits).slice(0, 40)}, and ${LAST_CELL} is the last that a sheet ` +
      'can have. Save it anew and send it.',
  );
}

const LETTERS_MAX = 3;

function readColumn(letters: string): number {
  let column = 0;
  for (const letter of letters.toUpperCase()) column = column * 26 + letter.charCodeAt(0) - 64;
  return column;
}
