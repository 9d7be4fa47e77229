/** Boxes are children of a small process, which may die for itself. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { poll } from '../../../test/support/poll.ts';
import { SANDBOX_SETTINGS, whyNoBoxes } from '../../../test/support/sandbox.ts';
import type { BoxPrograms } from './box-request.ts';
import { findSandbox } from './find-sandbox.ts';
import { createHostFolder, type HostFolder } from './host-folder.ts';
import { type BoxOutcome, runBox } from './run-box.ts';

const skip = await whyNoBoxes();
/** After which the test gives up. */
const TIMEOUT_MS = 120_000;

/** Processes whose command line this is a part of, with their parents. */
function findProcesses(part: string): { readonly pid: number; readonly parent: number }[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      if (!/^\d+$/.test(name) || !readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(part)) return [];
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      return [{ pid: Number(name), parent: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) }];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

/** Of a process that waits for nothing else. */
const findOwnStarter = () => findProcesses('spawner-program').find(({ parent }) => parent === process.pid)?.pid;

describe('when the process dies that boxes are started by', { skip }, () => {
  let host: HostFolder;
  let programs: BoxPrograms;
  before(async () => {
    const found = await findSandbox(SANDBOX_SETTINGS);
    assert.ok(!('problem' in found));
    programs = found.programs;
    host = await createHostFolder();
  });
  after(() => host?.remove());

  const runCommand = (
    command: string,
    slot: number,
    started: () => Promise<void> = async () => undefined,
  ): Promise<BoxOutcome> =>
    runBox({
      ...{ programs, settings: SANDBOX_SETTINGS, cgroups: undefined, slot, command, started, timeoutMs: TIMEOUT_MS },
      mounts: { hostFolder: host.path, skills: new Map(), hidden: [] },
      secrets: new Map(),
      filling: undefined,
      takeWorkspace: async () => undefined,
      finished: async () => undefined,
      signal: new AbortController().signal,
    });

  test('boxes end and are told as failed when the process that starts them dies, and the next one comes up', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const marker = `sleep ${200_000 + process.pid}`;
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const outcomes = begun.map(({ resolve }, slot) => runCommand(marker, slot, async () => resolve()));
    await Promise.all(begun.map(({ promise }) => promise));
    const starter = findOwnStarter();
    assert.ok(starter !== undefined);
    process.kill(starter, 'SIGKILL');
    for (const { exitCode, timedOut, workspaceProblem } of await Promise.all(outcomes)) {
      assert.deepEqual([exitCode, timedOut], [137, false]);
      // Its command may die before it, and the box then has time to say so, and to hand out the workspace.
      assert.ok([undefined, 'the box was ended with it'].includes(workspaceProblem), workspaceProblem);
    }
    const areGone = () => findProcesses(marker.replace(' ', '\0')).length === 0 || undefined;
    assert.ok(await poll(areGone, TIMEOUT_MS), 'what the boxes ran has ended');
    const { exitCode, stdout } = await runCommand('echo again', 0);
    assert.deepEqual([exitCode, stdout.text], [0, 'again\n']);
    assert.notEqual(findOwnStarter(), starter);
  });
});
