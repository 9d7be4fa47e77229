/** Text of every kind that a decoder, a tokenizer or a chunker may take too long over. */
import type { DocumentAnswer, DocumentCase } from '../cases.ts';

const MEBIBYTE = 1_048_576;

function text(
  name: string,
  bytes: () => Uint8Array | string,
  answer: DocumentCase['answer'] = 'completed',
  filename = 'a.txt',
): DocumentCase {
  return { name: `text: ${name}`, filename, bytes: () => Buffer.from(bytes()), answer };
}

/** What the built-in model splits into tokens, and may take too long over, too. */
function words(name: string, bytes: () => string): DocumentCase {
  return { ...text(name, bytes), embedding: 'builtin/embed' };
}

function markdown(name: string, content: () => string): DocumentCase {
  return { name: `Markdown: ${name}`, filename: 'a.md', bytes: () => Buffer.from(content()), answer: 'completed' };
}

/** Letters without order: no two runs of them are the same token. */
function noise(length: number, alphabet: string): string {
  let state = 1;
  let made = '';
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    made += alphabet[(state >>> 16) % alphabet.length];
  }
  return made;
}

const SPECIAL_TOKENS = '<|endoftext|><|im_start|>system<|endofprompt|>';
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const EITHER: readonly DocumentAnswer[] = ['completed', 'invalid_file'];

export const texts: readonly DocumentCase[] = [
  text('nothing', () => '', 'invalid_file'),
  text('one byte', () => '.'),
  text('a mark of byte order, and nothing more', () => '\ufeff', 'invalid_file'),
  text('two megabytes of blanks', () => Buffer.alloc(2 * MEBIBYTE, ' '), 'invalid_file'),
  text('a megabyte of line breaks', () => Buffer.alloc(MEBIBYTE, '\n'), 'invalid_file'),
  text('a line of two megabytes', () => Buffer.alloc(2 * MEBIBYTE, 'tea')),
  text('a line of a hundred kilobytes of noise without a space', () => noise(100_000, LETTERS)),
  words('a line of ten kilobytes of noise without a space', () => noise(10_000, LETTERS)),
  text('one letter, a million times', () => 'a'.repeat(1_000_000)),
  text('blanks between a word and a word', () => `a${' '.repeat(1_000_000)}b`),
  text('one sign, a million times', () => '='.repeat(1_000_000)),
  text('capital and small by turns', () => 'aA'.repeat(100_000)),
  text('digits', () => noise(60_000, '0123456789')),
  text('combining marks alone', () => '\u0301'.repeat(50_000)),
  words('a letter under fifty thousand marks', () => `a${'\u0300\u0301\u0302'.repeat(17_000)}`),
  words('families of emoji', () => '👩‍👩‍👧‍👦'.repeat(5_000)),
  words('rare signs of four bytes', () => noise(10_000, '𐀀𐀁𐀂'.repeat(3))),
  text('right to left and back', () => '\u202ea\u202db\u2066c\u2069'.repeat(10_000)),
  text(
    'halves of surrogate pairs in UTF-8',
    () => Buffer.from('eda080edb080 tea '.replaceAll(/[^0-9a-f]/g, '').repeat(500), 'hex'),
    EITHER,
  ),
  text('halves of surrogate pairs in UTF-16', () =>
    Buffer.concat([Buffer.from('fffe', 'hex'), Buffer.from('00d8', 'hex'), Buffer.from(' tea ', 'utf16le')]),
  ),
  text('UTF-16 of an odd number of bytes', () =>
    Buffer.concat([Buffer.from('fffe', 'hex'), Buffer.from('tea', 'utf16le'), Buffer.from('41', 'hex')]),
  ),
  text('UTF-16 without its mark', () => Buffer.from('Tea is picked in spring.', 'utf16le'), 'invalid_file'),
  text(
    'UTF-32',
    () => Buffer.concat(['feff', 'tea'].map((part) => Buffer.from(`0000${Buffer.from(part).toString('hex')}`, 'hex'))),
    'invalid_file',
  ),
  text('UTF-7', () => '+AEE-bc +2ADcAA- tea'),
  text('a NUL after a megabyte', () => `${'tea '.repeat(MEBIBYTE / 4)}\0tea`, 'invalid_file'),
  text('a megabyte of NUL', () => Buffer.alloc(MEBIBYTE), 'invalid_file'),
  text('a megabyte of the byte 255', () => Buffer.alloc(MEBIBYTE, 0xff).fill('tea ', 0, 8), 'completed'),
  text('bytes of continuation alone', () => Buffer.alloc(100_000, 0x80)),
  text('controls of a terminal', () => '\u001b[2J\u001b]0;tea\u0007 tea '.repeat(10_000), EITHER),
  text('arrays of JSON a million deep', () => '['.repeat(1_000_000), 'completed', 'a.json'),
  text('JSON that ends in the middle', () => `{"tea": ${'{"a":'.repeat(50_000)}`, 'completed', 'a.json'),
  text('names of special tokens', () => SPECIAL_TOKENS.repeat(5_000)),
  words('names of special tokens, some', () => SPECIAL_TOKENS.repeat(500)),
  markdown('a hundred thousand brackets', () => '['.repeat(100_000)),
  markdown('emphasis in emphasis', () => '*a _b '.repeat(50_000)),
  markdown('quotes fifty thousand deep', () => `${'> '.repeat(50_000)}tea`),
  markdown('backticks of every length', () => Array.from({ length: 400 }, (_, length) => '`'.repeat(length)).join(' ')),
  markdown('references to references', () =>
    Array.from({ length: 20_000 }, (_, index) => `[a${index}]: [a${index + 1}]`).join('\n'),
  ),
  markdown(
    'a table of ten thousand columns',
    () => `${'|a'.repeat(10_000)}|\n${'|-'.repeat(10_000)}|\n${'|1'.repeat(10_000)}|\n`,
  ),
  markdown('a list fifty thousand deep', () =>
    Array.from({ length: 1_000 }, (_, depth) => `${' '.repeat(depth)}- a`).join('\n'),
  ),
  markdown('a fence that never closes', () => `~~~~${'\n    tea'.repeat(50_000)}`),
];
