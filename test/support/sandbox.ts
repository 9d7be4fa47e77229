/** Boxes of tests: real ones, where this machine can make them. */
import { findSandbox, type SandboxSettings } from '../../src/platform/sandbox/index.ts';

/** As the environment has it by default, but for the cgroups, for which the process of the tests would be moved. */
export const SANDBOX_SETTINGS: SandboxSettings = {
  bubblewrap: undefined,
  commandMs: 60_000,
  memoryBytes: 512 * 1024 ** 2,
  processes: 128,
  streamBytes: 1024 ** 2,
  workspaceBytes: 256 * 1024 ** 2,
  boxes: 8,
  firstUid: 60_600,
  cgroup: 'off',
};

/** Why tests of boxes are skipped here; false where they run. */
export async function whyNoBoxes(): Promise<string | false> {
  const found = await findSandbox(SANDBOX_SETTINGS);
  return 'problem' in found ? `no boxes on this machine: ${found.problem}. ${found.mend}` : false;
}
