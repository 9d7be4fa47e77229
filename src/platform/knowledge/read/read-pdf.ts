/** The text layer of a PDF, page by page, by PDF.js. Pictures of text have none, and no recognition is attempted. */
import { getDocumentProxy } from 'unpdf';
import { DocumentError } from './document.ts';

/** Viewers look for the end mark in the last kilobyte. */
const END_WITHIN_BYTES = 1024;
/** PDF.js reports by console what it repairs. */
const ERRORS_ONLY = 0;

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;
type Page = Awaited<ReturnType<Pdf['getPage']>>;
type TextContent = Awaited<ReturnType<Page['getTextContent']>>;

/**
 * Throws `invalid_file` when it is cut off, damaged, needs a password or has more than `maxPages`, `no_text_layer` when no
 * page has any text. A page's text comes in pieces, as a page may have any amount of it.
 */
export async function* readPdf(file: Buffer, maxPages: number): AsyncGenerator<string> {
  // A part of a PDF can often be opened, and half a document would be taken for the whole.
  if (!file.includes('%%EOF', Math.max(0, endOf(file) - END_WITHIN_BYTES))) {
    throw new DocumentError('invalid_file', 'The PDF is incomplete: its end is missing. Send it again.');
  }
  const pdf = await open(file);
  try {
    // The way to a page leads past all those before it, so that very many take time with the square of their number.
    if (pdf.numPages > maxPages) {
      throw new DocumentError(
        'invalid_file',
        `The PDF has ${pdf.numPages} pages, and ${maxPages} are the most that are read. Split it up.`,
      );
    }
    let found = false;
    for (let number = 1; number <= pdf.numPages; number++) {
      for await (const text of readPage(pdf, number)) {
        found ||= text.trim() !== '';
        yield text;
      }
    }
    if (!found) {
      throw new DocumentError(
        'no_text_layer',
        'The PDF has no text layer that can be read: most likely its pages are pictures. ' +
          'Run it through text recognition (OCR) first.',
      );
    }
  } finally {
    await pdf.loadingTask.destroy();
  }
}

/** Without the padding of NUL bytes and blanks that some transfers add. */
function endOf(file: Buffer): number {
  return file.findLastIndex((byte) => byte > 0x20) + 1;
}

async function open(file: Buffer): Promise<Pdf> {
  try {
    // PDF.js takes the buffer over: a small file must not take Node's shared pool along.
    const own = file.buffer.byteLength === file.byteLength;
    const data = own ? new Uint8Array(file.buffer) : new Uint8Array(file);
    return await getDocumentProxy(data, { verbosity: ERRORS_ONLY });
  } catch (error) {
    if (error instanceof Error && error.name === 'PasswordException') {
      throw new DocumentError(
        'invalid_file',
        'The PDF is encrypted: it needs a password. Remove it and send the file again.',
      );
    }
    throw damaged(error);
  }
}

/** The text of one page without blanks around it, and an empty line. */
async function* readPage(pdf: Pdf, number: number): AsyncGenerator<string> {
  let begun = false;
  let blanks = '';
  for await (const piece of readItems(pdf, number)) {
    const text: string = begun ? blanks + piece : piece.trimStart();
    const shown: string = text.trimEnd();
    begun ||= shown !== '';
    blanks = text.slice(shown.length);
    if (shown !== '') yield shown;
  }
  yield '\n\n';
}

async function* readItems(pdf: Pdf, number: number): AsyncGenerator<string> {
  try {
    const page = await pdf.getPage(number);
    const stream: ReadableStream<TextContent> = page.streamTextContent();
    const reader = stream.getReader();
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) yield joinItems(part.value);
    } finally {
      // Of a stream that has ended there is nothing to cancel. PDF.js wants a reason.
      await reader.cancel(new Error('the page is read no further'));
    }
    page.cleanup();
  } catch (error) {
    throw damaged(error, number);
  }
}

function joinItems({ items }: TextContent): string {
  let text = '';
  for (const item of items) if ('str' in item) text += item.hasEOL ? `${item.str}\n` : item.str;
  return text;
}

function damaged(cause: unknown, page?: number): DocumentError {
  const where = page === undefined ? '' : ` (page ${page})`;
  return new DocumentError(
    'invalid_file',
    `The PDF is damaged: it cannot be opened${where}. Save it anew and send it.`,
    { cause },
  );
}
