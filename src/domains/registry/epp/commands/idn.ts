/**
 * In which table of a registry the characters of an internationalized name are: by the IDN mapping (draft-ietf-eppext-idnmap, idn-1.0), which
 * repeats the name in Unicode, or by Verisign's language tag (idnLang-1.0).
 */
import { IDN, IDN_LANG } from '../namespaces.ts';
import { element, findText, type XmlElement } from '../xml/element.ts';
import { optional } from './values.ts';

export interface IdnTable {
  /** The namespace of the mapping. */
  readonly uri: typeof IDN | typeof IDN_LANG;
  /** As the registry calls it: `es`, `CHI`. */
  readonly table: string;
  /** The name in Unicode, where the mapping has it. */
  readonly unicodeName?: string | undefined;
}

export function idnElement({ uri, table, unicodeName }: IdnTable): XmlElement {
  if (uri === IDN_LANG) return element(IDN_LANG, 'tag', table);
  return element(IDN, 'data', [element(IDN, 'table', table), optional(IDN, 'uname', unicodeName)]);
}

export function findIdn(extensions: readonly XmlElement[]): IdnTable | undefined {
  for (const found of extensions) {
    if (found.uri === IDN_LANG && found.local === 'tag') return { uri: IDN_LANG, table: found.text.trim() };
    if (found.uri !== IDN || found.local !== 'data') continue;
    return { uri: IDN, table: findText(found, 'table') ?? '', unicodeName: findText(found, 'uname') };
  }
  return undefined;
}
