/** Several processes that one command starts: all of them are killed. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { NEEDS_SERVER } from '../faults/fleet.ts';
import { eventually } from '../support/turns.ts';
import { childrenOf, startTwoProcesses, untilReplaced } from './several-processes.ts';

test('a server of several processes replaces all where all are killed at once, also where the system has no room for one at first', {
  skip: NEEDS_SERVER,
}, async (t) => {
  const { server } = await startTwoProcesses({ after: (work) => t.after(work) });
  const limitFiles = (count: number) => execFileSync('prlimit', ['--pid', `${server.pid}`, `--nofile=${count}:`]);
  const killed = childrenOf(server.pid);
  assert.equal(killed.length, 2);
  limitFiles(1);
  for (const pid of killed) process.kill(pid, 'SIGKILL');
  const isSaid = () => (server.stderr().includes('a process could not be started') ? true : undefined);
  await eventually(isSaid, 'the system refuses one');
  limitFiles(1_024);
  await untilReplaced(server, killed);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
});
