/** PDF files of which every object is given as it lies in the file (ISO 32000-1, 7.5). */
import { deflateSync } from 'node:zlib';

/** The content of one object, from its number's line to `endobj`. */
export type PdfObject = string | Uint8Array;

export interface PdfLies {
  /** Members of the trailer's dictionary beside /Size and /Root. */
  readonly trailer?: string;
  /** Instead of the trailer's /Root. */
  readonly root?: string;
  /** Instead of the table's position. */
  readonly startxref?: number | ((position: number) => number);
  /** Written instead of the table and the trailer. */
  readonly end?: (offsets: readonly number[], position: number) => Buffer;
}

/** The objects are numbered from 1; the first is the catalogue. */
export function buildPdf(objects: readonly PdfObject[], lies: PdfLies = {}): Buffer {
  const blocks: Buffer[] = [Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n', 'latin1')];
  const offsets: number[] = [];
  let offset = blocks[0]?.length ?? 0;
  for (const [index, object] of objects.entries()) {
    const content = typeof object === 'string' ? Buffer.from(object, 'latin1') : object;
    const block = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), content, Buffer.from('\nendobj\n')]);
    offsets.push(offset);
    offset += block.length;
    blocks.push(block);
  }
  return Buffer.concat([...blocks, lies.end?.(offsets, offset) ?? table(offsets, offset, lies)]);
}

function table(offsets: readonly number[], position: number, { trailer = '', root = '1 0 R', startxref }: PdfLies) {
  const entries = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
  const start = typeof startxref === 'function' ? startxref(position) : (startxref ?? position);
  return Buffer.from(
    `xref\n0 ${offsets.length + 1}\n0000000000 65535 f \n${entries}` +
      `trailer\n<< /Size ${offsets.length + 1} /Root ${root} ${trailer} >>\nstartxref\n${start}\n%%EOF\n`,
    'latin1',
  );
}

export function stream(content: string | Uint8Array, dictionary = '', length?: string | number): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'latin1') : content;
  return Buffer.concat([
    Buffer.from(`<< /Length ${length ?? bytes.length} ${dictionary} >>\nstream\n`, 'latin1'),
    bytes,
    Buffer.from('\nendstream'),
  ]);
}

export function flate(content: string | Uint8Array, dictionary = ''): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'latin1') : content;
  return stream(deflateSync(bytes, { level: 9 }), `/Filter /FlateDecode ${dictionary}`);
}

export const CATALOGUE = '<< /Type /Catalog /Pages 2 0 R >>';
export const PAGES = '<< /Type /Pages /Kids [3 0 R] /Count 1 >>';
export const HELVETICA = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>';
export const TEXT = 'BT /F1 12 Tf 72 720 Td (Tea is picked in spring.) Tj ET';

export function page(resources = '/Font << /F1 5 0 R >>', contents = '4 0 R', more = ''): string {
  return `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << ${resources} >> /Contents ${contents} ${more} >>`;
}

/** One page: objects 1 to 3 lead to the content (4) and its font (5); more follow from 6 on. */
export function onePage(content: PdfObject, more: readonly PdfObject[] = [], font: PdfObject = HELVETICA): Buffer {
  return buildPdf([CATALOGUE, PAGES, page(), content, font, ...more]);
}

/** A composite font (5) whose characters become text by this CMap (6). */
export function pdfWithCmap(cmap: string, shown = '<00010002>'): Buffer {
  return onePage(
    stream(`BT /F1 12 Tf 72 720 Td ${shown} Tj ET`),
    [flate(cmapOf(cmap)), DESCENDANT, DESCRIPTOR],
    COMPOSITE,
  );
}

export const COMPOSITE =
  '<< /Type /Font /Subtype /Type0 /BaseFont /Tea /Encoding /Identity-H /DescendantFonts [7 0 R] /ToUnicode 6 0 R >>';
export const DESCENDANT =
  '<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Tea /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor 8 0 R >>';
export const DESCRIPTOR =
  '<< /Type /FontDescriptor /FontName /Tea /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent 200 /CapHeight 800 /StemV 80 >>';

export function cmapOf(body: string): string {
  return `/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Tea def /CMapType 2 def 1 begincodespacerange <0000> <ffff> endcodespacerange ${body} endcmap end end`;
}
