/** What EPP needs of an XML document: elements by namespace, their text, and attributes without a namespace. */
export interface XmlElement {
  readonly uri: string;
  readonly local: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  /** Its own text, without its children's. Empty where there are children on their own. */
  readonly text: string;
}

/** Text, or children; those that are undefined are left out. */
export type Content = string | readonly (XmlElement | undefined)[];

export function element(
  uri: string,
  local: string,
  content: Content = '',
  attributes: Readonly<Record<string, string>> = {},
): XmlElement {
  if (typeof content === 'string') return { uri, local, attributes, children: [], text: content };
  return { uri, local, attributes, children: content.filter((child) => child !== undefined), text: '' };
}

/** Makes elements of one namespace. */
export type ElementMaker = (
  local: string,
  content?: Content,
  attributes?: Readonly<Record<string, string>>,
) => XmlElement;

export function elementsOf(uri: string): ElementMaker {
  return (local, content, attributes) => element(uri, local, content, attributes);
}

/** Children of one name, in the namespace of their parent by default. */
export function childrenOf(parent: XmlElement, local: string, uri: string = parent.uri): readonly XmlElement[] {
  return parent.children.filter((child) => child.local === local && child.uri === uri);
}

export function findChild(parent: XmlElement, local: string, uri: string = parent.uri): XmlElement | undefined {
  return parent.children.find((child) => child.local === local && child.uri === uri);
}

/** The text of a child as EPP's tokens have it: without white space around. Undefined where the child is missing or empty. */
export function findText(parent: XmlElement | undefined, local: string): string | undefined {
  if (parent === undefined) return undefined;
  const text = findChild(parent, local)?.text.trim();
  return text === '' ? undefined : text;
}

/** The text of every child of that name, empty ones left out. */
export function textsOf(parent: XmlElement | undefined, local: string): string[] {
  if (parent === undefined) return [];
  return childrenOf(parent, local)
    .map((child) => child.text.trim())
    .filter((text) => text !== '');
}
