/** The box that commands of `run_command` run in, as the rest of the platform knows it. */
export { locateCgroup } from './cgroup/locate-cgroup.ts';
export { findSandbox } from './find-sandbox.ts';
export { createRunCommand } from './run-command.ts';
export { createSandbox, type SkillFile } from './sandbox.ts';
export type { SandboxFiles } from './sandbox-files.ts';
export { defineSandboxJobs } from './sandbox-jobs.ts';
export type { SandboxSettings } from './sandbox-settings.ts';
export { sandboxSecretContext } from './secret-context.ts';
