/** Text of XML, as strings: a deposit is written as it is read, and no tree of it is ever made. */

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** Characters that XML 1.0 cannot hold, not even escaped. */
const FORBIDDEN = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/** What XML cannot carry is U+FFFD. */
function escapeXml(text: string): string {
  return text.replace(FORBIDDEN, '\uFFFD').replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}

type Attributes = Readonly<Record<string, string>>;

/** An element of text; undefined: it is left out. */
export function textElement(name: string, text: string | undefined, attributes: Attributes = {}): string {
  return text === undefined || text === '' ? '' : element(name, [escapeXml(text)], attributes);
}

/** An element of elements, or an empty one. */
export function element(name: string, content: readonly string[] = [], attributes: Attributes = {}): string {
  const given = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeXml(value)}"`);
  const inner = content.join('');
  return inner === '' ? `<${name}${given.join('')}/>` : `<${name}${given.join('')}>${inner}</${name}>`;
}
