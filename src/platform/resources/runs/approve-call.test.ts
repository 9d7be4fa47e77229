import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readEvents } from '../../../../test/support/agents.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { collectFrames } from '../../../../test/support/read-frames.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import { clientTool, eventually, makeSmith, type TestSmith } from '../../../../test/support/turns.ts';

const tools = createTestTools();
const platform = await startPlatform({ toolSources: [tools.source] });
after(() => platform.close());

function approve(approvalId: string, more: Record<string, unknown> = {}) {
  return { kind: 'approval', approval_id: approvalId, decision: 'approve', ...more };
}

async function pauseOn(smith: TestSmith, text: string, more: Record<string, unknown> = {}) {
  const { body } = await smith.ask(text, more);
  assert.equal(body.status, 'paused', JSON.stringify(body));
  return body;
}

test('a gated call waits for a person, is told of, and runs once it is approved', async () => {
  const smith = await makeSmith(platform);
  const paused = await pauseOn(smith, 'Call the tool guarded with {"amount":5}');
  const [call] = paused.output.tool_calls;
  assert.deepEqual(
    { ...call, id: '', approval_id: '' },
    { id: '', name: 'guarded', arguments: { amount: 5 }, status: 'requires_approval', approval_id: '' },
  );
  assert.deepEqual(tools.callsOf(paused.id), []);
  const approval = (await smith.project.get(`/v1/approvals/${call.approval_id}`)).body;
  assert.deepEqual(
    [approval.status, approval.run_id, approval.smith_id, approval.tool_call_id, approval.tool, approval.args],
    ['pending', paused.id, smith.id, call.id, 'guarded', { amount: 5 }],
  );
  const about = { run_id: paused.id, thread_id: paused.thread_id };
  const [required] = await readEvents(smith.project, 'approval.required');
  assert.deepEqual(required?.data, {
    ...about,
    approval_id: call.approval_id,
    tool_call_id: call.id,
    tool: 'guarded',
    args: { amount: 5 },
  });
  const [pausedEvent] = await readEvents(smith.project, 'run.paused');
  assert.deepEqual([pausedEvent?.data.reason, pausedEvent?.data.tool_calls], ['approval', [call]]);
  assert.deepEqual(await readEvents(smith.project, 'tool.executing'), []);

  const decision = approve(call.approval_id, { actor: 'Grace', reason: 'Fine', content: { note: 'ok' } });
  const { status, body } = await smith.submit(paused.id, decision);
  assert.deepEqual([status, body.status], [200, 'completed']);
  assert.equal(body.output.content, 'The tool guarded returned: {"echoed":{"amount":5}}');
  assert.deepEqual(
    tools.callsOf(paused.id).map(({ callId }) => callId),
    [call.id],
  );
  const resolved = (await smith.project.get(`/v1/approvals/${call.approval_id}`)).body;
  assert.deepEqual([resolved.status, resolved.actor, resolved.reason], ['approved', 'Grace', 'Fine']);
  assert.ok(resolved.resolved_at);
  const [event] = await readEvents(smith.project, 'approval.resolved');
  const told = { approval_id: call.approval_id, decision: 'approve', actor: 'Grace', content: { note: 'ok' } };
  assert.deepEqual(event?.data, { ...about, ...told });
  const executing = await readEvents(smith.project, 'tool.executing');
  assert.deepEqual(
    executing.map(({ data }) => [data.tool, data.tool_call_id]),
    [['guarded', call.id]],
  );
  const frames = await collectFrames(await smith.events(paused.id));
  assert.deepEqual(
    frames.map((frame) => frame.event).filter((type) => type !== 'message.delta'),
    [
      'run.started',
      'approval.required',
      'run.paused',
      'approval.resolved',
      'tool.executing',
      'tool.completed',
      'message.completed',
      'run.completed',
    ],
  );
  assert.deepEqual(frames.find((frame) => frame.event === 'approval.resolved')?.data.data, told);
});

