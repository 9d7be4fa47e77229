/** Boxes of tests: real ones, where this machine can make them. */
import { findSandbox, type SandboxSettings } from '../../src/platform/sandbox/index.ts';

const BOXES = 8;
/** Below 60,000, as a container may have no more than 65,536 users. */
const UID_RANGES = 5_000;

/**
 * As the environment has it by default, but for the cgroups, for which the process of the tests would be moved, and for the users: how
 * many processes a user has is counted over all boxes, and a box that fills up its user's share must not be another file's.
 */
export const SANDBOX_SETTINGS: SandboxSettings = {
  bubblewrap: undefined,
  commandMs: 60_000,
  memoryBytes: 512 * 1024 ** 2,
  processes: 128,
  streamBytes: 1024 ** 2,
  workspaceBytes: 256 * 1024 ** 2,
  boxes: BOXES,
  firstUid: 20_000 + (process.pid % UID_RANGES) * BOXES,
  cgroup: 'off',
};

/** Why tests of boxes are skipped here; false where they run. */
export async function whyNoBoxes(): Promise<string | false> {
  const found = await findSandbox(SANDBOX_SETTINGS);
  return 'problem' in found ? `no boxes on this machine: ${found.problem}. ${found.mend}` : false;
}
