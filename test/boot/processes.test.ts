/** Several processes that one command starts on one PostgreSQL server: they serve, are watched, and stop as one. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { type Fleet, NEEDS_SERVER } from '../faults/fleet.ts';
import { eventually, FAKE_MODEL, question, useUpstream } from '../support/turns.ts';
import { runVerbInProcess } from './run-verb-in-process.ts';
import { makeFolder, type ServerProcess } from './server-process.ts';
import { childrenOf, startTwoProcesses, untilReplaced } from './several-processes.ts';

const cleanups: (() => Promise<void>)[] = [];
const t = { after: (work: () => Promise<void>) => void cleanups.unshift(work) };
after(async () => {
  for (const work of cleanups) await work();
});

test('the embedded database refuses several processes, and says what to set', async () => {
  const { code, stderr } = await runVerbInProcess(['serve'], await makeFolder(t), { IRONCRAFT_PROCESSES: '2' });
  assert.notEqual(code, 0);
  assert.match(stderr, /IRONCRAFT_PROCESSES="2".*set IRONCRAFT_DATABASE_URL/);
});

describe('two processes of one command', { skip: NEEDS_SERVER }, () => {
  let fleet: Fleet;
  let server: ServerProcess;

  before(async () => {
    ({ fleet, server } = await startTwoProcesses(t));
  });

  async function read(text: string): Promise<readonly object[]> {
    return (await fleet.db?.query({ text, values: [] }))?.rows ?? [];
  }

  test('both serve on one port, and are ready together', async () => {
    assert.equal(childrenOf(server.pid).length, 2);
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
    assert.equal((server.stdout().match(/is ready at/g) ?? []).length, 1, 'people are told once');
    assert.equal((await read('select id from replicas')).length, 2, 'each is a replica');
  });

  test('a page of metrics adds up what both count', async () => {
    const countAnswers = async () => {
      const page = await (await fetch(`${server.url}/metrics`)).text();
      const lines = page.matchAll(/^http_request_duration_seconds_count\{operation="customers\.list".*\} (\d+)$/gm);
      return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const countBefore = await countAnswers();
    const project = fleet.project(server);
    const answers = await Promise.all(Array.from({ length: 20 }, () => project.get('/v1/customers')));
    assert.ok(answers.every(({ status }) => status === 200));
    await eventually(async () => ((await countAnswers()) - countBefore >= 20 ? true : undefined), 'all are counted');
  });

  test('what is one thing for both is on the page as it is', async () => {
    const form = new FormData();
    form.set('file', new Blob(['0123456789']), 'digits.txt');
    form.set('purpose', 'assistants');
    const stored = await fleet.project(server).post('/v1/files', form);
    assert.equal(stored.status, 200, stored.text);
    const page = await (await fetch(`${server.url}/metrics`)).text();
    assert.match(page, /^stored_file_bytes 10$/m);
  });

  test('a process that is killed is replaced, also where the system has no room for one at first, and its turns go on', async () => {
    const upstream = await startOpenAiUpstream();
    t.after(upstream.close);
    const project = fleet.project(server);
    await useUpstream(project, upstream);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    t.after(async () => release());
    upstream.respondWith({ type: 'answer', deltas: ['One', ' two'], holdAt: () => released });
    const runs: string[] = [];
    const begin = async () => {
      const path = `/v1/smiths/${await project.createSmith({ model: FAKE_MODEL })}/runs`;
      const begun = await project.post(path, question('Hello'), { prefer: 'respond-async' });
      assert.equal(begun.status, 201, begun.text);
      runs.push(`${path}/${begun.body.id}`);
    };
    const countReplicas = async () => (await read('select distinct replica_id from runs')).length;
    // Connections are shared out between the two; each is to have a turn.
    await eventually(async () => {
      await Promise.all([begin(), begin()]);
      return (await countReplicas()) === 2 ? true : undefined;
    }, 'both have turns');
    const limitFiles = (count: number) => execFileSync('prlimit', ['--pid', `${server.pid}`, `--nofile=${count}:`]);
    const victim = childrenOf(server.pid)[0] ?? assert.fail('there are two');
    limitFiles(1);
    process.kill(victim, 'SIGKILL');
    const isSaid = () => (server.stderr().includes('a process could not be started') ? true : undefined);
    await eventually(isSaid, 'the system refuses one');
    // Nor could it accept a connection.
    limitFiles(1_024);
    release();
    for (const run of runs) {
      const ended = await eventually(async () => {
        const answer = await project.get(run).catch(() => undefined);
        return answer?.body?.status === 'completed' ? answer.body : undefined;
      }, `${run} ends`);
      assert.equal(ended.output.content, 'One two');
    }
    const takenOver = await read('select id from runs where interrupted_by is not null');
    assert.ok(takenOver.length > 0 && takenOver.length < runs.length, `${takenOver.length} of ${runs.length}`);
    await untilReplaced(server, [victim]);
    assert.match(server.stderr(), /a process has ended and is replaced/);
  });

  test('the command exits after the last of its processes when a signal stops it', async () => {
    const children = childrenOf(server.pid);
    assert.equal(children.length, 2);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    for (const pid of children) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });
});