test('a rejected call does not run, and the model is told why', async () => {
  const smith = await makeSmith(platform);
  const paused = await pauseOn(smith, 'Call the tool guarded with {}');
  const [call] = paused.output.tool_calls;
  const { body } = await smith.submit(paused.id, {
    kind: 'approval',
    tool_call_id: call.id,
    decision: 'reject',
    reason: 'Too dear',
  });
  assert.equal(body.status, 'completed');
  assert.match(body.output.content, /The call of the tool guarded was denied: .*Too dear/);
  assert.equal(body.output.tool_calls[0].status, 'failed');
  assert.deepEqual(tools.callsOf(paused.id), []);
  const approval = (await smith.project.get(`/v1/approvals/${call.approval_id}`)).body;
  assert.deepEqual(
    [approval.status, approval.actor, approval.reason],
    ['rejected', smith.project.projectId, 'Too dear'],
  );
  const [event] = await readEvents(smith.project, 'approval.resolved');
  assert.deepEqual([event?.data.decision, event?.data.actor], ['reject', smith.project.projectId]);
});

test('deciding takes the scope approvals:write alone, bringing a result runs:write alone', async () => {
  const smith = await makeSmith(platform);
  const paused = await pauseOn(smith, 'Call the tool guarded with {}');
  const [call] = paused.output.tool_calls;
  const path = `${smith.runs}/${paused.id}/submit`;
  const weak = smith.project.as(await smith.project.smithToken(smith.id, ['runs:write', 'approvals:read']));
  const refused = await weak.post(path, approve(call.approval_id));
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'insufficient_scope']);
  assert.deepEqual(refused.body.error.details, { required_scope: 'approvals:write' });
  assert.equal((await smith.get(paused.id)).status, 'paused');
  const decider = smith.project.as(await smith.project.smithToken(smith.id, ['approvals:write']));
  const result = { kind: 'tool_result', tool_call_id: call.id, result: {} };
  const notIts = await decider.post(path, result);
  assert.deepEqual(notIts.body.error?.details, { required_scope: 'runs:write' }, notIts.text);
  const taken = await decider.post(path, approve(call.approval_id));
  assert.deepEqual([taken.status, taken.body.status], [200, 'completed']);
  assert.equal((await smith.project.get(`/v1/approvals/${call.approval_id}`)).body.actor, smith.id);

  const waiting = await pauseOn(smith, 'Call the tool look_up with {}', { tools: [clientTool('look_up')] });
  const bringer = smith.project.as(await smith.project.smithToken(smith.id, ['runs:write']));
  const brought = { kind: 'tool_result', tool_call_id: waiting.output.tool_calls[0].id, result: { found: 1 } };
  const resumed = await bringer.post(`${smith.runs}/${waiting.id}/submit`, brought);
  assert.deepEqual([resumed.status, resumed.body.status], [200, 'completed'], resumed.text);
});

test('of two gated calls only the approved one runs, and only when both are decided', async () => {
  const smith = await makeSmith(platform);
  const paused = await pauseOn(smith, 'Call the tool guarded with {"n":1} and call the tool guarded with {"n":2}');
  const [first, second] = paused.output.tool_calls;
  const partial = await smith.submit(paused.id, approve(second.approval_id));
  assert.equal(partial.body.status, 'paused');
  assert.deepEqual(tools.callsOf(paused.id), []);
  const again = await smith.submit(paused.id, approve(second.approval_id));
  assert.deepEqual([again.status, again.body.error.code], [409, 'invalid_state']);
  const early = await smith.submit(paused.id, { kind: 'tool_result', tool_call_id: first.id, result: {} });
  assert.deepEqual([early.status, early.body.error.code], [409, 'invalid_state']);
  // A reader of the paused run is told of the decision and ends there.
  assert.deepEqual(
    (await collectFrames(await smith.events(paused.id))).slice(-2).map(({ event }) => event),
    ['approval.resolved', 'run.paused'],
  );
  const { body } = await smith.submit(paused.id, {
    kind: 'approval',
    approval_id: first.approval_id,
    decision: 'reject',
  });
  assert.equal(body.status, 'completed', JSON.stringify(body));
  assert.deepEqual(
    tools.callsOf(paused.id).map(({ args }) => args),
    [{ n: 2 }],
  );
  assert.match(body.output.content, /was denied[\s\S]*returned: \{"echoed":\{"n":2\}\}/);
  const late = await smith.submit(paused.id, approve(first.approval_id));
  assert.deepEqual([late.status, late.body.error.code], [409, 'run_not_paused']);
});

