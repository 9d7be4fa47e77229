/** What a box may take, at the limit and beyond it; and what it hands out, read as a stranger's. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { SANDBOX_SETTINGS, whyNoBoxes } from '../../../test/support/sandbox.ts';
import type { BoxPrograms } from './box-request.ts';
import { findSandbox } from './find-sandbox.ts';
import { createHostFolder, type HostFolder } from './host-folder.ts';
import { type BoxOutcome, runBox } from './run-box.ts';
import type { SandboxSettings } from './sandbox-settings.ts';
import { readTarStream } from './tar-stream.ts';

const skip = await whyNoBoxes();
const MIB = 1024 ** 2;
/** Longer than any command takes here that is to come to an end by itself. */
const PATIENT_MS = 120_000;
/** Of a command that goes on without end, and long enough for what it does first. */
const SHORT_MS = 2_000;

let host: HostFolder;
let programs: BoxPrograms;
before(async () => {
  if (skip !== false) return;
  const found = await findSandbox(SANDBOX_SETTINGS);
  assert.ok(!('problem' in found));
  programs = found.programs;
  host = await createHostFolder();
});
after(() => host?.remove());

type Tried = BoxOutcome & { readonly entries: Readonly<Record<string, number>> };

async function tryCommand(
  command: string,
  { timeoutMs = PATIENT_MS, ...changed }: Partial<SandboxSettings> & { readonly timeoutMs?: number } = {},
): Promise<Tried> {
  const settings = { ...SANDBOX_SETTINGS, ...changed };
  const entries: Record<string, number> = {};
  const outcome = await runBox({
    ...{
      programs,
      settings,
      cgroups: undefined,
      slot: 0,
      command,
      timeoutMs,
      secrets: new Map([['KEY', 'a-secret-value']]),
    },
    mounts: { hostFolder: host.path, skills: new Map(), hidden: [] },
    filling: undefined,
    takeWorkspace: async (tar) => {
      const limits = { maxBytes: settings.workspaceBytes, maxEntries: 1_000 };
      for await (const { path, kind, bytes } of readTarStream(tar, limits)) {
        if (kind !== 'folder') entries[path.replace('workspace/', '')] = bytes;
      }
    },
    started: async () => undefined,
    finished: async () => undefined,
    signal: new AbortController().signal,
  });
  return { ...outcome, entries };
}

