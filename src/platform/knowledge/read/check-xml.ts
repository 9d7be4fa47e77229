/**
 * Looks over XML before a parser sees it: parsers of XML take time with the square of what is checked here, and build
 * trees that those who walk them follow by recursion. One pass, whatever the bytes are; well-formedness is the parser's.
 */

/** No editor nests text deeper than a hundred elements; lists of namespaces have some forty entries. */
export const XML_DEPTH_MAX = 1_000;
export const XML_ATTRIBUTES_MAX = 1_000;

const LESS = 0x3c;
const GREATER = 0x3e;
const SLASH = 0x2f;
const EQUALS = 0x3d;
const BANG = 0x21;
const QUESTION = 0x3f;
const QUOTES: ReadonlySet<number> = new Set([0x22, 0x27]);

/** What is too much of it; undefined where nothing is. */
export function findXmlExcess(xml: Buffer): string | undefined {
  const bytes = asUtf8(xml);
  let depth = 0;
  for (let at = bytes.indexOf(LESS); at >= 0; ) {
    const next = bytes[at + 1];
    if (next === BANG || next === QUESTION) at = endOfMarkup(bytes, at);
    else if (next === SLASH) {
      depth = Math.max(0, depth - 1);
      at += 2;
    } else {
      const tag = readTag(bytes, at + 1);
      if (tag.attributes > XML_ATTRIBUTES_MAX) return `an element with more than ${XML_ATTRIBUTES_MAX} attributes`;
      if (!tag.empty) depth += 1;
      if (depth > XML_DEPTH_MAX) return `elements nested more than ${XML_DEPTH_MAX} deep`;
      at = tag.end;
    }
    at = bytes.indexOf(LESS, at);
  }
  return undefined;
}

/** Office may write UTF-16, which always begins with its mark. */
function asUtf8(xml: Buffer): Buffer {
  const mark = xml.length < 2 ? 0 : xml.readUInt16BE(0);
  if (mark === 0xfffe) return Buffer.from(xml.toString('utf16le'));
  if (mark === 0xfeff) return Buffer.from(new TextDecoder('utf-16be').decode(xml));
  return xml;
}

/** Behind a comment, a CDATA section, an instruction; just behind the beginning of any other declaration. */
function endOfMarkup(bytes: Buffer, at: number): number {
  const start = bytes.toString('latin1', at, at + 9);
  const end = start.startsWith('<!--') ? '-->' : start === '<![CDATA[' ? ']]>' : start.startsWith('<?') ? '?>' : '';
  if (end === '') return at + 2;
  const found = bytes.indexOf(end, at + 2);
  return found < 0 ? bytes.length : found + end.length;
}

function readTag(bytes: Buffer, start: number): { end: number; attributes: number; empty: boolean } {
  let attributes = 0;
  let at = start;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === GREATER) break;
    if (byte === EQUALS) attributes += 1;
    if (!QUOTES.has(byte)) continue;
    const closing = bytes.indexOf(byte, at + 1);
    at = closing < 0 ? bytes.length : closing;
  }
  return { end: at, attributes, empty: bytes[at - 1] === SLASH };
}
