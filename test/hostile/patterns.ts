/** Regular expressions of callers that a backtracking engine does not come back from. */
import type { PatternCase } from './cases.ts';

export const patterns: readonly PatternCase[] = [
  { name: 'a word', pattern: '^[a-z]+$', value: () => 'word', answer: 'accepted' },
];
