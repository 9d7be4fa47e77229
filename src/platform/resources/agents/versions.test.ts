import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { publishAgent, publishVersion, readEvents } from '../../../../test/support/agents.ts';
import { startLately } from '../../../../test/support/lately.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';

const isLately = startLately();

const platform = await startPlatform();
after(() => platform.close());

async function versionsRun(project: TestProject): Promise<Map<string, number>> {
  const running = new Map<string, number>();
  let cursor = '';
  do {
    const { body } = await project.get(`/v1/smiths?limit=100${cursor}`);
    for (const smith of body.data) running.set(smith.id, smith.agent_version);
    cursor = body.has_more ? `&cursor=${body.next_cursor}` : '';
  } while (cursor !== '');
  return running;
}

test('a published version is the draft of the moment, and stays', async () => {
  const project = await platform.createProject();
  const { body: agent } = await project.post('/v1/agents', { name: 'A', instructions: 'One.' });
  const first = await project.post(`/v1/agents/${agent.id}/versions`, { note: 'Begin' });
  assert.equal(first.status, 201);
  const { created_at, created_by, ...rest } = first.body;
  assert.deepEqual(rest, { version: 1, snapshot: agent.draft, note: 'Begin' });
  assert.match(created_by, /^tok_/);
  assert.ok(isLately(created_at));

  await project.patch(`/v1/agents/${agent.id}`, { instructions: 'Two.' });
  const second = await project.post(`/v1/agents/${agent.id}/versions`);
  assert.deepEqual([second.body.version, second.body.snapshot.instructions, second.body.note], [2, 'Two.', null]);
  const listed = await project.get(`/v1/agents/${agent.id}/versions`);
  assert.deepEqual(listed.body, { data: [second.body, first.body], next_cursor: null, has_more: false });
});

test('the first version is active at once; a later one waits to be rolled out', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project, { instructions: 'One.' });
  const { body: smith } = await project.post('/v1/smiths', { agent_id: agent });
  assert.deepEqual([smith.agent_version, smith.instructions], [1, 'One.']);
  await publishVersion(project, agent, { instructions: 'Two.' });
  const { active_version, rollout_version, rollout_percent } = (await project.get(`/v1/agents/${agent}`)).body;
  assert.deepEqual([active_version, rollout_version, rollout_percent], [1, null, 0]);
  assert.equal((await project.get(`/v1/smiths/${smith.id}`)).body.agent_version, 1);
  const events = await readEvents(project, 'agent.version_published');
  assert.deepEqual(
    events.map(({ data }) => data),
    [
      { agent_id: agent, version: 1, activated: true, note: null },
      { agent_id: agent, version: 2, activated: false, note: null },
    ],
  );
});

test('a draft that sets nothing is not published', async () => {
  const project = await platform.createProject();
  const { body } = await project.post('/v1/agents', { name: 'A' });
  const refused = await project.post(`/v1/agents/${body.id}/versions`, {});
  assert.deepEqual([refused.status, refused.body.error.code], [422, 'empty_config']);
  assert.equal((await project.get(`/v1/agents/${body.id}`)).body.active_version, null);
});

test('versions published at the same time are numbered without gaps, one of them active', async () => {
  const project = await platform.createProject();
  const { body: agent } = await project.post('/v1/agents', { name: 'A', model: 'builtin/demo' });
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => project.post(`/v1/agents/${agent.id}/versions`, {})),
  );
  const versions = answers.map(({ body }) => body.version).sort((a, b) => a - b);
  assert.deepEqual(
    versions,
    Array.from({ length: 12 }, (_, index) => index + 1),
  );
  assert.equal((await project.get(`/v1/agents/${agent.id}`)).body.active_version, 1);

  const first = (await project.get(`/v1/agents/${agent.id}/versions?limit=7`)).body;
  const second = (await project.get(`/v1/agents/${agent.id}/versions?limit=7&cursor=${first.next_cursor}`)).body;
  const listed = [...first.data, ...second.data].map(({ version }) => version);
  assert.deepEqual(listed, versions.reverse());
  const cursor =
    (await project.get('/v1/smiths?limit=1')).body.next_cursor ?? Buffer.from('c1:x').toString('base64url');
  const foreign = await project.get(`/v1/agents/${agent.id}/versions?cursor=${cursor}`);
  assert.equal(foreign.body.error.code, 'invalid_cursor');
});

