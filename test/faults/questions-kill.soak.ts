/**
 * Questions of MCP servers that are open while every server process dies, and approvals that come many times at once: each
 * call is made once, each question is answered once. IRONCRAFT_FAULT_QUESTIONS and IRONCRAFT_FAULT_APPROVALS set how many.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ServerProcess } from '../boot/server-process.ts';
import { startAskingServer } from '../fakes/asking-mcp-server.ts';
import { startMcpServer } from '../fakes/mcp-server.ts';
import { testServerUrl } from '../support/database.ts';
import { startEverythingServer } from '../support/everything-server.ts';
import type { Answer, TestProject } from '../support/platform.ts';
import { collectFrames } from '../support/read-frames.ts';
import { eventually, isType, smithOf, type TestSmith } from '../support/turns.ts';
import { type Fleet, openFleet, patiently } from './fleet.ts';

const QUESTIONS = Number(process.env.IRONCRAFT_FAULT_QUESTIONS ?? 100);
const APPROVALS = Number(process.env.IRONCRAFT_FAULT_APPROVALS ?? 50);
/** Of one approval, at once. */
const SUBMISSIONS = 10;
const AT_ONCE = 10;

/** Two replicas on the server's store; the embedded one has one process at a time. */
const REPLICAS = testServerUrl() === undefined ? 1 : 2;
const OPTIONS = { store: testServerUrl() === undefined ? 'embedded' : 'server', only: 'platform' } as const;

const cleanups: (() => Promise<void>)[] = [];
let fleet: Fleet;
/** Those that live. What one test has left running the next one takes. */
const alive = new Set<ServerProcess>();

before(async () => {
  fleet = await openFleet({ after: (work) => void cleanups.push(work) }, OPTIONS);
});
after(async () => {
  for (const work of cleanups) await work();
});

/** Starts those that are missing. */
async function startAll(): Promise<readonly ServerProcess[]> {
  while (alive.size < REPLICAS) alive.add(await fleet.start());
  return [...alive];
}

async function killAll(servers: readonly ServerProcess[]): Promise<void> {
  for (const server of servers) {
    alive.delete(server);
    server.kill('SIGKILL');
  }
  for (const server of servers) assert.equal((await server.ended).signal, 'SIGKILL', 'it lived until then');
}

/** One that lives; where there is one at a time, that is started again. */
async function findOther(): Promise<ServerProcess> {
  const [other = await fleet.start()] = alive;
  alive.add(other);
  return other;
}

async function register(project: TestProject, url: string, more: object = {}): Promise<void> {
  const put = await patiently(() => project.put('/v1/tenant/mcp/peer', { url, ...more }));
  assert.ok(put.status < 300, put.text);
  const { body, text } = await patiently(() => project.post('/v1/tenant/mcp/peer/refresh'));
  assert.equal(body.status, 'ready', text);
}

interface Waiting {
  readonly smithId: string;
  readonly runId: string;
  readonly approvalId: string;
}

/** A run of a smith of its own that waits for a person. */
async function makeWaiting(project: TestProject, call: string): Promise<Waiting> {
  const smith = await patiently(() => project.post('/v1/smiths', { model: 'builtin/demo' }));
  const smithId = smith.body.id as string;
  const { body, text } = await patiently(() => smithOf(project, smithId).ask(`Call the tool peer__${call}`));
  assert.equal(body.status, 'paused', text);
  return { smithId, runId: body.id, approvalId: body.output.tool_calls[0].approval_id };
}

async function inTurns<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  for (let from = 0; from < count; from += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - from);
    done.push(...(await Promise.all(Array.from({ length }, (_, n) => work(from + n)))));
  }
  return done;
}

const approvalOf = ({ approvalId }: Waiting, content?: object) => ({
  kind: 'approval',
  approval_id: approvalId,
  decision: 'approve',
  ...(content === undefined ? {} : { content }),
});

function submit(project: TestProject, { smithId, runId }: Waiting, body: Record<string, unknown>): Promise<Answer> {
  return patiently(() => smithOf(project, smithId).submit(runId, body));
}

function at(servers: readonly ServerProcess[], index: number): TestProject {
  return fleet.project(servers[index % servers.length] ?? assert.fail('no server'));
}

async function completed(smith: TestSmith, runId: string) {
  const run = await eventually(async () => {
    const found = await smith.get(runId);
    return found.status === 'completed' ? found : undefined;
  }, `the run ${runId} completes`);
  assert.deepEqual(
    run.output.tool_calls.map(({ status }: { status: string }) => status),
    ['completed'],
    runId,
  );
}

