/**
 * Bytes of a peer to an element tree. Strict: UTF-8, well formed, namespaces declared; no document type (hence no entities
 * but the five of XML), no processing instructions; bounded in depth and in the numbers of elements and attributes. The frame bounds the size.
 */
import { SaxesParser, type SaxesTagNS } from 'saxes';
import type { XmlElement } from './element.ts';

export const MAX_DEPTH = 32;
export const MAX_ELEMENTS = 10_000;
/** Of one element; declarations of namespaces count. */
export const MAX_ATTRIBUTES = 100;
/** Of all elements together. */
export const MAX_ALL_ATTRIBUTES = 20_000;

export class XmlError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'XmlError';
  }
}

interface OpenElement {
  readonly uri: string;
  readonly local: string;
  readonly attributes: Record<string, string>;
  readonly children: XmlElement[];
  text: string;
}

/** The root element. Throws `XmlError`, whose message may be shown to the peer. */
export function parseXml(bytes: Uint8Array): XmlElement {
  const text = decodeUtf8(bytes);
  const builder = new TreeBuilder();
  const parser = new SaxesParser({ xmlns: true, position: false });
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && encoding.toUpperCase() !== 'UTF-8') throw new XmlError('the encoding must be UTF-8');
  });
  parser.on('doctype', () => {
    throw new XmlError('a document type is not allowed');
  });
  parser.on('processinginstruction', () => {
    throw new XmlError('processing instructions are not allowed');
  });
  parser.on('attribute', () => builder.countAttribute());
  parser.on('opentag', (tag) => builder.open(tag));
  parser.on('text', (piece) => builder.addText(piece));
  parser.on('cdata', (piece) => builder.addText(piece));
  parser.on('closetag', () => builder.close());
  try {
    parser.write(text).close();
  } catch (error) {
    if (error instanceof XmlError) throw error;
    throw new XmlError(`the XML is not well formed: ${error instanceof Error ? error.message : String(error)}`, error);
  }
  return builder.root();
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new XmlError('the bytes are not UTF-8', error);
  }
}

class TreeBuilder {
  readonly #stack: OpenElement[] = [];
  #root: XmlElement | undefined;
  #count = 0;
  /** Of the element whose tag is being read. */
  #attributes = 0;
  #allAttributes = 0;

  countAttribute(): void {
    this.#attributes += 1;
    this.#allAttributes += 1;
    if (this.#attributes > MAX_ATTRIBUTES) throw new XmlError(`more than ${MAX_ATTRIBUTES} attributes of an element`);
    if (this.#allAttributes > MAX_ALL_ATTRIBUTES) throw new XmlError(`more than ${MAX_ALL_ATTRIBUTES} attributes`);
  }

  open(tag: SaxesTagNS): void {
    this.#attributes = 0;
    this.#count += 1;
    if (this.#count > MAX_ELEMENTS) throw new XmlError(`more than ${MAX_ELEMENTS} elements`);
    if (this.#stack.length >= MAX_DEPTH) throw new XmlError(`elements nested more than ${MAX_DEPTH} deep`);
    this.#stack.push({ uri: tag.uri, local: tag.local, attributes: plainAttributes(tag), children: [], text: '' });
  }

  addText(piece: string): void {
    const parent = this.#stack.at(-1);
    if (parent !== undefined) parent.text += piece;
  }

  close(): void {
    const closed = this.#stack.pop();
    if (closed === undefined) return;
    // White space between elements is layout.
    if (closed.children.length > 0 && closed.text.trim() === '') closed.text = '';
    const parent = this.#stack.at(-1);
    if (parent === undefined) this.#root = closed;
    else parent.children.push(closed);
  }

  root(): XmlElement {
    if (this.#root === undefined) throw new XmlError('there is no element');
    return this.#root;
  }
}

/** Without declarations of namespaces and without hints for schema validators. */
function plainAttributes(tag: SaxesTagNS): Record<string, string> {
  return Object.fromEntries(
    Object.values(tag.attributes)
      .filter((attribute) => attribute.uri === '')
      .map((attribute) => [attribute.local, attribute.value]),
  );
}
