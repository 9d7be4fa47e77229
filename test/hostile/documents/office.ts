/** Office packages with parts of one's own. */
import { docxParagraph, docxParts, type Parts, pptxParts, xlsxParts } from '../../support/document-fixtures.ts';
import { buildZip, type ZipEntry } from './build-zip.ts';

export const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const SHEET = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

export const SENTENCE = docxParagraph('Tea is picked in spring.');

/** Deflated, since much of it repeats. */
export function pack(parts: Parts): Buffer {
  return buildZip(entriesOf(parts));
}

export function entriesOf(parts: Parts): ZipEntry[] {
  return Object.entries(parts).map(([name, content]) => ({ name, content }));
}

export function docx(body: string, more: Parts = {}): Buffer {
  return pack({ ...docxParts(body), ...more });
}

/** A DOCX whose main part is this, from its first byte. */
export function docxOf(document: string | Uint8Array): Buffer {
  return pack({ ...docxParts(''), 'word/document.xml': document });
}

/** Further parts beside the document, found by their relations. */
export function docxWith(body: string, parts: Readonly<Record<string, string>>): Buffer {
  const names = Object.keys(parts);
  const relations = names.map(
    (name, index) => `<Relationship Id="rId${index + 1}" Type="${OFFICE}/${name}" Target="${name}.xml"/>`,
  );
  const files = names.map((name) => [`word/${name}.xml`, `${XML}${parts[name]}`] as const);
  return docx(body, {
    'word/_rels/document.xml.rels': `${XML}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${relations.join('')}</Relationships>`,
    ...Object.fromEntries(files),
  });
}

export function wordPart(root: string, content: string): string {
  return `<w:${root} xmlns:w="${WORD}">${content}</w:${root}>`;
}

export function xlsx(rows: string, more: Parts = {}): Buffer {
  return pack({ ...xlsxParts({ Tea: rows }), ...more });
}

/** A sheet as it stands, with what comes before and after its rows. */
export function xlsxSheet(content: string, more: Parts = {}): Buffer {
  return xlsx('', { 'xl/worksheets/sheet1.xml': `${XML}<worksheet xmlns="${SHEET}">${content}</worksheet>`, ...more });
}

export function sheetPart(root: string, content: string, attributes = ''): string {
  return `${XML}<${root} xmlns="${SHEET}" ${attributes}>${content}</${root}>`;
}

export function cell(reference: string, value: string | number, attributes = ''): string {
  return `<row><c r="${reference}" ${attributes}><v>${value}</v></c></row>`;
}

/** A sheet with shared strings: the fixture's relations do not name the part. */
export function xlsxWithStrings(rows: string, strings: string): Buffer {
  const parts = xlsxParts({ Tea: rows });
  const relations = String(parts['xl/_rels/workbook.xml.rels']).replace(
    '</Relationships>',
    `<Relationship Id="rId901" Type="${OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>`,
  );
  return pack({
    ...parts,
    'xl/_rels/workbook.xml.rels': relations,
    'xl/sharedStrings.xml': sheetPart('sst', strings),
  });
}

/** A presentation of one slide whose text is this XML of shapes. */
export function pptxSlide(shapes: string): Buffer {
  const parts = pptxParts([{ title: 'Tea', paragraphs: ['Picked in spring.'] }]);
  const slide = String(parts['ppt/slides/slide1.xml']).replace('</p:spTree>', () => `${shapes}</p:spTree>`);
  return pack({ ...parts, 'ppt/slides/slide1.xml': slide });
}

/** The one slide, as often as the list of slides names it. */
export function pptxRepeating(times: number, text: string): Buffer {
  const parts = pptxParts([{ title: 'Tea', paragraphs: [text] }]);
  const presentation = String(parts['ppt/presentation.xml']);
  const [entry = ''] = /<p:sldId [^>]*>/.exec(presentation) ?? [];
  return pack({ ...parts, 'ppt/presentation.xml': presentation.replace(entry, () => entry.repeat(times)) });
}
