/** Whether this machine can run commands of models, found out by running one. */
import type { Config } from '../../kernel/config/config.ts';
import { findSandbox, locateCgroup } from '../../platform/sandbox/index.ts';
import { type Finding, ok, warning } from './finding.ts';

export async function checkSandbox({ sandbox }: Pick<Config, 'sandbox'>): Promise<Finding> {
  const found = await findSandbox(sandbox);
  if ('problem' in found) return warning('sandbox', `run_command is not available: ${found.problem}`, found.mend);
  const user = found.programs.setpriv === undefined ? '' : `, as uid ${sandbox.firstUid} and above`;
  return ok('sandbox', `bubblewrap ${found.version}${user}; ${describeMemory(sandbox.cgroup)}`);
}

/** As a server would find it that is started where this command was: cgroups are those of whoever starts it. */
function describeMemory(setting: string): string {
  const located = locateCgroup(setting);
  return 'reason' in located
    ? `memory of boxes is watched, not limited by the kernel: ${located.reason}. ${located.mend}`
    : `memory of boxes is limited by cgroups below ${located.base}`;
}