test('an approval and a call that do not belong together are refused, and nothing is decided', async () => {
  const smith = await makeSmith(platform);
  const paused = await pauseOn(smith, 'Call the tool guarded with {"n":1} and call the tool guarded with {"n":2}');
  const [first, second] = paused.output.tool_calls;
  for (const other of [first.id, 'call_unknown']) {
    const mixed = await smith.submit(paused.id, approve(second.approval_id, { tool_call_id: other }));
    const { code, param } = mixed.body.error ?? {};
    assert.deepEqual([mixed.status, code, param], [422, 'invalid_input', 'tool_call_id'], mixed.text);
  }
  const unknown = await smith.submit(paused.id, approve('apr_x', { tool_call_id: first.id }));
  assert.deepEqual([unknown.status, unknown.body.error?.param], [404, 'approval_id']);
  const pending = (await smith.project.get('/v1/approvals?status=pending')).body.data;
  assert.equal(pending.length, 2);

  await smith.submit(paused.id, approve(second.approval_id, { tool_call_id: second.id }));
  const { body } = await smith.submit(paused.id, approve(first.approval_id, { tool_call_id: first.id }));
  assert.equal(body.status, 'completed', JSON.stringify(body));
  assert.equal(tools.callsOf(paused.id).length, 2);
});

test('a gated call of the client is approved first, then answered', async () => {
  const smith = await makeSmith(platform);
  const offered = { tools: [clientTool('pay', { requires_approval: true })] };
  const paused = await pauseOn(smith, 'Call the tool pay with {"sum":3}', offered);
  const [call] = paused.output.tool_calls;
  assert.equal(call.status, 'requires_approval');
  const approved = await smith.submit(paused.id, approve(call.approval_id));
  assert.deepEqual([approved.body.status, approved.body.output.tool_calls[0].status], ['paused', 'requires_result']);
  const { body } = await smith.submit(paused.id, {
    kind: 'tool_result',
    tool_call_id: call.id,
    result: { paid: 3 },
  });
  assert.equal(body.output.content, 'The tool pay returned: {"paid":3}');
});

test('every event of a run has the run’s actor, whoever decides, brings results or cancels', async () => {
  const smith = await makeSmith(platform);
  const { project } = smith;
  const starter = project.as(await project.smithToken(smith.id, ['runs:write']));
  const start = async (text: string, more: object = {}) => {
    const { body } = await starter.post(smith.runs, { input: [{ role: 'user', content: text }], ...more });
    assert.equal(body.status, 'paused', JSON.stringify(body));
    return body;
  };
  const decided = await start('Call the tool guarded with {}');
  await smith.submit(decided.id, approve(decided.output.tool_calls[0].approval_id));
  const asked = await start('Call the tool pay with {}', { tools: [clientTool('pay')] });
  await smith.submit(asked.id, { kind: 'tool_result', tool_call_id: asked.output.tool_calls[0].id, result: {} });
  const cancelled = await start('Call the tool guarded with {}');
  assert.equal((await smith.cancel(cancelled.id)).status, 200);
  assert.equal((await smith.get(decided.id)).status, 'completed');
  assert.equal((await smith.get(asked.id)).status, 'completed');

  const { body: feed } = await project.get('/v1/events?limit=100');
  const ofRuns = (feed.data as Awaited<ReturnType<typeof readEvents>>).filter(({ data }) => data.run_id !== undefined);
  const types = new Set(ofRuns.map(({ type }) => type));
  for (const type of ['approval.required', 'approval.resolved', 'run.paused', 'run.completed', 'tool.completed']) {
    assert.ok(types.has(type), `no ${type}`);
  }
  for (const { type, actor } of ofRuns) assert.deepEqual(actor, decided.actor, type);
  assert.deepEqual([decided.actor.kind, decided.actor.id], ['smith', smith.id]);
  // Who decided is told in the event's data.
  const resolved = ofRuns.filter(({ type }) => type === 'approval.resolved').map(({ data }) => data);
  assert.deepEqual(
    new Set(resolved.map(({ run_id, actor }) => `${run_id} ${actor}`)),
    new Set([`${decided.id} ${project.projectId}`, `${cancelled.id} null`]),
  );
});

