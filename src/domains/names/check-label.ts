/**
 * What a label may be written with, beyond UTS 46, which lets emoji and look-alikes pass.
 *
 * - Characters: the letters, marks and digits of IDNA2008 and its exceptions (RFC 5892 2.1, 2.6), the contextual ones
 *   under their rules (RFC 5892 appendix A; UTS 46 checks the joiners, and its bidi rule the Arabic digits).
 * - Scripts: one a label, from those in modern use (UAX 31, table 5), or one of the mixtures that Japanese, Korean and
 *   Chinese are written in, with or without Latin. This is the level "highly restrictive" of UTS 39 5.2. A label that
 *   looks like another but is of one script throughout, such as Cyrillic `аррӏе`, is not refused: whole languages would
 *   be, and registries keep lists of variants against it.
 */

const LETTERS = /^[-\p{L}\p{Mn}\p{Mc}\p{Nd}\u00b7\u0375\u05f3\u05f4\u06fd\u06fe\u0f0b\u3007\u30fb\u200c\u200d]*$/u;

/** Letters by their category that IDNA2008 excludes: stretching and repetition marks, and single jamo (RFC 5892 2.6, 2.9). */
const EXCLUDED = /[\u0640\u07fa\u302e\u302f\u3031-\u3035\u303b\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]/u;

/** A contextual character, and what the label has to be like when it holds one. */
const CONTEXTS: readonly (readonly [RegExp, RegExp, string])[] = [
  [/\u00b7/u, /^([^\u00b7]|(?<=l)\u00b7(?=l))*$/u, 'A middle dot stands between two `l`, as in Catalan.'],
  [/\u0375/u, /^([^\u0375]|\u0375(?=\p{Script=Greek}))*$/u, 'A Greek numeral sign stands before a Greek letter.'],
  [
    /[\u05f3\u05f4]/u,
    /^([^\u05f3\u05f4]|(?<=\p{Script=Hebrew})[\u05f3\u05f4])*$/u,
    'Geresh and gershayim follow a Hebrew letter.',
  ],
  [
    /\u30fb/u,
    /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u,
    'A katakana middle dot needs Japanese letters beside it.',
  ],
];

/** UAX 31, table 5. */
const SCRIPTS = [
  ...['Latin', 'Arabic', 'Armenian', 'Bengali', 'Bopomofo', 'Cyrillic', 'Devanagari', 'Ethiopic', 'Georgian', 'Greek'],
  ...['Gujarati', 'Gurmukhi', 'Han', 'Hangul', 'Hebrew', 'Hiragana', 'Kannada', 'Katakana', 'Khmer', 'Lao'],
  ...['Malayalam', 'Myanmar', 'Oriya', 'Sinhala', 'Tamil', 'Telugu', 'Thaana', 'Thai', 'Tibetan'],
];

const MIXTURES = [
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Hangul'],
  ['Latin', 'Han', 'Bopomofo'],
];

const inScript = SCRIPTS.map((script) => writtenIn([script]));
const WRITINGS = [...inScript, ...MIXTURES.map(writtenIn)];

/** What is wrong with the label, in words for the caller; undefined when it is fine. `label` is in Unicode, mapped by UTS 46. */
export function findLabelFault(label: string): string | undefined {
  if (/^[-a-z\d]*$/.test(label)) return undefined;
  if (!LETTERS.test(label) || EXCLUDED.test(label)) {
    return 'The name holds a symbol, such as an emoji, that names may not. Use letters, digits and inner hyphens.';
  }
  for (const [character, context, message] of CONTEXTS) {
    if (character.test(label) && !context.test(label)) return message;
  }
  if (WRITINGS.some((writing) => writing.test(label))) return undefined;
  // Letter by letter it may be in order, and only the mixture is not.
  return [...label].every((letter) => inScript.some((writing) => writing.test(letter)))
    ? 'The name mixes scripts within a label, which makes look-alikes of other names. Write each label in one script.'
    : 'The name is written in a script that is not in common use today. Use another.';
}

/** Characters that scripts share (digits, hyphens, marks) fit in with any. */
function writtenIn(scripts: readonly string[]): RegExp {
  const classes = [...scripts, 'Common', 'Inherited'].map((script) => `\\p{Script_Extensions=${script}}`);
  return new RegExp(`^[${classes.join('')}]*$`, 'u');
}
