/** A record's value as callers send it: all in `value`, as in a zone file, or some of it in members beside it. */
import { badRecord } from './bad-record.ts';
import { readWords, type Word } from './zone-text.ts';

export interface RecordInput {
  readonly value: string;
  readonly priority?: number;
  readonly weight?: number;
  readonly port?: number;
  readonly flags?: number;
  readonly tag?: string;
}

export type Member = Exclude<keyof RecordInput, 'value'>;

const MEMBERS = ['priority', 'weight', 'port', 'flags', 'tag'] as const satisfies readonly Member[];

/**
 * The words of a value, in the order of `columns`; those that are given as members are put where they belong. The last
 * column takes all that is left.
 */
export function readColumns(input: RecordInput, columns: readonly string[], example: string): Word[] {
  refuseMembers(input, columns);
  const words = readWords(input.value);
  const given = new Map<string, string>();
  for (const member of MEMBERS) {
    const value = input[member];
    if (value !== undefined) given.set(member, String(value));
  }
  if (words.length === columns.length) return sameOnBothSides(words, columns, given);
  if (words.length !== columns.length - given.size) {
    throw badRecord('value', `Send ${columns.join(', ')}, such as: ${example}`);
  }
  return columns.map((column) => {
    const member = given.get(column);
    return member === undefined ? (words.shift() ?? noWord) : { bytes: member, isQuoted: false };
  });
}

const noWord: Word = { bytes: '', isQuoted: false };

/** Throws for a member that this type has not. */
export function refuseMembers(input: RecordInput, allowed: readonly string[]): void {
  for (const member of MEMBERS) {
    if (input[member] !== undefined && !allowed.includes(member)) {
      throw badRecord(member, `A record of this type has no ${member}. Leave it out.`);
    }
  }
}

function sameOnBothSides(words: Word[], columns: readonly string[], given: ReadonlyMap<string, string>): Word[] {
  for (const [index, column] of columns.entries()) {
    const member = given.get(column);
    if (member !== undefined && member !== words[index]?.bytes) {
      throw badRecord(column, `\`value\` has another ${column}. Send it once.`);
    }
  }
  return words;
}

/** A whole number from 0 to `max`, named in the message. */
export function readNumber(word: Word | undefined, name: string, max = 65_535): number {
  const text = word?.bytes ?? '';
  const number = Number(text);
  if (!/^\d{1,5}$/.test(text) || number > max) {
    throw badRecord(isMember(name) ? name : 'value', `The ${name} is a whole number from 0 to ${max}.`);
  }
  return number;
}

function isMember(name: string): name is Member {
  return (MEMBERS as readonly string[]).includes(name);
}

/** Bytes in hexadecimal, upper case. */
export function readHex(words: readonly Word[], name: string): string {
  const text = words.map(({ bytes }) => bytes).join('');
  if (!/^(?:[0-9a-f]{2})+$/i.test(text)) throw badRecord('value', `The ${name} is a row of hexadecimal bytes.`);
  return text.toUpperCase();
}
