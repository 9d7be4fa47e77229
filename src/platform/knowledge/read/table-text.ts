/** Rows of a table as text that can be found: each value with the name of its column. */

export type Cell = string | null | undefined;

/**
 * One record: a line `header: value` for each cell that has a value, and a blank line after them. A cell without a name
 * above it is named by its place.
 */
export function writeRecord(headers: readonly string[], row: readonly Cell[]): string {
  let text = '';
  for (const [index, cell] of row.entries()) {
    const value = cell?.trim() ?? '';
    if (value !== '') text += `${headers[index] || `column ${index + 1}`}: ${value}\n`;
  }
  return text === '' ? '' : `${text}\n`;
}

/** One line of a table that has no header row. */
export function writeLine(row: readonly Cell[]): string {
  const values = row.map((cell) => cell?.trim() ?? '').filter((cell) => cell !== '');
  return values.length === 0 ? '' : `${values.join(' | ')}\n`;
}

/** Names of columns: one line each, trimmed. */
export function readHeaders(row: readonly Cell[]): string[] {
  return row.map((cell) => (cell ?? '').replaceAll(/\s+/g, ' ').trim());
}