test('a cancelled run’s open approvals expire', async () => {
  const smith = await makeSmith(platform);
  const paused = await pauseOn(smith, 'Call the tool guarded with {"n":1} and call the tool guarded with {"n":2}');
  const [first, second] = paused.output.tool_calls;
  await smith.submit(paused.id, approve(first.approval_id));
  assert.equal((await smith.cancel(paused.id)).status, 200);
  const expired = (await smith.project.get(`/v1/approvals/${second.approval_id}`)).body;
  assert.deepEqual([expired.status, expired.actor], ['expired', null]);
  assert.ok(expired.resolved_at);
  assert.equal((await smith.project.get(`/v1/approvals/${first.approval_id}`)).body.status, 'approved');
  const events = await readEvents(smith.project, 'approval.resolved');
  assert.deepEqual(
    events.map(({ data }) => [data.approval_id, data.decision, data.actor]),
    [
      [first.approval_id, 'approve', smith.project.projectId],
      [second.approval_id, 'expired', null],
    ],
  );
  const run = await smith.get(paused.id);
  assert.deepEqual([run.status, run.stop_reason], ['cancelled', 'cancelled']);
  assert.deepEqual(
    run.output.tool_calls.map((call: { status: string }) => call.status),
    ['cancelled', 'cancelled'],
  );
  assert.deepEqual(
    (await collectFrames(await smith.events(paused.id))).slice(-2).map(({ event }) => event),
    ['approval.resolved', 'run.cancelled'],
  );
});

test('approvals that were asked for beside a call of the server expire when the turn is cancelled under way', async () => {
  const smith = await makeSmith(platform);
  const id = await smith.begin('Call the tool gate with {} and call the tool guarded with {}');
  await eventually(() => tools.callsOf(id)[0], 'the call runs');
  const [pending] = (await smith.project.get('/v1/approvals?status=pending')).body.data;
  assert.equal(pending.run_id, id);
  assert.equal((await smith.cancel(id)).status, 200);
  const run = await smith.get(id);
  assert.deepEqual(
    run.output.tool_calls.map((call: { status: string }) => call.status),
    ['cancelled', 'cancelled'],
  );
  assert.equal((await smith.project.get(`/v1/approvals/${pending.id}`)).body.status, 'expired');
  const [event] = await readEvents(smith.project, 'approval.resolved');
  assert.deepEqual([event?.data.approval_id, event?.data.decision], [pending.id, 'expired']);
  const late = await smith.submit(id, approve(pending.id));
  assert.deepEqual([late.status, late.body.error.code], [409, 'run_cancelled']);
});

test('more approvals than one step usually has all expire with their run', async () => {
  const smith = await makeSmith(platform);
  const many = Array.from({ length: 70 }, (_, n) => `Call the tool guarded with {"n":${n}}`).join(' and ');
  const paused = await pauseOn(smith, many);
  await smith.cancel(paused.id);
  const events = await readEvents(smith.project, 'approval.resolved');
  assert.equal(new Set(events.map(({ data }) => data.approval_id)).size, 70);
});