test('of a hundred smiths exactly N follow a rollout to N percent, and a growing share keeps those it had', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  await publishVersion(project, agent, { instructions: 'Two.' });
  for (let n = 0; n < 10; n++) {
    await Promise.all(Array.from({ length: 10 }, () => project.post('/v1/smiths', { agent_id: agent })));
  }
  let before = new Set<string>();
  for (const percent of [0, 10, 30, 50, 99]) {
    const { body } = await project.post(`/v1/agents/${agent}/rollout`, { version: 2, percent });
    assert.deepEqual([body.active_version, body.rollout_version, body.rollout_percent], [1, 2, percent]);
    const running = await versionsRun(project);
    const following = new Set([...running].filter(([, version]) => version === 2).map(([id]) => id));
    assert.equal(following.size, percent);
    assert.deepEqual(
      [...before].filter((id) => !following.has(id)),
      [],
    );
    before = following;
  }
  const { body } = await project.post(`/v1/agents/${agent}/rollout`, { version: 2 });
  assert.deepEqual([body.active_version, body.rollout_version, body.rollout_percent], [2, null, 0]);
  assert.deepEqual(new Set((await versionsRun(project)).values()), new Set([2]));
});

test('a pinned smith stays on its version whatever is rolled out', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project, { instructions: 'One.' });
  await publishVersion(project, agent, { instructions: 'Two.' });
  const { body: smith } = await project.post('/v1/smiths', { agent_id: agent, pin: 2 });
  assert.deepEqual([smith.agent_version, smith.pin, smith.instructions], [2, 2, 'Two.']);
  await publishVersion(project, agent, { instructions: 'Three.' });
  await project.post(`/v1/agents/${agent}/rollout`, { version: 3 });
  assert.equal((await project.get(`/v1/smiths/${smith.id}`)).body.agent_version, 2);
});

test('rolling the active version out calls a rollout under way off, and an older version can come back', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  await publishVersion(project, agent, { instructions: 'Two.' });
  const rollOut = (body: Record<string, unknown>) => project.post(`/v1/agents/${agent}/rollout`, body);
  await rollOut({ version: 2, percent: 40 });
  const off = (await rollOut({ version: 1, percent: 60 })).body;
  assert.deepEqual([off.active_version, off.rollout_version, off.rollout_percent], [1, null, 0]);
  await rollOut({ version: 2, percent: 100 });
  const back = (await rollOut({ version: 1 })).body;
  assert.deepEqual([back.active_version, back.rollout_version, back.rollout_percent], [1, null, 0]);
  const events = await readEvents(project, 'agent.rollout_updated');
  assert.deepEqual(
    events.map(({ data }) => data),
    [
      { agent_id: agent, version: 2, percent: 40, active_version: 1, rollout_version: 2 },
      { agent_id: agent, version: 1, percent: 60, active_version: 1, rollout_version: null },
      { agent_id: agent, version: 2, percent: 100, active_version: 2, rollout_version: null },
      { agent_id: agent, version: 1, percent: 100, active_version: 1, rollout_version: null },
    ],
  );
});

test('a rollout is refused for a share out of range, an unknown version and an unpublished agent', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  const { body: draft } = await project.post('/v1/agents', { name: 'Draft', model: 'builtin/demo' });
  const cases: [string, Record<string, unknown>, number, string][] = [
    [agent, { version: 1, percent: 101 }, 422, 'invalid_percent'],
    [agent, { version: 1, percent: -1 }, 422, 'invalid_percent'],
    [agent, { version: 1, percent: 33.5 }, 422, 'invalid_percent'],
    [agent, { version: 1, percent: '50' }, 422, 'invalid_percent'],
    [agent, {}, 422, 'invalid_request'],
    [agent, { version: 0 }, 422, 'invalid_request'],
    [agent, { version: 2 ** 31 }, 422, 'invalid_request'],
    [agent, { version: 2 }, 404, 'not_found'],
    [draft.id, { version: 1 }, 409, 'agent_unpublished'],
    ['agt_none', { version: 1 }, 404, 'not_found'],
  ];
  for (const [id, body, status, code] of cases) {
    const answer = await project.post(`/v1/agents/${id}/rollout`, body);
    assert.deepEqual([answer.status, answer.body.error.code], [status, code], JSON.stringify(body));
  }
  assert.deepEqual(await readEvents(project, 'agent.rollout_updated'), []);
});
