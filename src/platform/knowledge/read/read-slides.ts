/**
 * PresentationML (ECMA-376 part 1, clause 19): the slides in the order of the presentation, each with its texts, tables
 * and the speaker's notes.
 */
import { posix } from 'node:path';
import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes';
import { DocumentError } from './document.ts';
import { readHeaders, writeRecord } from './table-text.ts';

const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const STRICT_RELATIONSHIPS = 'http://purl.oclc.org/ooxml/officeDocument/relationships';
/** Placeholders that repeat on every slide or count pages. */
const FURNITURE = new Set(['sldNum', 'dt', 'ftr', 'hdr', 'sldImg']);

type Parts = ReadonlyMap<string, Buffer>;

/** Throws `invalid_file` when a part that the presentation names is missing; saxes' own error when XML is damaged. */
export function* readSlides(parts: Parts): Generator<string> {
  const main = findPresentation(parts);
  const relations = readRelations(parts, main);
  for (const [index, id] of listSlides(get(parts, main)).entries()) {
    const path = relations.get(id)?.target;
    if (path === undefined) throw missing(`slide ${index + 1}`);
    const { title, body } = readTexts(get(parts, path));
    yield title === '' ? `Slide ${index + 1}\n\n${body}\n` : `Slide ${index + 1}: ${title}\n\n${body}\n`;
    for (const { type, target } of readRelations(parts, path).values()) {
      if (!type.endsWith('/notesSlide')) continue;
      const notes = readTexts(get(parts, target)).body.trim();
      if (notes !== '') yield `Notes of slide ${index + 1}:\n${notes}\n\n`;
    }
  }
}

interface Relation {
  readonly type: string;
  readonly target: string;
}

function readRelations(parts: Parts, path: string): Map<string, Relation> {
  const { dir, base } = posix.parse(path);
  const relations = new Map<string, Relation>();
  const part = parts.get(posix.join(dir, '_rels', `${base}.rels`));
  if (part === undefined) return relations;
  walkXml(part, {
    open({ local, attributes }) {
      const target = attributes.Target?.value;
      if (local !== 'Relationship' || target === undefined || attributes.TargetMode?.value === 'External') return;
      relations.set(attributes.Id?.value ?? '', {
        type: attributes.Type?.value ?? '',
        target: target.startsWith('/') ? posix.normalize(target.slice(1)) : posix.join(dir, target),
      });
    },
  });
  return relations;
}

function findPresentation(parts: Parts): string {
  for (const { type, target } of readRelations(parts, '').values()) if (type.endsWith('/officeDocument')) return target;
  throw missing('presentation');
}

function listSlides(presentation: Buffer): string[] {
  const ids: string[] = [];
  walkXml(presentation, {
    open({ local, attributes }) {
      if (local !== 'sldId') return;
      const id = Object.values(attributes).find(
        (attribute) => attribute.local === 'id' && [RELATIONSHIPS, STRICT_RELATIONSHIPS].includes(attribute.uri),
      );
      if (id !== undefined) ids.push(id.value);
    },
  });
  return ids;
}

/** The paragraphs of a slide, its title apart; the rows of its tables as records. */
function readTexts(slide: Buffer): { title: string; body: string } {
  let title = '';
  let body = '';
  let placeholder = '';
  let paragraph = '';
  let inText = false;
  let cell: string | undefined;
  let row: string[] = [];
  let headers: string[] | undefined;
  walkXml(slide, {
    open({ local, attributes }) {
      if (local === 'sp') placeholder = '';
      else if (local === 'ph') placeholder = attributes.type?.value ?? '';
      else if (local === 't') inText = true;
      else if (local === 'br') paragraph += '\n';
      else if (local === 'tbl') headers = undefined;
      else if (local === 'tr') row = [];
      else if (local === 'tc') cell = '';
    },
    text(text) {
      if (inText) paragraph += text;
    },
    close(local) {
      if (local === 't') inText = false;
      else if (local === 'tc') {
        row.push(cell ?? '');
        cell = undefined;
      } else if (local === 'tr') {
        if (headers === undefined) {
          headers = readHeaders(row);
          body += `${headers.join(' | ')}\n`;
        } else body += writeRecord(headers, row);
      } else if (local === 'p') {
        if (cell !== undefined) cell += `${paragraph}\n`;
        else if (placeholder === 'title' || placeholder === 'ctrTitle') title = `${title} ${paragraph}`.trim();
        else if (paragraph.trim() !== '' && !FURNITURE.has(placeholder)) body += `${paragraph}\n`;
        paragraph = '';
      }
    },
  });
  return { title: title.replaceAll(/\s+/g, ' '), body };
}

interface XmlVisitor {
  open?(tag: { local: string; attributes: Record<string, SaxesAttributeNS> }): void;
  text?(text: string): void;
  close?(local: string): void;
}

function walkXml(part: Buffer, visitor: XmlVisitor): void {
  const parser = new SaxesParser({ xmlns: true });
  parser.on('error', (error) => {
    throw error;
  });
  if (visitor.open) parser.on('opentag', (tag: SaxesTagNS) => visitor.open?.(tag));
  if (visitor.text) parser.on('text', (text) => visitor.text?.(text));
  if (visitor.close) parser.on('closetag', (tag: SaxesTagNS) => visitor.close?.(tag.local));
  parser.write(part.toString('utf8')).close();
}

function get(parts: Parts, path: string): Buffer {
  const part = parts.get(path);
  if (part === undefined) throw missing(path);
  return part;
}

function missing(what: string): DocumentError {
  return new DocumentError('invalid_file', `The PPTX is damaged: its ${what} is missing. Save it anew and send it.`);
}
