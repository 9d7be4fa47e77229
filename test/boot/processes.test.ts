/** Several processes that one command starts on one PostgreSQL server: they serve, are watched, and stop as one. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { type Fleet, NEEDS_SERVER, openFleet, patiently } from '../faults/fleet.ts';
import { eventually, question } from '../support/turns.ts';
import { launch, makeFolder, type ServerProcess } from './server-process.ts';

const cleanups: (() => Promise<void>)[] = [];
const t = { after: (work: () => Promise<void>) => void cleanups.unshift(work) };
after(async () => {
  for (const work of cleanups) await work();
});

test('the embedded database refuses several processes, and says what to set', async () => {
  const folder = await makeFolder(t);
  const process_ = launch(['serve'], folder, { IRONCRAFT_PROCESSES: '2' });
  const { code } = await process_.ended;
  assert.notEqual(code, 0);
  assert.match(process_.stderr(), /IRONCRAFT_PROCESSES="2".*set IRONCRAFT_DATABASE_URL/);
});

describe('two processes of one command', { skip: NEEDS_SERVER }, () => {
  let fleet: Fleet;
  let server: ServerProcess;

  before(async () => {
    fleet = await openFleet(t, { store: 'server', only: 'platform', variables: { IRONCRAFT_PROCESSES: '2' } });
    server = await fleet.start();
  });

  test('both serve on one port, and are ready together', async () => {
    assert.equal(childrenOf(server.pid).length, 2);
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
    assert.equal((server.stdout().match(/is ready at/g) ?? []).length, 1, 'people are told once');
    const { rows } = (await fleet.db?.query({ text: 'select id from replicas', values: [] })) ?? { rows: [] };
    assert.equal(rows.length, 2, 'each is a replica');
  });

  test('a page of metrics adds up what both count', async () => {
    const countAnswers = async () => {
      const page = await (await fetch(`${server.url}/metrics`)).text();
      const lines = page.matchAll(/^http_request_duration_seconds_count\{operation="customers\.list".*\} (\d+)$/gm);
      return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const countBefore = await countAnswers();
    const project = fleet.project(server);
    const answers = await Promise.all(Array.from({ length: 20 }, () => patiently(() => project.get('/v1/customers'))));
    assert.ok(answers.every(({ status }) => status === 200));
    await eventually(async () => ((await countAnswers()) - countBefore >= 20 ? true : undefined), 'all are counted');
  });

  test('what is one thing for both is on the page as it is', async () => {
    const form = new FormData();
    form.set('file', new Blob(['0123456789']), 'digits.txt');
    form.set('purpose', 'assistants');
    const stored = await patiently(() => fleet.project(server).post('/v1/files', form));
    assert.equal(stored.status, 200, stored.text);
    const page = await (await fetch(`${server.url}/metrics`)).text();
    assert.match(page, /^stored_file_bytes 10$/m);
  });

  test('one that is killed is replaced, its turns go on in the other, and the server stays ready', async () => {
    const project = fleet.project(server);
    const runs = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const path = `/v1/smiths/${await project.createSmith()}/runs`;
        const asked = question('Write 100 words at 20 words per second');
        const begun = await patiently(() => project.post(path, asked, { prefer: 'respond-async' }));
        assert.equal(begun.status, 201, begun.text);
        return `${path}/${begun.body.id}`;
      }),
    );
    const before_ = childrenOf(server.pid);
    const victim = before_[0] ?? assert.fail('there are two');
    process.kill(victim, 'SIGKILL');
    for (const run of runs) {
      const ended = await eventually(async () => {
        const read = await project.get(run).catch(() => undefined);
        return read?.body?.status === 'completed' ? read.body : undefined;
      }, `${run} ends`);
      assert.equal(ended.output.content.split(' ').length, 100);
    }
    const { rows } = (await fleet.db?.query({
      text: 'select id from runs where interrupted_by is not null',
      values: [],
    })) ?? { rows: [] };
    assert.ok(rows.length > 0 && rows.length < runs.length, `${rows.length} of ${runs.length} were taken over`);
    await eventually(() => {
      const now = childrenOf(server.pid);
      return now.length === 2 && !now.includes(victim) ? now : undefined;
    }, 'it is replaced');
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
    assert.match(server.stderr(), /a process has ended and is replaced/);
  });

  test('all are replaced where all are killed at once, also where the system has no room for one at first', async () => {
    const limitFiles = (count: number) => execFileSync('prlimit', ['--pid', `${server.pid}`, `--nofile=${count}:`]);
    const killed = childrenOf(server.pid);
    assert.equal(killed.length, 2);
    limitFiles(1);
    for (const pid of killed) process.kill(pid, 'SIGKILL');
    const isSaid = () => (server.stderr().includes('a process could not be started') ? true : undefined);
    await eventually(isSaid, 'the system refuses one');
    limitFiles(1_024);
    await eventually(async () => {
      const now = childrenOf(server.pid).filter((pid) => !killed.includes(pid));
      return now.length === 2 && (await isReady(server)) ? now : undefined;
    }, 'both are replaced');
  });

  test('a signal ends all of them in order', async () => {
    const children = childrenOf(server.pid);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    for (const pid of children) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });
});

async function isReady({ url }: ServerProcess): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`).catch(() => undefined);
  return answer?.status === 200;
}

/** Processes of Node that this one has started. */
function childrenOf(pid: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [, parent] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8')) ?? [];
      return Number(parent) === pid ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}
