const HIGHEST = 0x10ffff;
const FIRST_SURROGATE = 0xd800;
const LAST_SURROGATE = 0xdfff;

/**
 * The texts that begin with a prefix, as a range in the order of code points (which is that of UTF-8's bytes and of an
 * index with text_pattern_ops): from the prefix on, below the returned text. Undefined: nothing is above them all.
 */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.length > 0) {
    const last = points.pop() ?? HIGHEST;
    if (last === HIGHEST) continue;
    // Surrogates are no characters: the one after the last before them is the first after them.
    const next = last + 1 === FIRST_SURROGATE ? LAST_SURROGATE + 1 : last + 1;
    return String.fromCodePoint(...points, next);
  }
  return undefined;
}
