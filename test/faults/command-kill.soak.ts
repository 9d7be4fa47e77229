/**
 * A server is killed with -9 while a command runs: the command dies with it and is not made again, and the next one of the run
 * begins, on whichever replica has the run, with the workspace as the last finished one left it.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { describe, type TestContext, test } from 'node:test';
import { makeFolder, waitFor } from '../boot/server-process.ts';
import { whyNoBoxes } from '../support/sandbox.ts';
import { NEEDS_NO_SERVER, NEEDS_SERVER, openFleet } from './fleet.ts';

const skip = await whyNoBoxes();
const WAIT_MS = 60_000;
const ASYNC = { prefer: 'respond-async' };

interface Event {
  readonly type: string;
  readonly data: { readonly args?: { readonly command: string }; readonly output?: Record<string, unknown> };
}

async function killDuringCommand(t: TestContext, store: 'embedded' | 'server'): Promise<void> {
  const fleet = await openFleet(t, { store, only: 'platform' });
  // Replicas share the files, and the machine its temporary ones.
  const scratch = await makeFolder(t);
  // Boxes of a server that root started have users of their own, who must get there.
  await chmod(scratch, 0o711);
  const variables = { IRONCRAFT_DATA_DIR: fleet.dataDir, TMPDIR: scratch };
  const first = await fleet.start(variables);
  const before = fleet.project(first);
  const smithId = await before.createSmith({ enabled_hosted_tools: ['run_command'] });
  // Nobody else sleeps for so long.
  const sleep = `sleep ${100_000 + process.pid}.5`;
  const commands = ['echo kept > a', `echo lost > b; ${sleep}`, 'cat a; ls'];
  const content = commands
    .map(
      (command, index) =>
        `${index === 0 ? 'Call' : 'then call'} the tool run_command with ${JSON.stringify({ command })}`,
    )
    .join(', ');
  const begun = await before.post(`/v1/smiths/${smithId}/runs`, { input: [{ role: 'user', content }] }, ASYNC);
  assert.ok(begun.status < 300, begun.text);
  await waitFor('command that sleeps', WAIT_MS, async () => (isRunning(sleep) ? true : undefined));
  first.kill('SIGKILL');
  await first.ended;
  await waitFor('end of the command', WAIT_MS, async () => (isRunning(sleep) ? undefined : true));
  assert.equal(foldersOf(scratch, first.pid).length, 1);

  const second = await fleet.start(variables);
  const project = fleet.project(second);
  assert.deepEqual(foldersOf(scratch, first.pid), [], 'what the dead process left is gone');
  const run = await waitFor('end of the run', WAIT_MS, async () => {
    const { body } = await project.get(`/v1/smiths/${smithId}/runs/${begun.body.id}`);
    return body.status === 'in_progress' ? undefined : body;
  });
  assert.equal(run.status, 'completed', JSON.stringify(run));
  const events: Event[] = (await project.get('/v1/events?type=tool.&limit=100')).body.data.reverse();
  const made = events.filter(({ type }) => type === 'tool.executing').map(({ data }) => data.args?.command);
  assert.deepEqual(made, commands);
  const outputs = events.filter(({ type }) => type === 'tool.completed').map(({ data }) => data.output);
  assert.equal(outputs[0]?.exit_code, 0, JSON.stringify(outputs));
  assert.match(String(outputs[1]?.error), /outcome is unknown/);
  assert.equal(outputs[2]?.stdout, 'kept\na\ninput\noutput\n');
  const started = (await project.get('/v1/events?type=sandbox.started')).body.data;
  assert.equal(started.length, 1);
}

function isRunning(command: string): boolean {
  return execFileSync('ps', ['-eo', 'args']).toString().split('\n').includes(command);
}

/** The folders for boxes of a process. */
function foldersOf(scratch: string, pid: number): string[] {
  return readdirSync(scratch).filter((name) => new RegExp(`^ironcraft-sandbox-\\d+-${pid}-`).test(name));
}

describe('a server killed during a command', { skip }, () => {
  test('on the embedded store', { skip: NEEDS_NO_SERVER }, (t) => killDuringCommand(t, 'embedded'));
  test('on PostgreSQL, by another replica', { skip: NEEDS_SERVER }, (t) => killDuringCommand(t, 'server'));
});
