import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  createVectorStore,
  publishAgent,
  publishVersion,
  readEvents,
  registerMcpServer,
} from '../../../../test/support/agents.ts';
import { startLately } from '../../../../test/support/lately.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { uploadSkill } from '../../../../test/support/skills.ts';
import { EMPTY_DRAFT } from './draft.ts';

const isLately = startLately();

const platform = await startPlatform();
after(() => platform.close());

const everySettingIn = async (project: TestProject) => ({
  instructions: 'Speak {{tone}}.',
  model: 'builtin/demo',
  enabled_hosted_tools: ['current_time'],
  vector_store_ids: [await createVectorStore(project)],
  mcp_servers: [await registerMcpServer(project, 'files')],
  skills: [{ skill_id: await uploadSkill(project), version: 1 }, { skill_id: await uploadSkill(project) }],
  auto_memory: true,
  memory_consolidation: false,
  variables: [{ name: 'tone', default: 'warmly', description: 'How to sound', required: true }],
});

test('a new agent has every field, an empty draft and no version', async () => {
  const project = await platform.createProject();
  const created = await project.post('/v1/agents', { name: 'Concierge' });
  assert.equal(created.status, 201);
  const { id, created_at, updated_at, ...rest } = created.body;
  assert.match(id, /^agt_/);
  assert.ok(isLately(created_at));
  assert.equal(updated_at, created_at);
  assert.deepEqual(rest, {
    slug: null,
    name: 'Concierge',
    is_default: false,
    draft: EMPTY_DRAFT,
    active_version: null,
    rollout_version: null,
    rollout_percent: 0,
    smith_count: 0,
    last_activity_at: null,
  });
  assert.deepEqual((await project.get(`/v1/agents/${id}`)).body, created.body);
});

test('a draft keeps every setting as it was given', async () => {
  const project = await platform.createProject();
  const everySetting = await everySettingIn(project);
  const { body } = await project.post('/v1/agents', { name: 'Concierge', slug: 'front-desk', ...everySetting });
  assert.equal(body.slug, 'front-desk');
  assert.deepEqual(body.draft, { ...everySetting, ui_resources: [] });
});

test('an agent is found by its slug while it lives', async () => {
  const project = await platform.createProject();
  const { body: desk } = await project.post('/v1/agents', { name: 'A', slug: 'desk' });
  await project.post('/v1/agents', { name: 'B', slug: 'desk-2' });
  const find = async (slug: string) =>
    (await project.get(`/v1/agents?slug=${slug}`)).body.data.map(({ id }: { id: string }) => id);
  assert.deepEqual(await find('desk'), [desk.id]);
  assert.deepEqual(await find('none'), []);
  await project.delete(`/v1/agents/${desk.id}`);
  assert.deepEqual(await find('desk'), []);
});

test('a variable is completed with its defaults', async () => {
  const project = await platform.createProject();
  const { body } = await project.post('/v1/agents', { name: 'Concierge', variables: [{ name: 'tone' }] });
  assert.deepEqual(body.draft.variables, [{ name: 'tone', default: null, description: null, required: false }]);
});

