import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { publishAgent, publishVersion, readEvents } from '../../../../test/support/agents.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';

const platform = await startPlatform();
after(() => platform.close());

async function countSmiths(project: TestProject, agentId: string): Promise<number> {
  return (await project.get(`/v1/agents/${agentId}`)).body.smith_count;
}

test('settings that equal the agent’s are dropped, the others override it', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project, { instructions: 'Be kind.', model: 'builtin/demo', auto_memory: true });
  const same = await project.createSmith({ instructions: 'Be kind.', auto_memory: true, enabled_hosted_tools: [] });
  const other = await project.createSmith({ instructions: 'Be brief.', auto_memory: false, skills: [] });
  const answer = await project.post(`/v1/agents/${agent}/attach`, { smith_ids: [same, other] });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.body.count, 2);
  assert.deepEqual(
    new Map(
      answer.body.attached.map((entry: { smith_id: string; override_keys: string[] }) => [
        entry.smith_id,
        entry.override_keys,
      ]),
    ),
    new Map([
      [same, []],
      [other, ['instructions', 'auto_memory']],
    ]),
  );

  const attached = (await project.get(`/v1/smiths/${same}`)).body;
  assert.deepEqual(
    [attached.config_source, attached.agent_id, attached.agent_version, attached.override_keys, attached.instructions],
    ['agent', agent, 1, [], 'Be kind.'],
  );
  const overriding = (await project.get(`/v1/smiths/${other}`)).body;
  assert.deepEqual([overriding.config_source, overriding.instructions], ['override', 'Be brief.']);
  assert.equal(await countSmiths(project, agent), 2);

  const [revision] = (await project.get(`/v1/smiths/${same}/revisions`)).body.data;
  assert.deepEqual([revision.version, revision.snapshot.agent_id, revision.snapshot.config], [2, agent, {}]);
  const events = (await readEvents(project, 'smith.updated')).filter(({ smith_id }) => smith_id === same);
  assert.deepEqual(
    events.map(({ data }) => data),
    [
      {
        smith_id: same,
        changed: ['agent_id'],
        cleared: ['model', 'instructions', 'enabled_hosted_tools', 'auto_memory'],
        agent_id: agent,
        pin_changed: false,
      },
    ],
  );
});

test('`all` attaches the live smiths that follow no agent, and no other', async () => {
  const project = await platform.createProject();
  const [agent, busy] = [await publishAgent(project), await publishAgent(project)];
  const custom = new Set<string>();
  for (let n = 0; n < 7; n++) custom.add(await project.createSmith({ external_id: `u${n}` }));
  const archived = await project.createSmith();
  await project.delete(`/v1/smiths/${archived}`);
  const { body: taken } = await project.post('/v1/smiths', { agent_id: busy });
  const strangers = await platform.createProject();
  const stranger = await strangers.createSmith();

  const { body } = await project.post(`/v1/agents/${agent}/attach`, { all: true });
  assert.deepEqual(new Set(body.attached.map(({ smith_id }: { smith_id: string }) => smith_id)), custom);
  assert.equal(body.count, 7);
  assert.deepEqual([await countSmiths(project, agent), await countSmiths(project, busy)], [7, 1]);
  assert.equal((await project.get(`/v1/smiths/${taken.id}`)).body.agent_id, busy);
  assert.equal((await strangers.get(`/v1/smiths/${stranger}`)).body.agent_id, null);
  assert.deepEqual((await project.post(`/v1/agents/${agent}/attach`, { all: true })).body, { attached: [], count: 0 });
});

test('smiths that are attached keep the rollout’s proportion', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  await publishVersion(project, agent, { instructions: 'Two.' });
  await project.post(`/v1/agents/${agent}/rollout`, { version: 2, percent: 20 });
  await Promise.all(Array.from({ length: 30 }, () => project.post('/v1/smiths', { agent_id: agent })));
  await Promise.all(Array.from({ length: 70 }, () => project.createSmith({ instructions: 'Two.' })));
  const { body } = await project.post(`/v1/agents/${agent}/attach`, { all: true });
  assert.equal(body.count, 70);
  const { data } = (await project.get('/v1/smiths?limit=100')).body;
  assert.equal(data.filter((smith: { agent_version: number }) => smith.agent_version === 2).length, 20);
  // Compared with the version that the smith follows: the same text overrides only the older one.
  const attached = new Set(body.attached.map(({ smith_id }: { smith_id: string }) => smith_id));
  for (const smith of data.filter(({ id }: { id: string }) => attached.has(id))) {
    assert.equal(smith.instructions, 'Two.');
    assert.deepEqual(smith.override_keys, smith.agent_version === 2 ? [] : ['instructions']);
  }
});

