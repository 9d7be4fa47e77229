import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { startProgram } from './spawner.ts';
import type { ProcessEnd } from './start-process.ts';
import type { Descriptor } from './start-program.ts';

const skip = process.platform === 'linux' ? false : 'programs are started in this way on Linux alone';

function start(script: string, descriptors: readonly Descriptor[], program = '/bin/sh') {
  const channel = Promise.withResolvers<Socket | undefined>();
  const ended = Promise.withResolvers<ProcessEnd>();
  let told = '';
  const handle = startProgram(
    { program, args: ['-c', script], descriptors },
    {
      started: channel.resolve,
      told: (text) => {
        told += text;
      },
      ended: (end) => {
        channel.resolve(undefined);
        ended.resolve(end);
      },
    },
  );
  return { handle, channel: channel.promise, ended: ended.promise, told: () => told };
}

const NOTHING: Descriptor = { kind: 'nothing' };

test('a program has the descriptors that it is to have, and no environment', { skip, timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-program-'));
  try {
    const [from, to] = [join(folder, 'from'), join(folder, 'to')];
    await writeFile(from, 'of a file');
    const script =
      'cat <&3; cat <&4; cat <&5; echo "$(env | grep -vE "^(PWD|_|SHLVL)=")" >&6; cat <&7; read -r line <&8; echo "$line back" >&8';
    const { handle, channel, ended, told } = start(script, [
      ...[
        NOTHING,
        { kind: 'file', path: to, mode: 'w' } as const,
        NOTHING,
        { kind: 'text', text: 'a text, ' } as const,
      ],
      ...[{ kind: 'file', path: from, mode: 'r' } as const, NOTHING, { kind: 'told' } as const],
      ...[{ kind: 'held' } as const, { kind: 'channel' } as const],
    ]);
    const socket = await channel;
    assert.ok(socket !== undefined);
    const said = buffer(socket);
    socket.write('there and\n');
    while (told() === '') await new Promise((resolve) => setImmediate(resolve));
    handle.release();
    assert.equal((await said).toString(), 'there and back\n');
    assert.deepEqual(await ended, { code: 0, signal: null, output: '' });
    assert.equal(told(), '\n');
    assert.equal(await readFile(to, 'utf8'), 'a text, of a file');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a program that is not there, or is killed, is told so', { skip, timeout: 60_000 }, async () => {
  const missing = start('true', [NOTHING, NOTHING, NOTHING, { kind: 'channel' }], '/nowhere/program');
  assert.match((await missing.ended).output, /ENOENT/);
  assert.equal(await missing.channel, undefined);
  const killed = start('read -r line <&3', [NOTHING, NOTHING, NOTHING, { kind: 'channel' }]);
  await killed.channel;
  killed.handle.kill();
  assert.equal((await killed.ended).signal, 'SIGKILL');
  (await killed.channel)?.destroy();
});
