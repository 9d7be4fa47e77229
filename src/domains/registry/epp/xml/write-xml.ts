import { create } from 'xmlbuilder2';
import type { XMLBuilder } from 'xmlbuilder2/lib/interfaces.js';
import { prefixOf } from '../namespaces.ts';
import type { XmlElement } from './element.ts';
import { XmlError } from './parse-xml.ts';

/** Characters that XML 1.0 cannot hold, not even escaped, and a carriage return, which a parser would change. */
const FORBIDDEN = /[^\t\n\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;
/** A parser makes blanks of these in an attribute (XML 1.0 3.3.3). */
const CHANGED_IN_ATTRIBUTE = /[\t\n]/;

/** Whether an attribute arrives as it is. */
export function isAttribute(text: string): boolean {
  return !FORBIDDEN.test(text) && !CHANGED_IN_ATTRIBUTE.test(text);
}

/** A document in one line: some clients take white space between elements for content. Throws `XmlError`. */
export function writeXml(root: XmlElement): string {
  const document = create({ version: '1.0', encoding: 'UTF-8', standalone: false });
  append(document, root);
  return document.end({ prettyPrint: false });
}

function append(parent: XMLBuilder, source: XmlElement): void {
  if (FORBIDDEN.test(source.text) || !Object.values(source.attributes).every(isAttribute)) {
    throw new XmlError(`${source.local} holds a character that XML cannot carry`);
  }
  const attributes = Object.entries(source.attributes).map(([name, value]) => [name, escapeAmpersands(value)]);
  const made = parent.ele(source.uri, `${prefixOf(source.uri)}${source.local}`, Object.fromEntries(attributes));
  if (source.text !== '') made.txt(escapeAmpersands(source.text));
  for (const child of source.children) append(made, child);
}

/** The writer takes `&name;` in a text for a reference and leaves it as it is: a text `&lt;` would arrive as `<`. */
function escapeAmpersands(text: string): string {
  return text.replaceAll('&', '&amp;');
}