test('input that is not valid is refused with its own code', async () => {
  const project = await platform.createProject();
  const cases: [Record<string, unknown>, string, string][] = [
    [{}, 'name_required', 'name'],
    [{ name: '' }, 'invalid_name', 'name'],
    [{ name: 'x'.repeat(201) }, 'invalid_name', 'name'],
    [{ name: 'A', slug: 'Front Desk' }, 'invalid_slug', 'slug'],
    [{ name: 'A', slug: '-desk' }, 'invalid_slug', 'slug'],
    [{ name: 'A', slug: 'x'.repeat(64) }, 'invalid_slug', 'slug'],
    [{ name: 'A', ui_resources: [] }, 'invalid_request', 'ui_resources'],
    [{ name: 'A', model: 'builtin/other' }, 'invalid_request', 'model'],
    [{ name: 'A', enabled_hosted_tools: ['teleport'] }, 'invalid_request', 'enabled_hosted_tools'],
    [{ name: 'A', skills: [{ version: 1 }] }, 'invalid_request', 'skills.0.skill_id'],
    [{ name: 'A', skills: [{ skill_id: 'a', version: 0 }] }, 'invalid_request', 'skills.0.version'],
    [{ name: 'A', skills: [{ skill_id: 'a', version: 2 ** 31 }] }, 'invalid_request', 'skills.0.version'],
    [{ name: 'A', variables: [{ name: 'not a name' }] }, 'invalid_variables', 'variables.0.name'],
    [{ name: 'A', variables: [{ required: true }] }, 'invalid_variables', 'variables.0.name'],
    [{ name: 'A', variables: [{ name: 'a' }, { name: 'a' }] }, 'invalid_variables', 'variables'],
  ];
  for (const [body, code, param] of cases) {
    const { status, body: answer } = await project.post('/v1/agents', body);
    assert.deepEqual([status, answer.error.code, answer.error.param], [422, code, param], JSON.stringify(body));
  }
  assert.equal(
    (await project.post('/v1/agents', { name: 'A', model: 'nobody/x' })).body.error.code,
    'unknown_provider',
  );
  assert.equal((await project.get('/v1/agents')).body.data.length, 0);
});

test('a slug is one live agent’s: of twenty that race for it one gets it', async () => {
  const project = await platform.createProject();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => project.post('/v1/agents', { name: 'A', slug: 'desk' })),
  );
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  for (const { status, body } of answers.filter(({ status }) => status !== 201)) {
    assert.deepEqual([status, body.error.code, body.error.param], [409, 'agent_exists', 'slug']);
  }
  assert.equal((await readEvents(project, 'agent.created')).length, 1);
  const other = await platform.createProject();
  assert.equal((await other.post('/v1/agents', { name: 'A', slug: 'desk' })).status, 201);
});

test('an archived agent is gone, and its slug is free again', async () => {
  const project = await platform.createProject();
  const { body } = await project.post('/v1/agents', { name: 'A', slug: 'desk' });
  assert.equal((await project.delete(`/v1/agents/${body.id}`)).status, 204);
  const path = `/v1/agents/${body.id}`;
  const answers = await Promise.all([
    project.get(path),
    project.patch(path, { name: 'B' }),
    project.delete(path),
    project.post(`${path}/versions`, {}),
    project.get(`${path}/versions`),
    project.post(`${path}/rollout`, { version: 1 }),
    project.post(`${path}/attach`, { all: true }),
  ]);
  for (const answer of answers) assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found']);
  assert.deepEqual((await project.get('/v1/agents')).body.data, []);
  assert.equal((await project.post('/v1/agents', { name: 'A', slug: 'desk' })).status, 201);
});

test('the agent with the slug `default` is the default agent and cannot be archived', async () => {
  const project = await platform.createProject();
  const { body } = await project.post('/v1/agents', { name: 'A', slug: 'default' });
  assert.equal(body.is_default, true);
  const refused = await project.delete(`/v1/agents/${body.id}`);
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'default_agent']);
});

test('an agent is archived only once no live smith follows it', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  const smith = await project.post('/v1/smiths', { agent_id: agent });
  const refused = await project.delete(`/v1/agents/${agent}`);
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'agent_in_use']);
  await project.delete(`/v1/smiths/${smith.body.id}`);
  assert.equal((await project.delete(`/v1/agents/${agent}`)).status, 204);
});

test('archiving and provisioning that race never leave a smith on an archived agent', async () => {
  const project = await platform.createProject();
  for (let round = 0; round < 8; round++) {
    const agent = await publishAgent(project);
    const [created, deleted] = await Promise.all([
      project.post('/v1/smiths', { agent_id: agent }),
      project.delete(`/v1/agents/${agent}`),
    ]);
    assert.deepEqual(
      [created.status, deleted.status].sort(),
      created.status === 201 ? [201, 409] : [204, 404],
      `${created.text} ${deleted.text}`,
    );
  }
});

