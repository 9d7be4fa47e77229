/** The text layer of a PDF, page by page, by PDF.js. Pictures of text have none, and no recognition is attempted. */
import { getDocumentProxy } from 'unpdf';
import { DocumentError } from './document.ts';

/** Viewers look for the end mark in the last kilobyte. */
const END_WITHIN_BYTES = 1024;
/** PDF.js reports by console what it repairs. */
const ERRORS_ONLY = 0;

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

/** Throws `invalid_file` when it is cut off, damaged or needs a password, `no_text_layer` when no page has any text. */
export async function* readPdf(file: Buffer): AsyncGenerator<string> {
  // A part of a PDF can often be opened, and half a document would be taken for the whole.
  if (!file.includes('%%EOF', Math.max(0, endOf(file) - END_WITHIN_BYTES))) {
    throw new DocumentError('invalid_file', 'The PDF is incomplete: its end is missing. Send it again.');
  }
  const pdf = await open(file);
  try {
    let found = false;
    for (let number = 1; number <= pdf.numPages; number++) {
      const text = await readPage(pdf, number);
      found ||= text.trim() !== '';
      yield text;
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

async function readPage(pdf: Pdf, number: number): Promise<string> {
  try {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    page.cleanup();
    let text = '';
    for (const item of items) if ('str' in item) text += item.hasEOL ? `${item.str}\n` : item.str;
    return `${text.trim()}\n\n`;
  } catch (error) {
    throw damaged(error, number);
  }
}

function damaged(cause: unknown, page?: number): DocumentError {
  const where = page === undefined ? '' : ` (page ${page})`;
  return new DocumentError(
    'invalid_file',
    `The PDF is damaged: it cannot be opened${where}. Save it anew and send it.`,
    { cause },
  );
}
