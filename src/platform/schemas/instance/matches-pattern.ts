import { compilePattern } from '../child/linear-pattern.ts';

/** Whether a text matches a caller's regular expression; no, where that is none. */
export function matchesPattern(pattern: string, text: string): boolean {
  try {
    return compilePattern(pattern).test(text);
  } catch {
    return false;
  }
}
