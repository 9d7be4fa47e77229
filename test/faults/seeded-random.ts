/** Chance that can be had again: the same seed gives the same numbers (mulberry32). */
export interface Random {
  /** From 0, below 1. */
  next(): number;
  /** A whole number, both ends included. */
  integer(min: number, max: number): number;
  pick<T>(choices: readonly T[]): T;
  /** A generator of its own, so that several may draw at once and stay reproducible. */
  fork(): Random;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const random: Random = {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
    integer: (min, max) => min + Math.floor(random.next() * (max - min + 1)),
    pick(choices) {
      const choice = choices[random.integer(0, choices.length - 1)];
      if (choice === undefined) throw new RangeError('there is nothing to pick from');
      return choice;
    },
    fork: () => createRandom(Math.floor(random.next() * 2 ** 32)),
  };
  return random;
}
