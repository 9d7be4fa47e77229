/** Mail, fonts, files of two formats at once, and names that promise something else. */
import { makePdf, makeZip, pptxParts } from '../../support/document-fixtures.ts';
import type { DocumentAnswer, DocumentCase } from '../cases.ts';
import { trueTypeFont, webFont } from './build-font.ts';
import { docx, SENTENCE, xlsx } from './office.ts';

const EITHER: readonly DocumentAnswer[] = ['completed', 'invalid_file'];

function file(
  name: string,
  filename: string,
  bytes: () => Uint8Array | string,
  answer: DocumentCase['answer'],
  mediaType?: string,
): DocumentCase {
  return {
    name,
    filename,
    bytes: () => Buffer.from(bytes()),
    answer,
    ...(mediaType === undefined ? {} : { mediaType }),
  };
}

function mime(depth: number): string {
  const parts = Array.from(
    { length: depth },
    (_, level) => `Content-Type: multipart/mixed; boundary="b${level}"\r\n\r\n--b${level}\r\n`,
  );
  return `From: a@example.com\r\nSubject: Tea\r\nMIME-Version: 1.0\r\n${parts.join('')}Content-Type: text/plain\r\n\r\nTea is picked in spring.\r\n`;
}

/** The first sector of a compound file (MS-CFB) whose tables lead to themselves. */
function compoundFile(more: string): Buffer {
  const header = Buffer.alloc(4_096, 0xff);
  header.write('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'latin1');
  header.fill(0, 8, 76);
  header.writeUInt32LE(0, 76);
  header.write(more, 1_024, 'utf16le');
  return header;
}

const TEA = Buffer.from('Tea is picked in spring.');
const pdf = (): Buffer => makePdf([['Tea is picked in spring.']]);

export const otherFiles: readonly DocumentCase[] = [
  file('mail: parts in parts, ten thousand deep', 'a.eml', () => mime(10_000), 'completed', 'message/rfc822'),
  file(
    'mail: a header of two megabytes',
    'a.eml',
    () => `Subject: ${'tea '.repeat(500_000)}\r\n\r\nTea\r\n`,
    'completed',
    'message/rfc822',
  ),
  file(
    'mail: a hundred thousand headers',
    'a.eml',
    () => `${'Received: from a by b\r\n'.repeat(100_000)}\r\nTea\r\n`,
    'completed',
    'message/rfc822',
  ),
  file(
    'mail: encoded words that never end',
    'a.eml',
    () => `Subject: ${'=?utf-8?B?'.repeat(50_000)}\r\n\r\nTea\r\n`,
    'completed',
    'message/rfc822',
  ),
  file(
    'mail: a box of fifty thousand messages',
    'a.mbox',
    () => 'From a Thu Jan 1 00:00:00 1970\r\nSubject: t\r\n\r\n>From\r\n'.repeat(50_000),
    'completed',
    'application/mbox',
  ),
  file(
    'mail: a message of Outlook',
    'a.msg',
    () => compoundFile('__substg1.0_0037001F'),
    'unsupported_file',
    'application/vnd.ms-outlook',
  ),
  file('a document of Office before 2007', 'a.doc', () => compoundFile('WordDocument'), 'unsupported_file'),
  file('a document under a password', 'a.docx', () => compoundFile('EncryptedPackage'), 'invalid_file'),
  file('a font: TrueType', 'a.ttf', () => trueTypeFont(12, 0xffffffff), 'unsupported_file', 'font/ttf'),
  file(
    'a font: OpenType',
    'a.otf',
    () => Buffer.concat([Buffer.from('OTTO'), trueTypeFont(65_535, 64).subarray(4)]),
    'unsupported_file',
    'font/otf',
  ),
  file('a font: WOFF', 'a.woff', () => webFont('wOFF'), 'unsupported_file', 'font/woff'),
  file('a font: WOFF2', 'a.woff2', () => webFont('wOF2'), 'unsupported_file', 'font/woff2'),
  file('a font that says it is a PDF', 'a.pdf', () => trueTypeFont(12, 64), 'invalid_file'),
  file('a PDF that is an archive too', 'a.pdf', () => Buffer.concat([pdf(), docx(SENTENCE)]), EITHER),
  file('an archive that is a PDF too', 'a.docx', () => Buffer.concat([docx(SENTENCE), pdf()]), EITHER),
  file('a picture that is a script too', 'a.gif', () => 'GIF89a/*tea*/=1;alert(1)', 'unsupported_file', 'image/gif'),
  file('a picture that says it is a document', 'a.docx', () => Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'), [
    'invalid_file',
    'unsupported_file',
  ]),
  file('a document that says it is a PDF', 'a.pdf', () => docx(SENTENCE), EITHER, 'application/pdf'),
  file(
    'a workbook that says it is text',
    'a.txt',
    () => xlsx('<row><c r="A1"><v>1</v></c></row>'),
    EITHER,
    'text/plain',
  ),
  file(
    'a presentation that says it is a workbook',
    'a.xlsx',
    () => makeZip(pptxParts([{ title: 'a', paragraphs: ['b'] }])),
    'completed',
  ),
  file('a PDF that says it is text', 'a.txt', pdf, 'completed', 'text/plain'),
  file('a page that says it is CSV', 'a.csv', () => '<!doctype html><p>tea, "tea', EITHER, 'text/csv'),
  file('text that says it is a PDF', 'a.pdf', () => TEA, EITHER, 'application/pdf'),
  file('text that says it is a document', 'a.docx', () => TEA, EITHER),
  file(
    'a program that says it is text',
    'a.txt',
    () => Buffer.from('\x7fELF\x02\x01\x01\0', 'latin1'),
    'unsupported_file',
  ),
  file(
    'a compressed file that says it is a PDF',
    'a.pdf',
    () => Buffer.from('\x1f\x8b\x08\0', 'latin1'),
    'unsupported_file',
  ),
  file(
    'a PDF that begins after a kilobyte of noise',
    'a.pdf',
    () => Buffer.concat([Buffer.alloc(1_000, 'x'), pdf()]),
    EITHER,
  ),
  file(
    'a tape archive',
    'a.tar',
    () => Buffer.concat([Buffer.alloc(257, 'a'), Buffer.from('ustar\0'), Buffer.alloc(512)]),
    'unsupported_file',
  ),
  file('a name above the folder', '../../../../etc/passwd.txt', () => TEA, 'completed'),
  file('a name of a prototype', '__proto__', () => TEA, 'completed'),
  file('an extension of a prototype', 'a.constructor', () => TEA, 'completed'),
  file('a name of marks that turn it around', 'tea\u202etxt.exe', () => TEA, 'completed'),
  file('a charset that is none', 'a.txt', () => TEA, 'completed', 'text/plain; charset=constructor'),
  file('UTF-16 by its media type, and not by its bytes', 'a.txt', () => TEA, EITHER, 'text/plain; charset=utf-16'),
];
