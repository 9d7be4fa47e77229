/** Runs each command of a JSON list from standard input in a box of its own, and prints what became of them. */
import { text } from 'node:stream/consumers';
import { findSandbox } from '../../src/platform/sandbox/find-sandbox.ts';
import { createHostFolder } from '../../src/platform/sandbox/host-folder.ts';
import { runBox } from '../../src/platform/sandbox/run-box.ts';
import { SANDBOX_SETTINGS } from './sandbox.ts';

const commands: string[] = JSON.parse(await text(process.stdin));
const found = await findSandbox(SANDBOX_SETTINGS);
if ('problem' in found) throw new Error(`${found.problem}. ${found.mend}`);
const host = await createHostFolder();
const outcomes = [];
try {
  for (const command of commands) {
    const { exitCode, stdout, stderr } = await runBox({
      ...{
        programs: found.programs,
        settings: SANDBOX_SETTINGS,
        cgroups: undefined,
        slot: 0,
        secrets: new Map(),
        command,
        timeoutMs: 10_000,
      },
      mounts: { hostFolder: host.path, skills: new Map(), hidden: [] },
      filling: undefined,
      takeWorkspace: async () => undefined,
      started: async () => undefined,
      finished: async () => undefined,
      signal: new AbortController().signal,
    });
    outcomes.push({ exitCode, stdout: stdout.text, stderr: stderr.text, isUp: true });
  }
} finally {
  await host.remove();
}
process.stdout.write(JSON.stringify(outcomes));
