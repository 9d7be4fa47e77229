/** Questions whose calls one of two servers holds open: answered, closed and cancelled from either. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createClient, startPlatform, type TestPlatform } from '../../../test/support/platform.ts';
import { createTestTools } from '../../../test/support/tools.ts';
import { eventually, makeSmith, smithOf, type TestSmith } from '../../../test/support/turns.ts';

const toolsOfA = createTestTools();
const toolsOfB = createTestTools();
let a: TestPlatform;
let b: TestPlatform;
before(async () => {
  a = await startPlatform({ toolSources: [toolsOfA.source] });
  b = await startPlatform({ toolSources: [toolsOfB.source], sharing: a });
  await bothBeat();
});
after(async () => {
  await b.close();
  await a.close();
});

/** The embedded store has one process, so that a start takes every other replica that beats for dead: until its next heartbeat. */
async function bothBeat() {
  await eventually(async () => {
    const { rows } = await a.db.query({
      text: `select from replicas where (resting or heartbeat_at > now() - interval '3 seconds') and not leaving`,
    });
    return rows.length >= 2 ? true : undefined;
  }, 'both servers beat or rest');
}

/** A smith with a paused run whose question server A holds. */
async function ask(args: Record<string, unknown> = {}) {
  const onA = await makeSmith(a);
  const { body } = await onA.ask(`Call the tool ask with ${JSON.stringify({ seconds: 900, held: true, ...args })}`);
  assert.equal(body.status, 'paused', JSON.stringify(body));
  const onB: TestSmith = smithOf({ ...onA.project, ...createClient(b.url, onA.project.token) }, onA.id);
  return { onA, onB, runId: body.id as string, approvalId: body.output.tool_calls[0].approval_id as string };
}

const approve = (approvalId: string) => ({
  kind: 'approval',
  approval_id: approvalId,
  decision: 'approve',
  content: { name: 'Ada' },
});

test('an answer that comes to another server is carried on by the one that holds the call', async () => {
  const { onB, runId, approvalId } = await ask();
  const answered = await onB.submit(runId, approve(approvalId));
  assert.equal(answered.body.status, 'completed', answered.text);
  assert.deepEqual(toolsOfB.callsOf(runId), []);
  assert.deepEqual(
    toolsOfA.callsOf(runId).map((call) => call.answer?.content ?? null),
    [null, { name: 'Ada', mood: 'calm' }],
  );
});

test('an answer that is streamed by another server shows the run to its end', async () => {
  const { onB, runId, approvalId } = await ask();
  const response = await onB.project.open('POST', `${onB.runs}/${runId}/submit`, {
    ...approve(approvalId),
    stream: true,
  });
  assert.match(await response.text(), /event: run\.completed/);
  assert.equal(toolsOfA.callsOf(runId).length, 2);
});

test('ten answers at both servers at once are one', async () => {
  const { onA, onB, runId, approvalId } = await ask();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? onA : onB).submit(runId, approve(approvalId))),
  );
  assert.deepEqual(answers.filter(({ status }) => status === 200).length, 1);
  assert.equal(toolsOfA.callsOf(runId).length + toolsOfB.callsOf(runId).length, 2);
});

test('a question that its server gives up closes, and its holder goes on with the run by itself', async () => {
  const { onB, runId, approvalId } = await ask();
  toolsOfA.giveUp(runId);
  await eventually(async () => (await onB.get(runId)).status === 'completed' || undefined, 'the run goes on');
  assert.equal(toolsOfA.callsOf(runId).at(-1)?.answer?.action, 'cancel');
  assert.deepEqual(toolsOfB.callsOf(runId), []);
  const approval = (await onB.project.get(`/v1/approvals/${approvalId}`)).body;
  assert.deepEqual([approval.status, approval.actor], ['expired', null]);
});

test('a call that is held is let go when its run is cancelled at another server', async () => {
  const { onB, runId } = await ask();
  assert.equal(toolsOfA.endsOf(runId), 0);
  assert.equal((await onB.cancel(runId)).status, 200);
  await eventually(() => toolsOfA.endsOf(runId) === 1 || undefined, 'the call is let go');
});

test('a call that is held is let go when its run is cancelled here, also while another call of it is under way', async () => {
  const paused = await ask();
  await paused.onA.cancel(paused.runId);
  assert.equal(toolsOfA.endsOf(paused.runId), 1);
  const smith = await makeSmith(a);
  const busy = await smith.begin('Call the tool ask with {"seconds":900,"held":true}. Call the tool gate with {}.');
  await eventually(async () => {
    const { rows } = await a.db.query({ text: 'select from approvals where run_id = $1', values: [busy] });
    return rows.length === 1 ? true : undefined;
  }, 'the question is asked');
  await smith.cancel(busy);
  assert.equal(toolsOfA.endsOf(busy), 1);
});

test('an answer whose holder has gone is refused, nothing is recorded, and the run goes on by itself', async () => {
  const { onB, runId, approvalId } = await ask();
  const other = await onB.begin('Call the tool gate with {}');
  await a.db.query({ text: `update approvals set holder = 'rep_gone' where id = $1`, values: [approvalId] });
  const late = await onB.submit(runId, approve(approvalId));
  assert.deepEqual([late.status, late.body.error?.code], [409, 'invalid_state'], late.text);
  assert.equal((await onB.project.get(`/v1/approvals/${approvalId}`)).body.status, 'pending');
  toolsOfB.open(other);
  await eventually(async () => (await onB.get(runId)).status === 'completed' || undefined, 'the run goes on');
  assert.equal((await onB.project.get(`/v1/approvals/${approvalId}`)).body.status, 'expired');
});

test('questions behind a hundred of busy smiths close in their time', async () => {
  const project = await a.createProject();
  const waiting = await makeSmith(a, {}, project);
  const { body } = await waiting.ask('Call the tool ask with {"seconds":900}');
  const last = body.output.tool_calls[0].approval_id as string;
  const busy = await makeSmith(a, {}, project);
  const asked = await busy.ask('Call the tool ask with {"seconds":900}');
  const first = asked.body.output.tool_calls[0].approval_id as string;
  const under = await busy.begin('Call the tool gate with {}');
  await a.db.query({
    text: `
      insert into approvals (project_id, id, run_id, smith_id, tool_call_id, tool, args, elicitation, question_state, expires_at)
      select project_id, 'apr_busy' || n, run_id, smith_id, tool_call_id, tool, args, elicitation, question_state,
        now() - interval '1 hour'
      from approvals, generate_series(1, 100) n where project_id = $1 and id = $2`,
    values: [project.projectId, first],
  });
  await a.db.query({
    text: 'update approvals set expires_at = now() where project_id = $1 and id = $2',
    values: [project.projectId, last],
  });
  await eventually(async () => (await waiting.get(body.id)).status === 'completed' || undefined, 'the run goes on');
  assert.equal((await busy.get(asked.body.id)).status, 'paused');
  toolsOfA.open(under);
  toolsOfB.open(under);
});
