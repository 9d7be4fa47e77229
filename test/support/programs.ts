/**
 * Programs that nobody here wrote, and tests talk to. `.ci/run` demands them: where the tests decide about a change, one whose program is
 * missing fails with what to install. Elsewhere it is skipped, with the same words.
 */
const areRequired = process.env.IRONCRAFT_TEST_PROGRAMS === 'required';

/** Whether it is there. Throws where it is demanded. */
export function requireProgram(isInstalled: boolean, missing: string): boolean {
  if (isInstalled || !areRequired) return isInstalled;
  throw new Error(missing);
}
