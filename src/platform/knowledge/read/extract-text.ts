/** Each format to its reader, which is loaded when it is wanted: those of Office take longer than all the rest of a child's start. */

import { declaredCharset, decodeText } from './decode-text.ts';
import { claimedFormat, detectFormat, SUPPORTED } from './detect-format.ts';
import { DocumentError } from './document.ts';
import type { DocumentInput } from './document-input.ts';
import type { ReadLimits } from './protocol.ts';

/** Browsers look for a page's meta element here. */
const META_WITHIN_BYTES = 1024;

/** The text of the file, in pieces. Throws DocumentError. */
export async function* extractText(
  input: DocumentInput,
  filename: string,
  mediaType: string,
  limits: ReadLimits,
): AsyncGenerator<string> {
  const head = await input.head();
  switch (detectFormat(head, filename, mediaType)) {
    case 'text':
      yield* decodeText(input.blocks(limits.streamedBytes), declaredCharset(mediaType));
      return;
    case 'csv': {
      const { readCsv } = await import('./read-csv.ts');
      yield* readCsv(decodeText(input.blocks(limits.streamedBytes), declaredCharset(mediaType)));
      return;
    }
    case 'html': {
      const { readHtml } = await import('./read-html.ts');
      const charset = declaredCharset(mediaType) ?? declaredCharset(head.toString('latin1', 0, META_WITHIN_BYTES));
      let html = '';
      for await (const text of decodeText(input.blocks(limits.wholeBytes), charset)) html += text;
      yield readHtml(html);
      return;
    }
    case 'pdf': {
      const { readPdf } = await import('./read-pdf.ts');
      yield* readPdf(await input.whole(limits.wholeBytes), limits.pdfPages);
      return;
    }
    case 'office': {
      const { openOfficePackage } = await import('./open-office-package.ts');
      const { readOffice } = await import('./read-office.ts');
      const promised = claimedFormat(filename, mediaType) === 'office';
      yield* readOffice(await openOfficePackage(await input.whole(limits.wholeBytes), promised));
      return;
    }
    case 'compound':
      throw refuseCompound(await input.whole(limits.wholeBytes));
  }
}

/** Both the formats of Office before 2007 and documents under a password are Microsoft's compound files. */
function refuseCompound(file: Buffer): DocumentError {
  if (file.includes(Buffer.from('EncryptedPackage', 'utf16le'))) {
    return new DocumentError('invalid_file', 'The file is protected by a password. Remove it and send the file again.');
  }
  return new DocumentError(
    'unsupported_file',
    `The file is of a format that Office used before 2007. Save it as DOCX, PPTX or XLSX. ${SUPPORTED}`,
  );
}
