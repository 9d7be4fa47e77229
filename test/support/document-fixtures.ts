/** Small documents of every format, made for the tests. */
import assert from 'node:assert/strict';
import { crc32, deflateRawSync } from 'node:zlib';
import {
  type Chunking,
  type DocumentChunk,
  DocumentError,
  type DocumentErrorCode,
} from '../../src/platform/knowledge/read/document.ts';
import type { DocumentReader } from '../../src/platform/knowledge/read/document-reader.ts';
import { writeStoredZip } from '../../src/platform/knowledge/read/stored-zip.ts';

export interface Sent {
  readonly filename?: string;
  readonly mediaType?: string;
  readonly chunking?: Chunking;
  readonly signal?: AbortSignal;
  readonly project?: string;
}

const CHUNKING: Chunking = { chunkTokens: 800, overlapTokens: 0 };

export async function readAll(
  reader: DocumentReader,
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
  {
    filename = 'file',
    mediaType = '',
    chunking = CHUNKING,
    signal = new AbortController().signal,
    project = 'proj',
  }: Sent = {},
): Promise<DocumentChunk[]> {
  const bytes = typeof content === 'string' || content instanceof Uint8Array ? inPieces(Buffer.from(content)) : content;
  const chunks: DocumentChunk[] = [];
  for await (const batch of reader.chunks(project, { bytes, filename, mediaType }, chunking, signal))
    chunks.push(...batch);
  return chunks;
}

/** The text of a document whose chunks do not overlap. */
export async function readText(
  reader: DocumentReader,
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
  sent: Sent = {},
): Promise<string> {
  const chunks = await readAll(reader, content, sent);
  return chunks.map(({ text }) => text).join('');
}

export async function assertRefused(
  reading: Promise<unknown>,
  code: DocumentErrorCode,
  message: RegExp = /./,
): Promise<void> {
  await assert.rejects(reading, (error) => {
    assert.ok(error instanceof DocumentError, `a DocumentError, not ${String(error)}`);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });
}

export async function* inPieces(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** A PDF with one line of text for each item of a page; a page of none has no text. */
export function makePdf(pages: readonly (readonly string[])[], trailer = ''): Buffer {
  const kids = pages.map((_, index) => `${4 + 2 * index} 0 R`).join(' ');
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
  ];
  for (const lines of pages) {
    const shown = lines.map((line) => `(${line.replaceAll(/[()\\]/g, '\\$&')}) Tj T*`).join('\n');
    const content = `BT /F1 12 Tf 14 TL 72 720 Td\n${shown}\nET`;
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${objects.length + 2} 0 R >>`,
      `<< /Length ${Buffer.byteLength(content, 'latin1')} >>\nstream\n${content}\nendstream`,
    );
  }
  return assemblePdf(
    objects.map((object) => Buffer.from(object, 'latin1')),
    trailer,
  );
}

/** A page whose content unpacks to `bytes` blanks. */
export function makePdfBomb(bytes: number): Buffer {
  const packed = deflateRawSync(Buffer.alloc(bytes, ' '), { level: 9 });
  const zlib = Buffer.concat([Buffer.from([0x78, 0xda]), packed, Buffer.alloc(4)]);
  return assemblePdf([
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from('<< /Type /Pages /Kids [3 0 R] /Count 1 >>'),
    Buffer.from('<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << >> /Contents 4 0 R >>'),
    Buffer.concat([
      Buffer.from(`<< /Length ${zlib.length} /Filter /FlateDecode >>\nstream\n`),
      zlib,
      Buffer.from('\nendstream'),
    ]),
  ]);
}

/** A page in a font whose codes mean what this range of a character map says (PDF 32000-1, 9.10.3). */
export function makePdfOfRange(range: string): Buffer {
  const map = `/CIDInit /ProcSet findresource begin 12 dict begin begincmap
1 begincodespacerange <00000000> <ffffffff> endcodespacerange
1 beginbfrange ${range} endbfrange
endcmap`;
  const content = 'BT /F1 12 Tf 72 720 Td (Hello) Tj ET';
  const stream = (text: string) => `<< /Length ${text.length} >>\nstream\n${text}\nendstream`;
  return assemblePdf(
    [
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 4 0 R >> >> /Contents 5 0 R >>',
      '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>',
      stream(content),
      stream(map),
    ].map((object) => Buffer.from(object, 'latin1')),
  );
}

function assemblePdf(objects: readonly Buffer[], trailer = ''): Buffer {
  const blocks = [Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n', 'latin1')];
  const offsets: number[] = [];
  let offset = blocks[0]?.length ?? 0;
  for (const [index, object] of objects.entries()) {
    const block = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')]);
    offsets.push(offset);
    offset += block.length;
    blocks.push(block);
  }
  const entries = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
  blocks.push(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${entries}` +
        `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${offset}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(blocks);
}

/** What a PDF says that was encrypted with a password to open it (PDF 32000-1, 7.6.3). */
export const PDF_ENCRYPTION = `/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -3904 /O <${'5a'.repeat(32)}> /U <${'a5'.repeat(32)}> >> /ID [<${'01'.repeat(16)}> <${'01'.repeat(16)}>]`;

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';

export type Parts = Record<string, string | Uint8Array>;

export function makeZip(parts: Parts): Buffer {
  return writeStoredZip(Object.entries(parts).map(([name, content]) => [name, Buffer.from(content)] as const));
}

export function docxParts(body: string): Parts {
  return {
    '[Content_Types].xml': contentTypes(
      '/word/document.xml',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml',
    ),
    '_rels/.rels': relationships([['rId1', 'officeDocument', 'word/document.xml']]),
    'word/document.xml': `${XML}<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="${OFFICE}" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture" xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"><w:body>${body}</w:body></w:document>`,
  };
}

export function docxParagraph(text: string): string {
  return `<w:p><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
}

export function docxTable(rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[]): string => row.map((cell) => `<w:tc>${docxParagraph(cell)}</w:tc>`).join('');
  return `<w:tbl>${rows.map((row) => `<w:tr>${cells(row)}</w:tr>`).join('')}</w:tbl>`;
}

