/** Which of a registry's IDN tables a name is registered in: the first that has all of its characters. */
import { toUnicode } from 'tr46';
import { zoneOf } from '../routing-registry.ts';
import type { IdnTable } from './commands/idn.ts';

export interface IdnRules {
  readonly uri: IdnTable['uri'];
  readonly tables: readonly {
    readonly tag: string;
    /** Whether a character beyond letters, digits and the hyphen of ASCII is in it. */
    readonly has: (character: string) => boolean;
  }[];
}

/** `none`: the name is in ASCII, or its registry asks for no table; `unknown`: no table has all of its characters. */
export function chooseTable(name: string, rules: IdnRules | undefined): IdnTable | 'none' | 'unknown' {
  const label = name.slice(0, name.length - zoneOf(name).length - 1);
  if (rules === undefined || !label.startsWith('xn--')) return 'none';
  const { domain: unicode } = toUnicode(name);
  const characters = [...toUnicode(label).domain].filter((character) => !/^[a-z0-9-]$/.test(character));
  const table = rules.tables.find(({ has }) => characters.every(has));
  if (table === undefined) return 'unknown';
  return { uri: rules.uri, table: table.tag, unicodeName: unicode };
}