describe('a box', { skip }, () => {
  test('a box ends its command when its time is over, and keeps what the command had written', async () => {
    const limits = { timeoutMs: SHORT_MS };
    const { timedOut, exitCode, entries } = await tryCommand('echo x > kept; sleep 600', limits);
    assert.deepEqual([timedOut, exitCode, entries], [true, 137, { kept: 2 }]);
  });

  test('a box ends what its command leaves running', async () => {
    const marker = `sleep ${400_000 + process.pid}`;
    // Were it waited for, the time of the command would be over first.
    const { exitCode, timedOut } = await tryCommand(`(setsid ${marker} &) ; (trap '' HUP TERM; ${marker}) & exit 4`);
    assert.deepEqual([exitCode, timedOut], [4, false]);
    const { stdout } = await tryCommand('cat /proc/[0-9]*/cmdline | tr "\\0" " "');
    assert.ok(!stdout.text.includes(marker));
  });

  test('writes to its output by name, too', async () => {
    const { stdout, stderr, exitCode } = await tryCommand(
      'echo one > /dev/stdout && echo two > /dev/stderr && echo three | tee /dev/stderr /proc/self/fd/1',
    );
    assert.deepEqual([exitCode, stdout.text, stderr.text], [0, 'one\nthree\nthree\n', 'two\nthree\n']);
  });

  test('keeps what is left behind, in folders of its own too, and nothing where nothing is', async () => {
    assert.deepEqual((await tryCommand('true')).entries, {});
    assert.deepEqual((await tryCommand('echo x > input/.hidden; mkdir deep; echo y > deep/b')).entries, {
      'input/.hidden': 2,
      'deep/b': 2,
    });
    assert.deepEqual((await tryCommand('rmdir input output; ln -s / output; ln -s /usr input')).entries, {
      input: 0,
      output: 0,
    });
    assert.deepEqual((await tryCommand('mv output other')).workspaceProblem, undefined);
  });

  test('keeps as much of a stream as it may, and says that there was more', async () => {
    const limits = { streamBytes: 10_000 };
    const whole = await tryCommand('head -c 10000 /dev/zero | tr "\\0" x', limits);
    assert.deepEqual([whole.stdout.text.length, whole.stdout.truncated], [10_000, false]);
    const more = await tryCommand('head -c 10001 /dev/zero | tr "\\0" x >&2', limits);
    assert.deepEqual([more.stderr.text.length, more.stderr.truncated], [10_000, true]);
    const long = await tryCommand('yes | head -c 8M; sleep 600', { ...limits, timeoutMs: SHORT_MS });
    assert.deepEqual([long.stdout.text.length, long.timedOut], [10_000, true]);
    const cut = await tryCommand('head -c 9995 /dev/zero | tr "\\0" x; echo $KEY', limits);
    assert.ok(!cut.stdout.text.includes('a-se'), cut.stdout.text.slice(-10));
  });

  test('a box ends its command when its processes take too much memory together, and not before', async () => {
    const hog = (mebibytes: number, seconds: number) =>
      `python3 -c "import time; x = b'x' * (${mebibytes} << 20); time.sleep(${seconds})" & `.repeat(4);
    const limits = { memoryBytes: 256 * MIB };
    const below = await tryCommand(`${hog(30, 0.5)} wait; echo fine`, limits);
    assert.deepEqual([below.excess, below.stdout.text], [undefined, 'fine\n']);
    const beyond = await tryCommand(`${hog(100, 600)} wait; echo fine`, limits);
    assert.deepEqual([beyond.excess, beyond.stdout.text], ['memory', '']);
    const alone = await tryCommand(`python3 -c "x = b'x' * (300 << 20)" || echo refused`, limits);
    assert.equal(alone.stdout.text, 'refused\n');
  });

  test('a box ends its command when its files take too much memory', async () => {
    const limits = { memoryBytes: 64 * MIB, workspaceBytes: 256 * MIB };
    const { excess } = await tryCommand('head -c 100M /dev/zero > big; sleep 600', limits);
    assert.equal(excess, 'memory');
  });

  test('a box holds a fork bomb until its time is over', async () => {
    const { timedOut, entries } = await tryCommand('echo x > kept; bomb() { bomb | bomb & }; bomb; sleep 600', {
      processes: 32,
      timeoutMs: SHORT_MS,
    });
    assert.deepEqual([timedOut, entries], [true, { kept: 2 }]);
  });

  test('has so many processes and no more', async () => {
    const many = (count: number) =>
      `python3 -c "import os, time
for i in range(${count}):
    if os.fork() == 0: time.sleep(1); os._exit(0)
print('made')" 2>&1 | tail -n 1`;
    // Beside them: the shell, Python and tail.
    assert.equal((await tryCommand(many(28), { processes: 32 })).stdout.text, 'made\n');
    assert.match((await tryCommand(many(40), { processes: 32 })).stdout.text, /unavailable/);
  });

  test('has a workspace of its size', async () => {
    const limits = { workspaceBytes: 8 * MIB };
    const below = await tryCommand('head -c 7M /dev/zero > a && echo fits', limits);
    assert.deepEqual([below.stdout.text, below.entries], ['fits\n', { a: 7 * MIB }]);
    const beyond = await tryCommand('head -c 5M /dev/zero > a; head -c 5M /dev/zero > b || echo full', limits);
    assert.equal(beyond.stdout.text, 'full\n');
    for (const path of ['/tmp/x', '/dev/shm/x']) {
      assert.equal((await tryCommand(`head -c 20M /dev/zero > ${path} || echo full`, limits)).stdout.text, 'full\n');
    }
  });

  test('ends a command that makes too many files', async () => {
    const { excess } = await tryCommand(
      "python3 -c \"for i in range(10**6): open(f'/tmp/{i}', 'w').close()\"; echo done",
    );
    assert.equal(excess, 'files');
  });

  test('hands out plain files alone: no links, pipes or sockets, and none that is larger than it', async () => {
    const { entries, workspaceProblem } = await tryCommand(
      `echo x > output/plain; ln output/plain output/hard; ln -s /etc/passwd output/soft; ln -s / output/root; mkfifo output/pipe
       python3 -c "import socket; socket.socket(1).bind('output/socket')"
       printf 'y' > $'output/new\\nline'; printf z > "output/..."; printf w > output/$(printf 'n%.0s' $(seq 200))`,
    );
    assert.equal(workspaceProblem, undefined);
    assert.deepEqual(
      Object.entries(entries).sort(([one], [other]) => (one < other ? -1 : 1)),
      [
        ['output/...', 1],
        ['output/hard', 2],
        ['output/new\nline', 1],
        [`output/${'n'.repeat(200)}`, 1],
        ['output/plain', 2],
        ['output/root', 0],
        ['output/soft', 0],
      ],
    );
  });

  test('does not hand out what is larger than it may be, however small it is stored', async () => {
    const limits = { workspaceBytes: 8 * MIB };
    const terabyte = await tryCommand('truncate -s 1T output/sparse; echo $?', limits);
    assert.deepEqual([terabyte.stdout.text === '0\n', terabyte.entries], [false, { 'output/sparse': 0 }]);
    const several = await tryCommand('for i in 1 2 3; do truncate -s 4M output/$i; done', limits);
    assert.match(String(several.workspaceProblem), /larger than 8388608 bytes/);
    const many = await tryCommand('for i in $(seq 2000); do : > $i; done', limits);
    assert.match(String(many.workspaceProblem), /more than 1000 files/);
  });

  test('does not hand out a tree that could not be opened again', async () => {
    const { workspaceProblem } = await tryCommand(
      `python3 -c "import os
for i in range(200): os.mkdir('d' * 100); os.chdir('d' * 100)"`,
    );
    assert.match(String(workspaceProblem), /path is longer than 4000 bytes/);
  });

  test('runs scripts of Node', async () => {
    const node = existsSync('/usr/bin/node') || existsSync('/usr/local/bin/node');
    const { stdout } = await tryCommand(node ? 'node -e "console.log(6 * 7)"' : 'echo 42');
    assert.equal(stdout.text, '42\n');
  });
});