test(`${QUESTIONS} questions that are open while every replica is killed and started again are answered once each`, async (t) => {
  const server = await startAskingServer({ eventIds: true });
  t.after(() => server.close());
  const before = await startAll();
  await register(at(before, 0), server.url);
  const asked = await inTurns(QUESTIONS, (n) => makeWaiting(at(before, n), `ask with {"n":${n}}`));
  await killAll(before);
  const now = await startAll();
  await inTurns(QUESTIONS, async (n) => {
    const waiting = asked[n] ?? assert.fail('no question');
    // Twice, as a person does who is not sure.
    const answers = await Promise.all(
      [n, n + 1].map((index) => submit(at(now, index), waiting, approvalOf(waiting, { name: `${n}` }))),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1, answers.map(({ text }) => text).join());
    await completed(smithOf(at(now, n), waiting.smithId), waiting.runId);
  });
  const answersOf = server.calls.map(({ answers }) => answers.map(({ result }) => JSON.stringify(result)));
  const twice = server.calls.filter(({ answers }) => answers.length > 1).map(({ args }) => Number(args.n));
  t.diagnostic(
    `${QUESTIONS} questions, ${answersOf.flat().length} answers, ${twice.length} twice, ${server.calls.length} calls`,
  );
  assert.equal(server.calls.length, QUESTIONS);
  assert.deepEqual(
    answersOf.map(([first]) => JSON.parse(first ?? '{}').content?.name).sort(),
    server.calls.map(({ args }) => String(args.n)).sort(),
  );
  // Whose replica is so late that it is taken for dead is gone on with at the other one, which cannot know whether the answer has arrived.
  for (const n of twice) {
    const { smithId, runId } = asked[n] ?? assert.fail('no question');
    const frames = await collectFrames(await smithOf(at(now, n), smithId).events(runId));
    assert.ok(frames.some(isType('run.restarted')), `question ${n} was answered twice in one attempt`);
  }
});

test(`${APPROVALS} approvals, each submitted ${SUBMISSIONS} times at once, are ${APPROVALS} calls`, async (t) => {
  const server = await startMcpServer([{ name: 'note' }]);
  t.after(() => server.close());
  const servers = await startAll();
  await register(at(servers, 0), server.url, { approval_policy: [{ match: '*' }] });
  const gated = await inTurns(APPROVALS, (n) => makeWaiting(at(servers, n), `note with {"n":${n}}`));
  assert.equal(server.calls().length, 0);
  const submitted = await Promise.all(
    gated.flatMap((waiting) =>
      Array.from({ length: SUBMISSIONS }, (_, n) => submit(at(servers, n), waiting, approvalOf(waiting))),
    ),
  );
  const taken = submitted.filter(({ status }) => status === 200).length;
  const refused = submitted.filter(({ status }) => status === 409).length;
  for (const { smithId, runId } of gated) await completed(smithOf(at(servers, 0), smithId), runId);
  t.diagnostic(`${submitted.length} submissions, ${taken} taken, ${refused} refused, ${server.calls().length} calls`);
  assert.deepEqual([taken, refused], [APPROVALS, APPROVALS * (SUBMISSIONS - 1)]);
  const seen = server.calls().map(({ params }) => (params.arguments as { n: number }).n);
  assert.deepEqual(
    seen.sort((a, b) => a - b),
    Array.from({ length: APPROVALS }, (_, n) => n),
  );
});

test("the reference server's question is answered at another replica after the one that asked was killed", async (t) => {
  const server = await startEverythingServer('streamableHttp');
  t.after(() => server.close());
  const [first] = await startAll();
  assert.ok(first !== undefined);
  await register(fleet.project(first), server.url);
  const waiting = await makeWaiting(fleet.project(first), 'trigger-elicitation-request with {}');
  await killAll([first]);
  const other = await findOther();
  const smith = smithOf(fleet.project(other), waiting.smithId);
  const answered = await submit(smith.project, waiting, approvalOf(waiting, { name: 'Ada Lovelace' }));
  assert.equal(answered.status, 200, answered.text);
  await completed(smith, waiting.runId);
  const [event] = (await smith.project.get('/v1/events?type=tool.completed&limit=1')).body.data;
  assert.match(JSON.stringify(event.data.output), /Ada Lovelace/);
});

/** Kept by the test's own server: what is held dies with the replica that holds it. */
test('a question that only the killed replica held closes, and its run goes on by itself', async (t) => {
  const server = await startAskingServer({ eventIds: false });
  t.after(() => server.close());
  const [first] = await startAll();
  assert.ok(first !== undefined);
  await register(fleet.project(first), server.url);
  const waiting = await makeWaiting(fleet.project(first), 'ask with {}');
  await killAll([first]);
  const other = await findOther();
  const smith = smithOf(fleet.project(other), waiting.smithId);
  await eventually(
    async () => (await smith.get(waiting.runId)).status === 'completed' || undefined,
    'the run goes on by itself',
  );
  const approval = (await smith.project.get(`/v1/approvals/${waiting.approvalId}`)).body;
  assert.deepEqual([approval.status, approval.actor], ['expired', null]);
  assert.equal(server.calls.length, 1);
});
