/** Boxes in cgroups of the kernel, on machines that have delegated one to whoever runs the tests. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SANDBOX_SETTINGS, whyNoBoxes } from '../../../../test/support/sandbox.ts';
import type { BoxPrograms, BoxRequest } from '../box-request.ts';
import { findSandbox } from '../find-sandbox.ts';
import { createHostFolder, type HostFolder } from '../host-folder.ts';
import { type BoxOutcome, runBox } from '../run-box.ts';
import { readTarStream } from '../tar-stream.ts';
import { BOX_PREFIX, type BoxCgroups } from './box-cgroup.ts';
import { locateCgroup } from './locate-cgroup.ts';
import { prepareCgroups } from './prepare-cgroups.ts';

const MEMORY_BYTES = 128 * 1024 ** 2;

async function whyNoCgroups(): Promise<string | false> {
  const located = locateCgroup('auto');
  return 'reason' in located ? `no cgroup for boxes: ${located.reason}. ${located.mend}` : whyNoBoxes();
}

const skip = await whyNoCgroups();

describe('boxes in cgroups', { skip }, () => {
  let cgroups: BoxCgroups;
  let programs: BoxPrograms;
  let host: HostFolder;
  before(async () => {
    const prepared = await prepareCgroups('auto');
    assert.ok(!('reason' in prepared), JSON.stringify(prepared));
    cgroups = prepared;
    const found = await findSandbox(SANDBOX_SETTINGS, cgroups);
    assert.ok(!('problem' in found), JSON.stringify(found));
    programs = found.programs;
    host = await createHostFolder();
  });
  after(async () => {
    await cgroups?.settled();
    await host?.remove();
  });

  const listBoxes = () => readdirSync(cgroups.base).filter((name) => name.startsWith(BOX_PREFIX));

  async function tryCommand(
    command: string,
    { slot = 0, started = async () => undefined, signal = new AbortController().signal }: Partial<BoxRequest> = {},
  ): Promise<BoxOutcome & { readonly kept: readonly string[] }> {
    const kept: string[] = [];
    const outcome = await runBox({
      ...{
        programs,
        cgroups,
        slot,
        command,
        started,
        signal,
        timeoutMs: 60_000,
        secrets: new Map(),
        filling: undefined,
      },
      settings: { ...SANDBOX_SETTINGS, memoryBytes: MEMORY_BYTES },
      finished: async () => undefined,
      mounts: { hostFolder: host.path, skills: new Map(), hidden: [] },
      takeWorkspace: async (tar) => {
        for await (const { path } of readTarStream(tar, { maxBytes: 1_000_000, maxEntries: 100 })) kept.push(path);
      },
    });
    return { ...outcome, kept };
  }

  /** Each stays below what one process may have. */
  const hogs = (count: number, mebibytes: number) =>
    `${`python3 -c "import time; x = b'x' * (${mebibytes} << 20); time.sleep(600)" & `.repeat(count)} wait; echo fine`;

  test('two processes that take too much together are ended, and no neighbour is', { timeout: 240_000 }, async () => {
    const other = new AbortController();
    const begun = Promise.withResolvers<void>();
    let lives = true;
    const neighbour = tryCommand(hogs(1, 80), { slot: 1, signal: other.signal, started: async () => begun.resolve() })
      .then(({ exitCode }) => assert.fail(`the neighbour ended with ${exitCode}`))
      .catch((error: unknown) => error)
      .finally(() => {
        lives = false;
      });
    await begun.promise;
    const { exitCode, excess, stdout, workspaceProblem, kept } = await tryCommand(`echo x > kept; ${hogs(2, 80)}`);
    assert.deepEqual([exitCode, excess, stdout.text, workspaceProblem], [137, 'memory', '', undefined]);
    assert.ok(kept.includes('workspace/kept'), kept.join());
    assert.ok(lives);
    other.abort(new Error('enough'));
    assert.equal(String(await neighbour), 'Error: enough');
    await cgroups.settled();
    assert.deepEqual(listBoxes(), []);
  });

  test('a command has the limits, and is in its own part', { timeout: 120_000 }, async () => {
    const seen: Record<string, string> = {};
    const { exitCode } = await tryCommand('true', {
      started: async () => {
        const [name = ''] = listBoxes();
        for (const file of ['memory.max', 'memory.swap.max', 'pids.max', 'command/memory.oom.group']) {
          const path = join(cgroups.base, name, file);
          if (existsSync(path)) seen[file] = readFileSync(path, 'utf8').trim();
        }
        const inside = readFileSync(join(cgroups.base, name, 'supervisor/cgroup.procs'), 'utf8');
        assert.notEqual(inside, '');
      },
    });
    assert.equal(exitCode, 0);
    assert.equal(seen['memory.max'], String(MEMORY_BYTES));
    assert.equal(seen['command/memory.oom.group'], '1');
    assert.ok(['0', undefined].includes(seen['memory.swap.max']));
    assert.ok([String(SANDBOX_SETTINGS.processes + 4), undefined].includes(seen['pids.max']));
  });

  test('files are memory', { timeout: 120_000 }, async () => {
    const { excess } = await tryCommand('head -c 140M /dev/zero > /workspace/big; sleep 60');
    assert.equal(excess, 'memory');
  });

  test('what outlives its command goes with the cgroup', { timeout: 120_000 }, async () => {
    const { exitCode, excess } = await tryCommand('(setsid sleep 600 &); exit 4');
    assert.deepEqual([exitCode, excess], [4, undefined]);
    await cgroups.settled();
    assert.deepEqual(listBoxes(), []);
  });

  test('what a server left that was killed is ended at the next start', { timeout: 120_000 }, async () => {
    const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0];
    const left = join(cgroups.base, `${BOX_PREFIX}${namespace}-4194305-abcd-1`);
    mkdirSync(join(left, 'command'), { recursive: true });
    const sleeper = spawn('sleep', ['600'], { stdio: 'ignore' });
    const ended = once(sleeper, 'exit');
    writeFileSync(join(left, 'command/cgroup.procs'), String(sleeper.pid));
    const prepared = await prepareCgroups(cgroups.base);
    assert.ok(!('reason' in prepared), JSON.stringify(prepared));
    assert.deepEqual((await ended)[1], 'SIGKILL');
    assert.equal(existsSync(left), false);
  });
});
