/** Texts of the largest size that a manifest may have, made of what costs a parser most. */
const MAX_CHARS = 16_000;

const parts = [
  '[',
  '{',
  '- ',
  '? ',
  'a: ',
  'a:\n',
  '"',
  "'",
  '|\n',
  '&a ',
  '*a ',
  '!a ',
  '%',
  '  ',
  '\t',
  '-\n',
  ': ',
  '{a: ',
];
const keys = Array.from({ length: 2_400 }, (_, n) => `k${n.toString(36)}: v`).join('\n');
const deep = Array.from({ length: 170 }, (_, n) => `${' '.repeat(n)}a:`).join('\n');

export const longTexts: readonly string[] = [
  ...parts.map((part) => part.repeat(Math.floor(MAX_CHARS / part.length))),
  keys.slice(0, MAX_CHARS),
  deep,
];
