/** HTML as a reader sees it: no scripts, no styles, links by their text, pictures by their description. */
import { type FormatCallback, type HtmlToTextOptions, htmlToText } from 'html-to-text';
import { DocumentError } from './document.ts';
import { readHeaders, writeLine, writeRecord } from './table-text.ts';

type Element = Parameters<FormatCallback>[0];

/** Browsers stop at 512. What is quoted in quotes is copied once for each. */
export const HTML_DEPTH_MAX = 512;
/** Stands for what lies deeper: a character that no text has. */
const TOO_DEEP = '\u{10ffff}';

/** Throws `invalid_file` for what is nested too deeply, or cannot be converted. */
export function readHtml(html: string): string {
  let text: string;
  try {
    text = htmlToText(html.replaceAll(TOO_DEEP, ''), options);
  } catch (error) {
    if (error instanceof RangeError) throw nestedTooDeeply(error);
    throw new DocumentError('invalid_file', 'The HTML is damaged: it cannot be read. Simplify it.', { cause: error });
  }
  if (text.includes(TOO_DEEP)) throw nestedTooDeeply();
  return text;
}

function nestedTooDeeply(cause?: RangeError): DocumentError {
  return new DocumentError(
    'invalid_file',
    `The HTML is nested too deeply to be read (more than ${HTML_DEPTH_MAX} elements). Simplify it.`,
    { cause },
  );
}

/** Tables of data have header cells; the others lay a page out, and are read through as if they were not there. */
const formatTable: FormatCallback = (table, walk, builder, format) => {
  const rows = findRows(table);
  const leadingLineBreaks = format.leadingLineBreaks ?? 2;
  const trailingLineBreaks = format.trailingLineBreaks ?? 2;
  if (!rows.some(({ cells }) => cells.some(({ name }) => name === 'th')) && table.attribs['data-rows'] === undefined) {
    builder.openBlock({ leadingLineBreaks });
    walk(table.children, builder);
    builder.closeBlock({ trailingLineBreaks });
    return;
  }
  builder.openTable();
  for (const { cells } of rows) {
    builder.openTableRow();
    for (const cell of cells) {
      builder.openTableCell();
      walk(cell.children, builder);
      builder.closeTableCell();
    }
    builder.closeTableRow();
  }
  builder.closeTable({
    tableToString: (printed) =>
      writeTable(
        printed.map((row) => row.map((cell) => cell.text)),
        rows,
      ),
    leadingLineBreaks,
    trailingLineBreaks,
  });
};

interface TableRow {
  readonly cells: readonly Element[];
}

function findRows(parent: Element): TableRow[] {
  return parent.children.flatMap((child): TableRow[] => {
    if (child.type !== 'tag') return [];
    if (child.name === 'tr') return [{ cells: child.children.filter(({ name }) => name === 'th' || name === 'td') }];
    return ['thead', 'tbody', 'tfoot'].includes(child.name ?? '') ? findRows(child) : [];
  });
}

/** A first row of header cells alone names the columns; header cells elsewhere lead their row. */
function writeTable(printed: readonly (readonly string[])[], rows: readonly TableRow[]): string {
  const [first, ...rest] = printed;
  if (first === undefined) return '';
  const named = rows[0]?.cells.every(({ name }) => name === 'th') === true && rest.length > 0;
  if (!named) return printed.map(writeLine).join('').trimEnd();
  const headers = readHeaders(first);
  return rest
    .map((row) => writeRecord(headers, row))
    .join('')
    .trimEnd();
}

const formatAlternative: FormatCallback = (image, _walk, builder) => {
  const text = image.attribs.alt?.trim();
  if (text) builder.addInline(text);
};

const options: HtmlToTextOptions = {
  wordwrap: false,
  baseElements: { selectors: ['head > title', 'body'], orderBy: 'selectors', returnDomByDefault: true },
  // The default drops what comes after 16 million characters without a word; the size of files is limited elsewhere.
  limits: { maxInputLength: Number.MAX_SAFE_INTEGER, maxDepth: HTML_DEPTH_MAX, ellipsis: TOO_DEEP },
  formatters: { dataTable: formatTable, alternative: formatAlternative },
  selectors: [
    { selector: 'head > title', format: 'block', options: { trailingLineBreaks: 2 } },
    ...['script', 'style', 'template', 'noscript', 'svg', 'iframe', 'object', 'canvas'].map((selector) => ({
      selector,
      format: 'skip',
    })),
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
    { selector: 'a', options: { ignoreHref: true } },
    { selector: 'img', format: 'alternative' },
    { selector: 'table', format: 'dataTable' },
  ],
};