test('more smiths than one batch holds are all attached, once, in exact proportion', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  await publishVersion(project, agent, { instructions: 'Two.' });
  await project.post(`/v1/agents/${agent}/rollout`, { version: 2, percent: 30 });
  await platform.db.query({
    text: `insert into smiths (project_id, id, revision)
      select $1, 'smt_' || lpad(n::text, 26, '0'), 1 from generate_series(1, 1200) n`,
    values: [project.projectId],
  });
  const { body } = await project.post(`/v1/agents/${agent}/attach`, { all: true });
  assert.equal(body.count, 1200);
  assert.equal(new Set(body.attached.map(({ smith_id }: { smith_id: string }) => smith_id)).size, 1200);
  assert.equal(await countSmiths(project, agent), 1200);
  let following = 0;
  let cursor = '';
  do {
    const page = (await project.get(`/v1/smiths?agent_id=${agent}&limit=100${cursor}`)).body;
    following += page.data.filter((smith: { agent_version: number }) => smith.agent_version === 2).length;
    cursor = page.has_more ? `&cursor=${page.next_cursor}` : '';
  } while (cursor !== '');
  assert.equal(following, 360);
  assert.equal((await readEvents(project, 'smith.updated')).length, 1200);
});

test('a smith that is named moves from its agent, loses its pin and is counted there no more', async () => {
  const project = await platform.createProject();
  const [from, to] = [await publishAgent(project), await publishAgent(project, { instructions: 'New.' })];
  const { body: moved } = await project.post('/v1/smiths', { agent_id: from, pin: 1, auto_memory: true });
  const { body: staying } = await project.post('/v1/smiths', { agent_id: to, instructions: 'Own.' });
  const answer = await project.post(`/v1/agents/${to}/attach`, { smith_ids: [moved.id, staying.id, moved.id] });
  assert.equal(answer.body.count, 2);
  const smith = (await project.get(`/v1/smiths/${moved.id}`)).body;
  assert.deepEqual(
    [smith.agent_id, smith.pin, smith.instructions, smith.override_keys],
    [to, null, 'New.', ['auto_memory']],
  );
  assert.deepEqual([await countSmiths(project, from), await countSmiths(project, to)], [0, 2]);
  assert.equal((await project.get(`/v1/smiths/${staying.id}/revisions`)).body.data.length, 1);
  const [event] = await readEvents(project, 'smith.updated');
  assert.deepEqual(event?.data, {
    smith_id: moved.id,
    changed: ['agent_id'],
    cleared: ['pin'],
    agent_id: to,
    pin_changed: true,
  });
});

test('all are attached or none', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  const { body: draft } = await project.post('/v1/agents', { name: 'Draft', model: 'builtin/demo' });
  const good = await project.createSmith({ external_id: 'a' });
  const twin = await project.createSmith({ external_id: 'b' });
  await project.post('/v1/smiths', { agent_id: agent, external_id: 'b' });
  const stranger = await (await platform.createProject()).createSmith();
  const cases: [string, Record<string, unknown>, number, string][] = [
    [agent, {}, 422, 'invalid_request'],
    [agent, { all: false, smith_ids: [] }, 422, 'invalid_request'],
    [agent, { all: true, smith_ids: [good] }, 422, 'invalid_request'],
    [agent, { smith_ids: [good, 'smt_none'] }, 404, 'not_found'],
    [agent, { smith_ids: [good, stranger] }, 404, 'not_found'],
    [agent, { smith_ids: [good, twin] }, 409, 'smith_exists'],
    [agent, { all: true }, 409, 'smith_exists'],
    [draft.id, { smith_ids: [good] }, 409, 'agent_unpublished'],
    [draft.id, { all: true }, 409, 'agent_unpublished'],
    ['agt_none', { all: true }, 404, 'not_found'],
  ];
  for (const [id, body, status, code] of cases) {
    const answer = await project.post(`/v1/agents/${id}/attach`, body);
    assert.deepEqual([answer.status, answer.body.error.code], [status, code], JSON.stringify(body));
  }
  assert.equal((await project.get(`/v1/smiths/${good}`)).body.agent_id, null);
  assert.equal(await countSmiths(project, agent), 1);
  assert.deepEqual(await readEvents(project, 'smith.updated'), []);
});

test('attaching races with creating, moving and archiving, and every count stays exact', async () => {
  const project = await platform.createProject();
  const agents = [await publishAgent(project), await publishAgent(project)] as const;
  const smiths: string[] = [];
  for (let n = 0; n < 30; n++) smiths.push(await project.createSmith({ external_id: `u${n}` }));
  const [first, second] = agents;
  const answers = await Promise.all([
    project.post(`/v1/agents/${first}/attach`, { all: true }),
    ...smiths.slice(0, 10).map((id) => project.patch(`/v1/smiths/${id}`, { agent_id: second })),
    ...smiths.slice(10, 20).map((id) => project.delete(`/v1/smiths/${id}`)),
    project.post(`/v1/agents/${second}/attach`, { smith_ids: smiths.slice(20) }),
    ...Array.from({ length: 10 }, (_, n) => project.post('/v1/smiths', { agent_id: first, external_id: `new${n}` })),
    ...smiths.slice(0, 5).map((id) => project.patch(`/v1/smiths/${id}`, { display_name: 'Ann' })),
  ]);
  assert.deepEqual(
    answers.filter(({ status }) => status >= 400).map(({ text }) => text),
    [],
  );
  for (const agent of agents) {
    const { data } = (await project.get(`/v1/smiths?agent_id=${agent}&limit=100`)).body;
    assert.equal(await countSmiths(project, agent), data.length);
  }
});