export interface Slide {
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly table?: readonly (readonly string[])[];
  readonly notes?: string;
}

const DRAWING = `xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="${OFFICE}"`;

/** The slides lie in the package in reverse, so that only the presentation's own list has their order. */
export function pptxParts(slides: readonly Slide[]): Parts {
  const file = (index: number): string => `slide${slides.length - index}.xml`;
  const ids = slides.map((_, index) => `<p:sldId id="${256 + index}" r:id="rId${index + 1}"/>`).join('');
  const parts: Parts = {
    '[Content_Types].xml': contentTypes(
      '/ppt/presentation.xml',
      'application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml',
    ),
    '_rels/.rels': relationships([['rId1', 'officeDocument', 'ppt/presentation.xml']]),
    'ppt/presentation.xml': `${XML}<p:presentation ${DRAWING}><p:sldIdLst>${ids}</p:sldIdLst></p:presentation>`,
    'ppt/_rels/presentation.xml.rels': relationships(
      slides.map((_, index) => [`rId${index + 1}`, 'slide', `slides/${file(index)}`] as const),
    ),
  };
  for (const [index, { title, paragraphs, table, notes }] of slides.entries()) {
    const rows = (table ?? []).map(
      (row) =>
        `<a:tr>${row.map((cell) => `<a:tc><a:txBody>${slideParagraph(cell)}</a:txBody></a:tc>`).join('')}</a:tr>`,
    );
    const frame = table
      ? `<p:graphicFrame><a:graphic><a:graphicData><a:tbl>${rows.join('')}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`
      : '';
    const shapes = shape('title', [title]) + shape('', paragraphs) + shape('sldNum', [`${index + 1}`]) + frame;
    parts[`ppt/slides/${file(index)}`] =
      `${XML}<p:sld ${DRAWING}><p:cSld><p:spTree>${shapes}</p:spTree></p:cSld></p:sld>`;
    if (notes === undefined) continue;
    parts[`ppt/slides/_rels/${file(index)}.rels`] = relationships([
      ['rId1', 'notesSlide', `../notesSlides/n${index}.xml`],
    ]);
    parts[`ppt/notesSlides/n${index}.xml`] =
      `${XML}<p:notes ${DRAWING}><p:cSld><p:spTree>${shape('body', [notes])}</p:spTree></p:cSld></p:notes>`;
  }
  return parts;
}

function shape(placeholder: string, paragraphs: readonly string[]): string {
  const type = placeholder === '' ? '' : `<p:nvPr><p:ph type="${placeholder}"/></p:nvPr>`;
  return `<p:sp><p:nvSpPr>${type}</p:nvSpPr><p:txBody>${paragraphs.map(slideParagraph).join('')}</p:txBody></p:sp>`;
}

function slideParagraph(text: string): string {
  return `<a:p><a:r><a:t>${text}</a:t></a:r></a:p>`;
}

/** Sheets by name; the XML of their rows. */
export function xlsxParts(sheets: Readonly<Record<string, string>>): Parts {
  const names = Object.keys(sheets);
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const list = names
    .map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`)
    .join('');
  const parts: Parts = {
    '[Content_Types].xml': contentTypes(
      '/xl/workbook.xml',
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml',
    ),
    '_rels/.rels': relationships([['rId1', 'officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': `${XML}<workbook xmlns="${main}" xmlns:r="${OFFICE}"><sheets>${list}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships([
      ...names.map((_, index) => [`rId${index + 1}`, 'worksheet', `worksheets/sheet${index + 1}.xml`] as const),
      ['rId900', 'styles', 'styles.xml'],
    ]),
    'xl/styles.xml': `${XML}<styleSheet xmlns="${main}"><cellStyleXfs count="1"><xf numFmtId="0"/></cellStyleXfs><cellXfs count="2"><xf numFmtId="0" xfId="0"/><xf numFmtId="14" xfId="0" applyNumberFormat="1"/></cellXfs></styleSheet>`,
  };
  for (const [index, name] of names.entries()) {
    parts[`xl/worksheets/sheet${index + 1}.xml`] =
      `${XML}<worksheet xmlns="${main}"><sheetData>${sheets[name]}</sheetData></worksheet>`;
  }
  return parts;
}

function contentTypes(part: string, type: string): string {
  return `${XML}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="${part}" ContentType="${type}"/></Types>`;
}

function relationships(relations: readonly (readonly [id: string, type: string, target: string])[]): string {
  const list = relations.map(
    ([id, type, target]) => `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`,
  );
  return `${XML}<Relationships xmlns="${PACKAGE}/relationships">${list.join('')}</Relationships>`;
}

/** An archive whose only deflated part is `name`, and which may lie about its size. */
export function makeDeflatedZip(name: string, content: Uint8Array, claimedBytes = content.length): Buffer {
  const packed = deflateRawSync(content, { level: 9 });
  const zip = makeZip({ [name]: packed });
  const central = zip.indexOf('PK\x01\x02');
  for (const [header, at] of [
    [0, 8],
    [central, 10],
  ] as const) {
    zip.writeUInt16LE(8, header + at);
    zip.writeUInt32LE(crc32(content), header + at + 6);
    zip.writeUInt32LE(claimedBytes, header + at + 14);
  }
  return zip;
}
