/** CSV and its kin, row by row: separated by comma, semicolon, tab or bar, the first row naming the columns. */
import { CsvError, parse } from 'csv-parse';
import { DocumentError } from './document.ts';
import { readHeaders, writeRecord } from './table-text.ts';

const DELIMITERS = [',', ';', '\t', '|'] as const;
/** A row without an end is one with an unclosed quote. */
const ROW_CHARACTERS_MAX = 4_194_304;

/** Throws `invalid_file` with the line where the rows cannot be told apart. */
export async function* readCsv(text: AsyncGenerator<string>): AsyncGenerator<string> {
  let headers: readonly string[] | undefined;
  try {
    for await (const row of readRows(text)) {
      if (headers === undefined) {
        headers = readHeaders(row);
        // A file of one row has nothing but its header.
        yield `${headers.join(', ')}\n\n`;
      } else yield writeRecord(headers, row);
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new DocumentError(
      'invalid_file',
      `The rows of the CSV cannot be told apart: ${error.message}. Correct it there.`,
      { cause: error },
    );
  }
}

/** Written to and read from by turns: a pipe would take more text while the rows before it are still being consumed. */
async function* readRows(text: AsyncGenerator<string>): AsyncGenerator<string[]> {
  const first = await readFirstLine(text);
  const parser = parse({
    delimiter: chooseDelimiter(first),
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: ROW_CHARACTERS_MAX,
  });
  // It is thrown below, where it is met.
  parser.on('error', () => undefined);
  for await (const part of concat(first, text)) {
    parser.write(part);
    for (let row = parser.read(); row !== null; row = parser.read()) yield asRow(row);
    if (parser.errored) throw parser.errored;
  }
  parser.end();
  for await (const row of parser) yield asRow(row);
}

async function readFirstLine(text: AsyncGenerator<string>): Promise<string> {
  let first = '';
  while (!first.includes('\n') && first.length < ROW_CHARACTERS_MAX) {
    const { value, done } = await text.next();
    if (done) break;
    first += value;
  }
  return first;
}

async function* concat(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  if (first !== '') yield first;
  yield* rest;
}

/** The one that the first line has most of, outside of quotes. */
function chooseDelimiter(start: string): string {
  const line = (start.split('\n', 1)[0] ?? '').replaceAll(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

function asRow(row: unknown): string[] {
  if (Array.isArray(row) && row.every((cell) => typeof cell === 'string')) return row;
  throw new TypeError('the parser was asked for rows of strings');
}
