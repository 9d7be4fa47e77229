/**
 * The XML parts of a DOCX, PPTX or XLSX, inflated and measured before any parser sees them. Parsers get the measured
 * bytes, never the archive: what it hides from one reader and shows another (a second directory, a part whose size is a
 * lie) reaches none.
 */
import { posix } from 'node:path';
import { type Entry, fromBufferPromise } from 'yauzl';
import { findXmlExcess } from './check-xml.ts';
import { SUPPORTED } from './detect-format.ts';
import { DocumentError } from './document.ts';

export type OfficeKind = 'docx' | 'pptx' | 'xlsx';

export interface OfficePackage {
  readonly kind: OfficeKind;
  /** By name, without a leading slash. Pictures and other parts that are no XML are left out. */
  readonly parts: ReadonlyMap<string, Buffer>;
}

const PARTS_MAX = 20_000;
/** Of all XML together. A novel in DOCX has 5 MiB; a parser needs several times as much. */
const INFLATED_BYTES_MAX = 134_217_728;
/** Beyond this ratio a large part is a bomb: XML of a real office comes to 50, at times 200. */
const RATIO_MAX = 500;
const RATIO_FROM_BYTES = 8_388_608;

const KINDS: Readonly<Record<OfficeKind, RegExp>> = {
  docx: /wordprocessingml\.(?:document|template)\.main\+xml|ms-word\.(?:document|template)\.macroEnabled\.main\+xml/,
  pptx: /presentationml\.(?:presentation|slideshow|template)\.main\+xml|ms-powerpoint\.(?:presentation|slideshow)\.macroEnabled\.main\+xml/,
  xlsx: /spreadsheetml\.(?:sheet|template)\.main\+xml|ms-excel\.(?:sheet|template)\.macroEnabled\.main\+xml/,
};

/** `promised` says that the name or media type claims an office document: what is broken is then called damaged. */
export async function openOfficePackage(archive: Buffer, promised: boolean): Promise<OfficePackage> {
  const parts = new Map<string, Buffer>();
  let inflated = 0;
  let entries = 0;
  try {
    const zip = await fromBufferPromise(archive);
    for await (const entry of zip.eachEntry()) {
      if (++entries > PARTS_MAX) throw bomb(`more than ${PARTS_MAX} parts`);
      if (!/\.(?:xml|rels)$/i.test(entry.fileName)) continue;
      if (entry.isEncrypted()) {
        throw new DocumentError(
          'invalid_file',
          'The file is protected by a password. Remove it and send the file again.',
        );
      }
      const large = entry.uncompressedSize > RATIO_FROM_BYTES;
      if (large && entry.uncompressedSize > entry.compressedSize * RATIO_MAX)
        throw bomb('a part that unpacks without end');
      if (inflated + entry.uncompressedSize > INFLATED_BYTES_MAX) throw bomb(sizeLimit());
      const part = await inflate(await zip.openReadStreamPromise(entry), entry);
      inflated += part.length;
      const excess = findXmlExcess(part);
      if (excess !== undefined) throw bomb(excess);
      parts.set(posix.normalize(entry.fileName).replace(/^\/+/, ''), part);
    }
  } catch (error) {
    if (error instanceof DocumentError) throw error;
    if (!promised && parts.size === 0) throw notOffice();
    throw new DocumentError(
      'invalid_file',
      'The file is damaged or incomplete: it cannot be unpacked. Send it again.',
      {
        cause: error,
      },
    );
  }
  return { kind: kindOf(parts), parts };
}

/** yauzl fails a part that comes to more or fewer bytes than its directory says: the check before holds for what comes. */
async function inflate(stream: AsyncIterable<Buffer>, entry: Entry): Promise<Buffer> {
  const blocks: Buffer[] = [];
  let bytes = 0;
  for await (const block of stream) {
    bytes += block.length;
    if (bytes > entry.uncompressedSize) throw bomb('a part that is larger than it says');
    blocks.push(block);
  }
  return Buffer.concat(blocks);
}

function kindOf(parts: ReadonlyMap<string, Buffer>): OfficeKind {
  const types = parts.get('[Content_Types].xml')?.toString('utf8');
  if (types === undefined) throw notOffice();
  if (KINDS.docx.test(types)) return 'docx';
  if (KINDS.pptx.test(types)) return 'pptx';
  if (KINDS.xlsx.test(types)) return 'xlsx';
  throw notOffice();
}

function notOffice(): DocumentError {
  return new DocumentError(
    'unsupported_file',
    `The file is a zip archive, not a document. Unpack it first. ${SUPPORTED}`,
  );
}

function bomb(what: string): DocumentError {
  return new DocumentError(
    'invalid_file',
    `The file has ${what}: it is damaged or made to do harm, and is not unpacked.`,
  );
}

function sizeLimit(): string {
  return `more than ${INFLATED_BYTES_MAX / 1_048_576} MiB of text parts`;
}