test('a patch changes what it names, and null clears it', async () => {
  const project = await platform.createProject();
  const everySetting = await everySettingIn(project);
  const { body } = await project.post('/v1/agents', { name: 'A', slug: 'desk', ...everySetting });
  const patched = await project.patch(`/v1/agents/${body.id}`, {
    name: 'B',
    instructions: 'Short.',
    auto_memory: false,
  });
  assert.equal(patched.status, 200);
  assert.deepEqual(patched.body, {
    ...body,
    name: 'B',
    draft: { ...body.draft, instructions: 'Short.', auto_memory: false },
    updated_at: patched.body.updated_at,
  });
  assert.ok(patched.body.updated_at > body.updated_at);

  const nothing = Object.fromEntries(Object.keys(everySetting).map((key) => [key, null]));
  assert.deepEqual((await project.patch(`/v1/agents/${body.id}`, nothing)).body.draft, EMPTY_DRAFT);
});

test('a patch is refused when it is empty, takes the name away or names the slug', async () => {
  const project = await platform.createProject();
  const { body } = await project.post('/v1/agents', { name: 'A', slug: 'desk' });
  const cases: [Record<string, unknown>, string][] = [
    [{}, 'empty_patch'],
    [{ name: null }, 'name_required'],
    [{ name: '' }, 'invalid_name'],
    [{ slug: 'other' }, 'invalid_request'],
    [{ variables: [{ name: '1' }] }, 'invalid_variables'],
  ];
  for (const [patch, code] of cases) {
    const answer = await project.patch(`/v1/agents/${body.id}`, patch);
    assert.deepEqual([answer.status, answer.body.error.code], [422, code]);
  }
  assert.deepEqual((await project.get(`/v1/agents/${body.id}`)).body, body);
});

test('patches that race each keep what they set', async () => {
  const project = await platform.createProject();
  const { body } = await project.post('/v1/agents', { name: 'A' });
  const patches = [
    { instructions: 'a' },
    { model: 'builtin/demo' },
    { vector_store_ids: [await createVectorStore(project)] },
    { mcp_servers: [await registerMcpServer(project, 'm')] },
    { auto_memory: true },
    { memory_consolidation: true },
    { variables: [{ name: 'a' }] },
    { skills: [{ skill_id: await uploadSkill(project) }] },
  ];
  await Promise.all(patches.map((patch) => project.patch(`/v1/agents/${body.id}`, patch)));
  const { draft } = (await project.get(`/v1/agents/${body.id}`)).body;
  assert.deepEqual(
    Object.keys(draft).filter((key) => JSON.stringify(draft[key]) === JSON.stringify(EMPTY_DRAFT[key as 'model'])),
    ['enabled_hosted_tools', 'ui_resources'],
  );
});

test('what happens to an agent is on the feed', async () => {
  const project = await platform.createProject();
  const { body } = await project.post('/v1/agents', { name: 'A', slug: 'desk' });
  await project.patch(`/v1/agents/${body.id}`, { name: 'B', model: 'builtin/demo', mcp_servers: null });
  await project.patch(`/v1/agents/${body.id}`, { name: 'B' });
  await project.delete(`/v1/agents/${body.id}`);
  const [created] = await readEvents(project, 'agent.created');
  assert.deepEqual(created?.data, { agent_id: body.id, slug: 'desk', name: 'A', imported_from: null });
  assert.equal(created?.smith_id, null);
  const updated = await readEvents(project, 'agent.updated');
  assert.deepEqual(
    updated.map(({ data }) => data),
    [{ agent_id: body.id, changed: ['name', 'model'] }],
  );
  const deleted = await readEvents(project, 'agent.deleted');
  assert.deepEqual(
    deleted.map(({ data }) => data),
    [{ agent_id: body.id }],
  );
});

