import { randomInt } from 'node:crypto';

/** Without 0, O, 1, I and l: people type them. The marks are ones that every registry and XML take as they are. */
const CLASSES = ['ABCDEFGHJKLMNPQRSTUVWXYZ', 'abcdefghijkmnopqrstuvwxyz', '23456789', '!#%+-_'] as const;
/** RFC 9154 4.1: at least 128 random bits. */
const LENGTH = 22;

/**
 * A fresh auth code (RFC 5731's authInfo): 22 characters with a capital, a small letter, a digit and a mark among them,
 * which the rules of registries agree on. About 131 random bits.
 */
export function makeAuthCode(): string {
  const any = CLASSES.join('');
  for (;;) {
    const code = Array.from({ length: LENGTH }, () => any.charAt(randomInt(any.length))).join('');
    // Drawn again rather than corrected, so that every allowed code is equally likely.
    if (CLASSES.every((characters) => [...characters].some((character) => code.includes(character)))) return code;
  }
}
