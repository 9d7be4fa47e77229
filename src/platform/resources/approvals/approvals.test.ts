import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startLately } from '../../../../test/support/lately.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';

const isLately = startLately();

const platform = await startPlatform();
after(() => platform.close());

/** A run that waits for a person's decision on a call of `refund`. */
async function pauseOnApproval(project: TestProject, smithId: string, args: Record<string, unknown> = { amount: 5 }) {
  const run = await project.post(`/v1/smiths/${smithId}/runs`, {
    input: [{ role: 'user', content: `Call the tool refund with ${JSON.stringify(args)}` }],
    tools: [{ name: 'refund', parameters: { type: 'object' }, requires_approval: true }],
  });
  assert.equal(run.body?.status, 'paused', run.text);
  const [call] = run.body.output.tool_calls;
  return { runId: run.body.id as string, callId: call.id as string, approvalId: call.approval_id as string };
}

async function decide(project: TestProject, smithId: string, runId: string, body: Record<string, unknown>) {
  const answer = await project.post(`/v1/smiths/${smithId}/runs/${runId}/submit`, { kind: 'approval', ...body });
  assert.equal(answer.status, 200, answer.text);
}

test('a pending approval shows the call, and a decision who decided and why', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const { runId, callId, approvalId } = await pauseOnApproval(project, smithId);

  const pending = await project.get(`/v1/approvals/${approvalId}`);
  assert.equal(pending.status, 200);
  const { created_at, ...fields } = pending.body;
  assert.ok(isLately(created_at));
  assert.match(approvalId, /^apr_/);
  assert.deepEqual(fields, {
    id: approvalId,
    run_id: runId,
    smith_id: smithId,
    tool_call_id: callId,
    tool: 'refund',
    args: { amount: 5 },
    elicitation: null,
    status: 'pending',
    actor: null,
    reason: null,
    resolved_at: null,
  });
  const queue = await project.get('/v1/approvals?status=pending');
  assert.deepEqual(queue.body, { data: [pending.body], next_cursor: null, has_more: false });

  await decide(project, smithId, runId, {
    approval_id: approvalId,
    decision: 'reject',
    actor: 'ana@example.com',
    reason: 'too much',
  });
  const rejected = (await project.get(`/v1/approvals/${approvalId}`)).body;
  assert.ok(Date.parse(rejected.resolved_at) >= Date.parse(created_at));
  assert.deepEqual(
    { ...rejected, resolved_at: null },
    { ...pending.body, status: 'rejected', actor: 'ana@example.com', reason: 'too much' },
  );
  assert.deepEqual((await project.get('/v1/approvals?status=pending')).body.data, []);
});

test('the list is filtered by status and pages newest first', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const made = [];
  for (const amount of [1, 2, 3, 4]) made.push(await pauseOnApproval(project, smithId, { amount }));
  const [first, second, third, fourth] = made.map((each) => each.approvalId);
  await decide(project, smithId, made[0]?.runId ?? '', { approval_id: first, decision: 'approve' });
  await decide(project, smithId, made[1]?.runId ?? '', { tool_call_id: made[1]?.callId, decision: 'reject' });
  assert.equal((await project.post(`/v1/smiths/${smithId}/runs/${made[2]?.runId}/cancel`)).status, 200);

  const idsOf = async (query: string) => {
    const { body } = await project.get(`/v1/approvals${query}`);
    return body.data.map((approval: { id: string }) => approval.id);
  };
  assert.deepEqual(await idsOf(''), [fourth, third, second, first]);
  assert.deepEqual(await idsOf('?status=approved'), [first]);
  assert.deepEqual(await idsOf('?status=rejected'), [second]);
  assert.deepEqual(await idsOf('?status=expired'), [third]);
  assert.deepEqual(await idsOf('?status=pending'), [fourth]);

  const page = await project.get('/v1/approvals?limit=3');
  assert.equal(page.body.data.length, 3);
  assert.equal(page.body.has_more, true);
  assert.deepEqual(await idsOf(`?limit=3&cursor=${page.body.next_cursor}`), [first]);
  // A call that nobody decided on has nobody to name.
  const expired = (await project.get(`/v1/approvals/${third}`)).body;
  assert.equal(expired.actor, null);
  assert.notEqual(expired.resolved_at, null);
});

test('a smith token sees the approvals of its own smith alone', async () => {
  const project = await platform.createProject();
  const [mine, other] = [await project.createSmith(), await project.createSmith()];
  const own = await pauseOnApproval(project, mine);
  const foreign = await pauseOnApproval(project, other);
  const smith = project.as(await project.smithToken(mine, ['approvals:read']));

  for (const query of ['', '?status=pending']) {
    const { body } = await smith.get(`/v1/approvals${query}`);
    assert.deepEqual(
      body.data.map((approval: { id: string }) => approval.id),
      [own.approvalId],
    );
  }
  assert.equal((await smith.get(`/v1/approvals/${own.approvalId}`)).status, 200);
  const refused = await smith.get(`/v1/approvals/${foreign.approvalId}`);
  const missing = await smith.get('/v1/approvals/apr_none');
  assert.equal(refused.status, 404);
  assert.equal(refused.text, missing.text);
});

test('another project’s approval answers as one that never was', async () => {
  const [project, stranger] = [await platform.createProject(), await platform.createProject()];
  const { approvalId } = await pauseOnApproval(project, await project.createSmith());
  const refused = await stranger.get(`/v1/approvals/${approvalId}`);
  assert.equal(refused.status, 404);
  assert.equal(refused.text, (await stranger.get('/v1/approvals/apr_none')).text);
  assert.deepEqual((await stranger.get('/v1/approvals')).body.data, []);
});

test('an unknown status, limit or cursor is refused by name', async () => {
  const project = await platform.createProject();
  const codes = {
    'status=waiting': ['invalid_request', 'status'],
    'limit=0': ['invalid_limit', 'limit'],
    'cursor=abc': ['invalid_cursor', 'cursor'],
  };
  for (const [query, [code, param]] of Object.entries(codes)) {
    const { status, body } = await project.get(`/v1/approvals?${query}`);
    assert.deepEqual([status, body.error.code, body.error.param], [422, code, param]);
  }
});
