/** Whether this machine can run commands of models, found out by running one. */
import type { Config } from '../../kernel/config/config.ts';
import { findSandbox } from '../../platform/sandbox/index.ts';
import { type Finding, ok, warning } from './finding.ts';

export async function checkSandbox({ sandbox }: Pick<Config, 'sandbox'>): Promise<Finding> {
  const found = await findSandbox(sandbox);
  if ('problem' in found) return warning('sandbox', `run_command is not available: ${found.problem}`, found.mend);
  const user = found.programs.setpriv === undefined ? '' : `, as uid ${sandbox.firstUid} and above`;
  return ok('sandbox', `bubblewrap ${found.version}${user}`);
}
