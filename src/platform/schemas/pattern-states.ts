/**
 * About how many states the automaton of a regular expression has: an estimate from above that reads each character once
 * and compiles nothing. Bounded repetitions are what makes a short expression large, for each is written out.
 */
export function estimateStates(pattern: string): number {
  const outer: { readonly states: number; readonly last: number }[] = [];
  // Of the group that is open, and of the last thing read in it, to which a repetition would apply.
  let states = 0;
  let last = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    switch (pattern[at]) {
      case '(':
        outer.push({ states, last });
        states = 0;
        last = 0;
        break;
      case ')': {
        const before = outer.pop();
        last = states + 2;
        states = last + (before?.states ?? 0);
        break;
      }
      case '{': {
        const repetition = readRepetition(pattern, at);
        if (repetition === undefined) {
          last = 1;
          states += 1;
          break;
        }
        states += last * Math.max(0, repetition.times - 1);
        last *= Math.max(1, repetition.times);
        at = repetition.end;
        break;
      }
      case '*':
      case '+':
      case '?':
      case '|':
        states += 1;
        last += 1;
        break;
      case '[':
        at = findClassEnd(pattern, at);
        last = 1;
        states += 1;
        break;
      case '\\':
        at += 1;
        last = 1;
        states += 1;
        break;
      default:
        last = 1;
        states += 1;
    }
  }
  return outer.reduce((sum, each) => sum + each.states, states);
}

const REPETITION = /\{(\d{1,9})(?:(,)(\d{0,9}))?\}/y;

/** `{2}`, `{2,}` or `{2,5}` at this place. Undefined where the brace stands for itself. */
function readRepetition(pattern: string, at: number): { readonly times: number; readonly end: number } | undefined {
  REPETITION.lastIndex = at;
  const found = REPETITION.exec(pattern);
  if (found === null) return undefined;
  const [text, least = '', comma, most = ''] = found;
  const times = comma === undefined ? Number(least) : most === '' ? Number(least) + 1 : Number(most);
  return { times, end: at + text.length - 1 };
}

/** Where the character class that begins here ends: at its bracket, or with the pattern. */
export function findClassEnd(pattern: string, start: number): number {
  for (let at = start + 1; at < pattern.length; at += 1) {
    if (pattern[at] === '\\') at += 1;
    else if (pattern[at] === ']') return at;
  }
  return pattern.length;
}
