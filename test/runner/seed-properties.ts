/** Gives each property of fast-check the seed of the test that asserts it. A failure of fast-check prints that seed and the path of the example. */
import { getTestContext } from 'node:test';
import fc from 'fast-check';
import { isFreshSeed, seedFor } from '../support/seed.ts';

/** Of a property that does not say itself how many examples it tries. The gate tries the same ones each time. */
const EXAMPLES = isFreshSeed ? 400 : 50;

/** For this process. fast-check reads what is set here at each assertion, so that the seed is that of the test which runs then. */
export function seedProperties(): void {
  fc.configureGlobal({
    numRuns: EXAMPLES,
    get seed() {
      return seedFor(getTestContext()?.fullName ?? 'outside of tests');
    },
  });
}
