/** What a file is, by its beginning first and its name second: clients send wrong media types, or none. */
import { DocumentError } from './document.ts';

export type DocumentFormat = 'text' | 'csv' | 'html' | 'pdf' | 'office' | 'compound';

interface Signature {
  readonly bytes: string;
  readonly offset?: number;
  readonly kind: string;
}

/** Bytes as latin1. What is not here has NUL bytes near its start, and is told by these. */
const SIGNATURES: readonly Signature[] = [
  { bytes: '\x89PNG\r\n', kind: 'an image' },
  { bytes: '\xff\xd8\xff', kind: 'an image' },
  { bytes: 'GIF8', kind: 'an image' },
  { bytes: 'WEBP', offset: 8, kind: 'an image' },
  { bytes: 'II*\0', kind: 'an image' },
  { bytes: 'MM\0*', kind: 'an image' },
  { bytes: '8BPS\0', kind: 'an image' },
  { bytes: 'ftypheic', offset: 4, kind: 'an image' },
  { bytes: 'ftypavif', offset: 4, kind: 'an image' },
  { bytes: 'ftypM4A', offset: 4, kind: 'an audio file' },
  { bytes: 'ftyp', offset: 4, kind: 'a video' },
  { bytes: '\x1aE\xdf\xa3', kind: 'a video' },
  { bytes: 'AVI ', offset: 8, kind: 'a video' },
  { bytes: 'WAVE', offset: 8, kind: 'an audio file' },
  { bytes: 'ID3', kind: 'an audio file' },
  { bytes: 'OggS', kind: 'an audio file' },
  { bytes: 'fLaC', kind: 'an audio file' },
  { bytes: '\xff\xfb', kind: 'an audio file' },
  { bytes: '\x1f\x8b', kind: 'an archive' },
  { bytes: 'PK\x05\x06', kind: 'an archive' },
  { bytes: '7z\xbc\xaf\x27\x1c', kind: 'an archive' },
  { bytes: 'Rar!\x1a\x07', kind: 'an archive' },
  { bytes: '\x28\xb5\x2f\xfd', kind: 'an archive' },
  { bytes: '\xfd7zXZ\0', kind: 'an archive' },
  { bytes: 'BZh91AY', kind: 'an archive' },
  { bytes: 'ustar', offset: 257, kind: 'an archive' },
  { bytes: '\x7fELF', kind: 'a program' },
  { bytes: 'MZ\x90\0', kind: 'a program' },
  { bytes: '\0asm', kind: 'a program' },
  { bytes: 'SQLite format 3\0', kind: 'a database' },
  { bytes: '{\\rtf', kind: 'a rich text file (RTF)' },
  { bytes: '%!PS', kind: 'a PostScript file' },
];

export const SUPPORTED = 'Send text, Markdown, HTML, PDF, DOCX, PPTX, XLSX, CSV, JSON or code.';

/** The formats that a name or media type stands for, where it stands for one that is read here. */
const CLAIMS: Readonly<Record<string, DocumentFormat>> = {
  pdf: 'pdf',
  'application/pdf': 'pdf',
  docx: 'office',
  pptx: 'office',
  xlsx: 'office',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'office',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'office',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'office',
  csv: 'csv',
  tsv: 'csv',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  txt: 'text',
  md: 'text',
  json: 'text',
  'application/json': 'text',
};

/** Comments and an XML declaration may come first. */
const HTML_WITHIN_BYTES = 2048;
const HTML_START = /<(?:!doctype html|html)[\s>]/i;
/** The specification's own allowance for what comes before a PDF's header. */
const PDF_HEADER_WITHIN_BYTES = 1024;
/** Share of control characters above which no text is text. */
const CONTROL_SHARE_MAX = 0.02;

/**
 * Throws `invalid_file` for an empty file and for one that is damaged or not what its name promises, `unsupported_file`
 * for formats without text. `head` is the beginning of the file.
 */
export function detectFormat(head: Buffer, filename: string, mediaType: string): DocumentFormat {
  if (head.length === 0) throw new DocumentError('invalid_file', 'The file is empty. Send a file that has text.');
  const claimed = claimedFormat(filename, mediaType);
  const start = head.toString('latin1', 0, PDF_HEADER_WITHIN_BYTES);
  if (start.startsWith('%PDF-') || (claimed === 'pdf' && start.includes('%PDF-'))) return 'pdf';
  if (start.startsWith('PK\x03\x04')) return 'office';
  if (start.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')) return 'compound';
  const known = SIGNATURES.find(({ bytes, offset = 0 }) => start.startsWith(bytes, offset));
  if (known !== undefined) {
    throw new DocumentError('unsupported_file', `The file is ${known.kind}: it has no text to read. ${SUPPORTED}`);
  }
  if (!hasUtf16Mark(head) && !declaresUtf16(mediaType) && looksBinary(head)) {
    if (claimed === undefined) {
      throw new DocumentError('unsupported_file', `The file is binary, of no format that can be read. ${SUPPORTED}`);
    }
    throw new DocumentError(
      'invalid_file',
      'The file is not of the format that its name or media type says: it holds NUL bytes or other binary data. ' +
        'It may be damaged. Send it again; text should be in UTF-8.',
    );
  }
  if (claimed === 'csv' || claimed === 'html' || claimed === 'text') return claimed;
  const text = head.toString('utf8', 0, HTML_WITHIN_BYTES).trimStart();
  return text.startsWith('<') && HTML_START.test(text) ? 'html' : 'text';
}

/** What the name or the media type says that the file is; undefined where they say nothing of use. */
export function claimedFormat(filename: string, mediaType: string): DocumentFormat | undefined {
  const extension = /\.([^.]+)$/.exec(filename)?.[1]?.toLowerCase() ?? '';
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const byName = Object.hasOwn(CLAIMS, extension) ? CLAIMS[extension] : undefined;
  const byType = Object.hasOwn(CLAIMS, type) ? CLAIMS[type] : type.startsWith('text/') ? 'text' : undefined;
  // "text/plain" is what senders say of anything; a name says more.
  return byType === undefined || byType === 'text' ? (byName ?? byType) : byType;
}

function hasUtf16Mark(head: Buffer): boolean {
  const mark = head.length < 2 ? 0 : head.readUInt16BE(0);
  return mark === 0xfeff || mark === 0xfffe;
}

function declaresUtf16(mediaType: string): boolean {
  return /charset\s*=\s*"?utf-?16/i.test(mediaType);
}

function looksBinary(head: Buffer): boolean {
  let controls = 0;
  for (const byte of head) {
    if (byte === 0) return true;
    // Tab, line breaks, form feed, backspace and the escape of terminal colours occur in text.
    if (byte < 0x20 && !(byte >= 0x08 && byte <= 0x0d) && byte !== 0x1b) controls++;
  }
  return controls > head.length * CONTROL_SHARE_MAX;
}