test('agents are listed newest first, page by page', async () => {
  const project = await platform.createProject();
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push((await project.post('/v1/agents', { name: `A${n}` })).body.id);
  const first = (await project.get('/v1/agents?limit=3')).body;
  const second = (await project.get(`/v1/agents?limit=3&cursor=${first.next_cursor}`)).body;
  assert.deepEqual(
    [...first.data, ...second.data].map(({ id }) => id),
    ids.reverse(),
  );
  assert.deepEqual([first.has_more, second.has_more, second.next_cursor], [true, false, null]);
  assert.equal((await project.get('/v1/agents?limit=0')).body.error.code, 'invalid_limit');
  assert.equal((await project.get('/v1/agents?cursor=x')).body.error.code, 'invalid_cursor');
});

test('an agent tells how many live smiths it has and when it last ran', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project, { model: 'builtin/demo' });
  const { body: smith } = await project.post('/v1/smiths', { agent_id: agent });
  await project.post('/v1/smiths', { agent_id: agent });
  const before = (await project.get(`/v1/agents/${agent}`)).body;
  assert.deepEqual([before.smith_count, before.last_activity_at], [2, null]);
  const run = await project.post(`/v1/smiths/${smith.id}/runs`, { input: [{ role: 'user', content: 'Hello' }] });
  assert.equal(run.status, 201, run.text);
  const [listed] = (await project.get('/v1/agents')).body.data;
  assert.equal(listed.last_activity_at, run.body.created_at);
});

test('a smith’s configuration becomes the draft of a new agent', async () => {
  const project = await platform.createProject();
  const everySetting = await everySettingIn(project);
  const { name: _name, ...settings } = { name: '', ...everySetting };
  const agent = await publishAgent(project, settings);
  await publishVersion(project, agent, { instructions: 'Not rolled out.' });
  const smith = (await project.post('/v1/smiths', { agent_id: agent, auto_memory: false })).body;
  const imported = await project.post('/v1/agents/import', { from_smith: smith.id, name: 'Copy' });
  assert.equal(imported.status, 201);
  assert.deepEqual(imported.body.draft, { ...everySetting, auto_memory: false, ui_resources: [] });
  assert.deepEqual([imported.body.name, imported.body.slug, imported.body.active_version], ['Copy', null, null]);
  assert.deepEqual((await project.get(`/v1/smiths/${smith.id}`)).body, smith);
  const created = (await readEvents(project, 'agent.created')).at(-1);
  assert.deepEqual(created?.data, {
    agent_id: imported.body.id,
    slug: null,
    name: 'Copy',
    imported_from: smith.id,
  });
});

test('an import needs a name, and a smith that has a configuration', async () => {
  const project = await platform.createProject();
  const custom = (await project.post('/v1/smiths', { instructions: 'Mine.' })).body;
  assert.deepEqual((await project.post('/v1/agents/import', { from_smith: custom.id, name: 'A' })).body.draft, {
    ...EMPTY_DRAFT,
    instructions: 'Mine.',
    model: 'builtin/demo',
    auto_memory: false,
    memory_consolidation: false,
  });
  const bare = (await project.post('/v1/smiths', {})).body;
  const stranger = await (await platform.createProject()).createSmith({ instructions: 'Theirs.' });
  const cases: [Record<string, unknown>, number, string][] = [
    [{ from_smith: bare.id, name: 'A' }, 422, 'empty_config'],
    [{ from_smith: custom.id }, 422, 'name_required'],
    [{ name: 'A' }, 422, 'invalid_request'],
    [{ from_smith: 'smt_none', name: 'A' }, 404, 'not_found'],
    [{ from_smith: stranger, name: 'A' }, 404, 'not_found'],
  ];
  for (const [body, status, code] of cases) {
    const answer = await project.post('/v1/agents/import', body);
    assert.deepEqual([answer.status, answer.body.error.code], [status, code], JSON.stringify(body));
  }
});
