/** Gives each property of fast-check the seed of the test that asserts it. A failure of fast-check prints that seed and the path of the example. */
import { getTestContext } from 'node:test';
import fc from 'fast-check';
import { examples, seedFor } from '../support/seed.ts';

/** For this process. fast-check reads what is set here at each assertion, so that the seed is that of the test which runs then. */
export function seedProperties(): void {
  fc.configureGlobal({
    numRuns: examples(50, 400),
    get seed() {
      return seedFor(getTestContext()?.fullName ?? 'outside of tests');
    },
  });
}
