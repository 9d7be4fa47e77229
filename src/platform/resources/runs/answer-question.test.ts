/** Calls that ask a person something: the question, its answers, and what closes it. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../../../../test/support/platform.ts';
import { collectFrames } from '../../../../test/support/read-frames.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import { eventually, makeSmith, type TestSmith } from '../../../../test/support/turns.ts';

const tools = createTestTools();
const platform = await startPlatform({ toolSources: [tools.source] });
after(() => platform.close());

async function askByTool(smith: TestSmith, args: Record<string, unknown> = {}) {
  const { body } = await smith.ask(`Call the tool ask with ${JSON.stringify(args)}`);
  assert.equal(body.status, 'paused', JSON.stringify(body));
  return { runId: body.id as string, approvalId: body.output.tool_calls[0].approval_id as string, body };
}

function answer(smith: TestSmith, runId: string, body: Record<string, unknown>) {
  return smith.project.post(`/v1/smiths/${smith.id}/runs/${runId}/submit`, { kind: 'approval', ...body });
}

const ELICITATION = {
  message: 'Name 1?',
  requested_schema: {
    type: 'object',
    properties: { name: { type: 'string', maxLength: 20 }, mood: { type: 'string', default: 'calm' } },
    required: ['name'],
  },
};

test('a question pauses the run, stands in the queue, and its answer goes back to the tool', async () => {
  const smith = await makeSmith(platform);
  const { runId, approvalId, body } = await askByTool(smith);
  assert.equal(body.output.tool_calls[0].status, 'requires_approval');
  const queued = await smith.project.get('/v1/approvals?status=pending');
  assert.deepEqual(
    queued.body.data.map((each: Record<string, unknown>) => [each.id, each.tool, each.status, each.elicitation]),
    [[approvalId, 'ask', 'pending', ELICITATION]],
  );
  const answered = await answer(smith, runId, {
    approval_id: approvalId,
    decision: 'approve',
    content: { name: 'Ada' },
  });
  assert.equal(answered.body.status, 'completed', answered.text);
  assert.deepEqual(
    tools.callsOf(runId).map((call) => call.answer?.content ?? null),
    [null, { name: 'Ada', mood: 'calm' }],
  );
  const frames = (await collectFrames(await smith.events(runId))).filter(({ event = '' }) =>
    /^(?:approval|tool)\./.test(event),
  );
  assert.deepEqual(
    frames.map(({ event }) => event),
    ['tool.executing', 'approval.required', 'approval.resolved', 'tool.executing', 'tool.completed'],
  );
  assert.deepEqual(frames[1]?.data.data.elicitation, ELICITATION);
  assert.deepEqual(frames[2]?.data.data.content, { name: 'Ada', mood: 'calm' });
});

test('an answer that is not what was asked for is refused, and nothing is recorded', async () => {
  const smith = await makeSmith(platform);
  const { runId, approvalId } = await askByTool(smith);
  for (const content of [undefined, {}, { name: 7 }, { name: 'x'.repeat(21) }]) {
    const { status, body } = await answer(smith, runId, { approval_id: approvalId, decision: 'approve', content });
    assert.deepEqual([status, body.error?.code, body.error?.param], [422, 'invalid_input', 'content']);
  }
  const { status } = (await smith.project.get(`/v1/approvals/${approvalId}`)).body;
  assert.equal(status, 'pending');
  const last = await answer(smith, runId, { approval_id: approvalId, decision: 'approve', content: { name: 'Bo' } });
  assert.equal(last.body.status, 'completed', last.text);
});

test('who declines lets the call go on without an answer', async () => {
  const smith = await makeSmith(platform);
  const { runId, approvalId } = await askByTool(smith);
  const declined = await answer(smith, runId, { approval_id: approvalId, decision: 'reject', content: { name: 'x' } });
  assert.equal(declined.body.status, 'completed', declined.text);
  assert.deepEqual(tools.callsOf(runId).at(-1)?.answer, { action: 'decline', content: null, state: { told: [] } });
});

test('a call asks again after an answer, each time with a question of its own', async () => {
  const smith = await makeSmith(platform);
  const first = await askByTool(smith, { times: 2 });
  const between = await answer(smith, first.runId, {
    approval_id: first.approvalId,
    decision: 'approve',
    content: { name: 'Ada' },
  });
  assert.equal(between.body.status, 'paused', between.text);
  const second = between.body.output.tool_calls[0].approval_id;
  assert.notEqual(second, first.approvalId);
  const late = await answer(smith, first.runId, {
    approval_id: first.approvalId,
    decision: 'approve',
    content: { name: 'Eve' },
  });
  assert.deepEqual([late.status, late.body.error.code], [404, 'not_found']);
  const done = await answer(smith, first.runId, { approval_id: second, decision: 'approve', content: { name: 'Bo' } });
  assert.equal(done.body.status, 'completed', done.text);
  const told = tools.callsOf(first.runId).at(-1)?.answer;
  assert.deepEqual(
    [told?.content, told?.state],
    [{ name: 'Bo', mood: 'calm' }, { told: [{ action: 'accept', content: { name: 'Ada', mood: 'calm' } }] }],
  );
  const statuses = (await smith.project.get('/v1/approvals')).body.data.map((each: { status: string }) => each.status);
  assert.deepEqual(statuses, ['approved', 'approved']);
});

test('an answer that comes ten times at once is taken once', async () => {
  const smith = await makeSmith(platform);
  const { runId, approvalId } = await askByTool(smith);
  const body = { approval_id: approvalId, decision: 'approve', content: { name: 'Ada' } };
  const answers = await Promise.all(Array.from({ length: 10 }, () => answer(smith, runId, body)));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  assert.equal(tools.callsOf(runId).length, 2);
});

test('a call whose target is another than the one that was approved is not made', async () => {
  const smith = await makeSmith(platform);
  const { body } = await smith.ask('Call the tool moving with {}');
  const approvalId = body.output.tool_calls[0].approval_id;
  tools.moveTarget();
  const decided = await answer(smith, body.id, { approval_id: approvalId, decision: 'approve' });
  assert.equal(decided.body.status, 'completed', decided.text);
  assert.deepEqual(tools.callsOf(body.id), []);
  assert.equal(decided.body.output.tool_calls[0].status, 'failed');
  const approval = (await smith.project.get(`/v1/approvals/${approvalId}`)).body;
  assert.deepEqual([approval.status, approval.actor], ['expired', null]);
});

test('a call of the target that was approved is made', async () => {
  const smith = await makeSmith(platform);
  const { body } = await smith.ask('Call the tool moving with {}');
  const decided = await answer(smith, body.id, { tool_call_id: body.output.tool_calls[0].id, decision: 'approve' });
  assert.equal(decided.body.output.tool_calls[0].status, 'completed', decided.text);
  assert.equal(tools.callsOf(body.id).length, 1);
});

test('a question that nobody answers in its time is closed, and the run goes on by itself', async () => {
  const smith = await makeSmith(platform);
  const { runId, approvalId } = await askByTool(smith, { seconds: 0 });
  await eventually(async () => (await smith.get(runId)).status === 'completed' || undefined, 'the run goes on');
  assert.deepEqual(tools.callsOf(runId).at(-1)?.answer, { action: 'cancel', content: null, state: { told: [] } });
  const approval = (await smith.project.get(`/v1/approvals/${approvalId}`)).body;
  assert.deepEqual([approval.status, approval.actor], ['expired', null]);
  const frames = await collectFrames(await smith.events(runId));
  assert.equal(frames.filter(({ event }) => event === 'approval.resolved').length, 1);
  const late = await answer(smith, runId, { approval_id: approvalId, decision: 'approve', content: { name: 'Ada' } });
  assert.deepEqual([late.status, late.body.error.code], [409, 'run_not_paused']);
});

test('a run whose question has run out of time stays paused until its smith is free', async () => {
  const smith = await makeSmith(platform);
  const { runId, approvalId } = await askByTool(smith, { seconds: 900 });
  const other = await smith.begin('Call the tool gate with {}');
  await eventually(() => tools.callsOf(other)[0], 'the other turn is under way');
  await platform.db.query({
    text: 'update approvals set expires_at = now() where project_id = $1 and id = $2',
    values: [smith.project.projectId, approvalId],
  });
  // Questions of others that run out of time later are closed by later looks: the second by one that began behind the first.
  for (const witness of [await makeSmith(platform), await makeSmith(platform)]) {
    const later = await askByTool(witness, { seconds: 0 });
    await eventually(async () => (await witness.get(later.runId)).status === 'completed' || undefined, 'it is closed');
  }
  assert.equal((await smith.get(runId)).status, 'paused');
  tools.open(other);
  await eventually(async () => (await smith.get(runId)).status === 'completed' || undefined, 'the run goes on');
});

test('a question that only its replica can carry on closes when the replica has gone', async () => {
  const smith = await makeSmith(platform);
  const { runId, approvalId } = await askByTool(smith, { seconds: 900, held: true });
  const { rows } = await platform.db.query<{ holder: string }>({
    text: 'select holder from approvals where project_id = $1 and id = $2',
    values: [smith.project.projectId, approvalId],
  });
  assert.match(rows[0]?.holder ?? '', /^rep_/);
  await platform.db.query({
    text: `update approvals set holder = 'rep_gone' where project_id = $1 and id = $2`,
    values: [smith.project.projectId, approvalId],
  });
  await eventually(async () => (await smith.get(runId)).status === 'completed' || undefined, 'the run goes on');
  assert.equal(tools.callsOf(runId).at(-1)?.answer?.action, 'cancel');
});
