/**
 * The seed of everything that tests draw at random. The gate has a written one, so that a commit gives the same result each
 * time; the soak sets IRONCRAFT_TEST_SEED to a fresh one, and the same number repeats a run.
 */
import { createHash } from 'node:crypto';

const GATE_SEED = 1;
const MAX_SEED = 2 ** 31 - 1;

/** Of this run: a whole number from 0 to 2,147,483,647. */
export const runSeed: number = readSeed(process.env.IRONCRAFT_TEST_SEED);

function readSeed(text: string | undefined): number {
  if (text === undefined || text === '') return GATE_SEED;
  const seed = Number(text);
  if (!Number.isInteger(seed) || seed < 0 || seed > MAX_SEED) {
    throw new RangeError(`IRONCRAFT_TEST_SEED is a whole number from 0 to ${MAX_SEED}, not ${text}`);
  }
  return seed;
}

/** How many examples a property tries: the gate tries the same few each time, and the soak, with a fresh seed, searches. */
export function examples(ofGate: number, ofSoak: number): number {
  return runSeed === GATE_SEED ? ofGate : ofSoak;
}

/** The seed of one generator: derived from the run's seed and a name, so that two tests do not draw the same numbers. 0 to 2,147,483,647. */
export function seedFor(name: string): number {
  return createHash('sha256').update(`${runSeed} ${name}`).digest().readUInt32BE() & MAX_SEED;
}
