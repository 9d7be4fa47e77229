import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  createVectorStore,
  publishAgent,
  publishVersion,
  readEvents,
  registerMcpServer,
} from '../../../../test/support/agents.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { uploadSkill } from '../../../../test/support/skills.ts';

const platform = await startPlatform();
after(() => platform.close());

async function changesOf(project: TestProject, smithId: string): Promise<Record<string, unknown>[]> {
  const events = await readEvents(project, 'smith.updated');
  return events.filter(({ smith_id }) => smith_id === smithId).map(({ data }) => data);
}

test('a patch changes what it names, and null lets the agent’s setting through again', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project, { instructions: 'Be kind.', auto_memory: true });
  const { body } = await project.post('/v1/smiths', {
    agent_id: agent,
    instructions: 'Own.',
    display_name: 'Ann',
    metadata: { a: 1 },
  });
  const patched = await project.patch(`/v1/smiths/${body.id}`, {
    auto_memory: false,
    display_name: 'Bo',
    locale: 'de',
  });
  assert.equal(patched.status, 200);
  assert.deepEqual(patched.body, {
    ...body,
    auto_memory: false,
    display_name: 'Bo',
    locale: 'de',
    override_keys: ['instructions', 'auto_memory'],
  });
  const cleared = await project.patch(`/v1/smiths/${body.id}`, {
    instructions: null,
    auto_memory: null,
    display_name: null,
    metadata: null,
  });
  assert.deepEqual(cleared.body, {
    ...body,
    instructions: 'Be kind.',
    rendered_instructions: 'Be kind.',
    display_name: null,
    metadata: {},
    locale: 'de',
    config_source: 'agent',
    override_keys: [],
  });
  const shared = { smith_id: body.id, agent_id: agent, pin_changed: false };
  assert.deepEqual(await changesOf(project, body.id), [
    { ...shared, changed: ['display_name', 'locale', 'auto_memory'], cleared: [] },
    { ...shared, changed: [], cleared: ['display_name', 'metadata', 'instructions', 'auto_memory'] },
  ]);
});

test('a patch that changes nothing leaves no revision and no event', async () => {
  const project = await platform.createProject();
  const id = await project.createSmith({ metadata: { a: 1, b: 2 } });
  const same = { metadata: { b: 2, a: 1 }, model: 'builtin/demo', instructions: null, agent_id: null };
  assert.equal((await project.patch(`/v1/smiths/${id}`, same)).status, 200);
  assert.equal((await project.get(`/v1/smiths/${id}/revisions`)).body.data.length, 1);
  assert.deepEqual(await changesOf(project, id), []);
});

test('moving to another agent clears the pin, counts the smith there and gives it a new place', async () => {
  const project = await platform.createProject();
  const [from, to] = [await publishAgent(project), await publishAgent(project, { instructions: 'New.' })];
  await publishVersion(project, to, { instructions: 'Newer.' });
  const { body } = await project.post('/v1/smiths', { agent_id: from, pin: 1 });
  const moved = (await project.patch(`/v1/smiths/${body.id}`, { agent_id: to })).body;
  assert.deepEqual([moved.agent_id, moved.pin, moved.agent_version, moved.instructions], [to, null, 1, 'New.']);
  const pinned = (await project.patch(`/v1/smiths/${body.id}`, { pin: 2 })).body;
  assert.deepEqual([pinned.pin, pinned.agent_version, pinned.instructions], [2, 2, 'Newer.']);
  const count = async (id: string) => (await project.get(`/v1/agents/${id}`)).body.smith_count;
  assert.deepEqual([await count(from), await count(to)], [0, 1]);

  const back = (await project.patch(`/v1/smiths/${body.id}`, { agent_id: from, pin: 1 })).body;
  assert.deepEqual([back.agent_id, back.pin], [from, 1]);
  const free = (await project.patch(`/v1/smiths/${body.id}`, { agent_id: null, instructions: 'Alone.' })).body;
  assert.deepEqual(
    [free.agent_id, free.pin, free.config_source, free.inherited, free.agent_version, free.instructions],
    [null, null, 'custom', null, null, 'Alone.'],
  );
  assert.deepEqual([await count(from), await count(to)], [0, 0]);
  const changes = await changesOf(project, body.id);
  assert.deepEqual(
    changes.map(({ changed, cleared, agent_id, pin_changed }) => ({ changed, cleared, agent_id, pin_changed })),
    [
      { changed: ['agent_id'], cleared: ['pin'], agent_id: to, pin_changed: true },
      { changed: ['pin'], cleared: [], agent_id: to, pin_changed: true },
      { changed: ['agent_id', 'pin'], cleared: [], agent_id: from, pin_changed: true },
      { changed: ['instructions'], cleared: ['agent_id', 'pin'], agent_id: null, pin_changed: true },
    ],
  );
});

test('a patch that cannot be is refused, and nothing of it is kept', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  const other = await publishAgent(project);
  const { body: draft } = await project.post('/v1/agents', { name: 'Draft', model: 'builtin/demo' });
  await project.post('/v1/smiths', { agent_id: other, external_id: 'u' });
  const smith = (await project.post('/v1/smiths', { agent_id: agent, external_id: 'u' })).body;
  const custom = await project.createSmith();
  const cases: [string, Record<string, unknown>, number, string][] = [
    [smith.id, {}, 422, 'empty_patch'],
    [smith.id, { external_id: 'v' }, 422, 'invalid_request'],
    [smith.id, { display_name: 'X', timezone: 'Nowhere' }, 422, 'invalid_timezone'],
    [smith.id, { display_name: 'X', locale: '??' }, 422, 'invalid_request'],
    [smith.id, { display_name: 'X', model: 'nobody/x' }, 404, 'unknown_provider'],
    [smith.id, { display_name: 'X', customer_id: 'cus_none' }, 404, 'not_found'],
    [smith.id, { display_name: 'X', agent_id: 'agt_none' }, 404, 'not_found'],
    [smith.id, { display_name: 'X', agent_id: draft.id }, 409, 'agent_unpublished'],
    [smith.id, { display_name: 'X', agent_id: other }, 409, 'smith_exists'],
    [smith.id, { display_name: 'X', pin: 2 }, 404, 'not_found'],
    [smith.id, { display_name: 'X', agent_id: null, pin: 1 }, 422, 'invalid_request'],
    [custom, { pin: 1 }, 422, 'invalid_request'],
    ['smt_none', { display_name: 'X' }, 404, 'not_found'],
  ];
  for (const [id, patch, status, code] of cases) {
    const answer = await project.patch(`/v1/smiths/${id}`, patch);
    assert.deepEqual([answer.status, answer.body.error.code], [status, code], JSON.stringify(patch));
  }
  assert.deepEqual((await project.get(`/v1/smiths/${smith.id}`)).body, smith);
  assert.deepEqual(await readEvents(project, 'smith.updated'), []);
  assert.equal((await project.get(`/v1/agents/${agent}`)).body.smith_count, 1);
});

test('patches that race lose nothing, and their revisions are numbered without gaps', async () => {
  const project = await platform.createProject();
  const [one, two] = [await publishAgent(project), await publishAgent(project)];
  const id = await project.createSmith();
  const patches: Record<string, unknown>[] = [
    { display_name: 'Ann' },
    { locale: 'en' },
    { timezone: 'UTC' },
    { metadata: { a: 1 } },
    { instructions: 'x' },
    { vector_store_ids: [await createVectorStore(project)] },
    { mcp_servers: [await registerMcpServer(project, 'm')] },
    { auto_memory: true },
    { memory_consolidation: true },
    { skills: [{ skill_id: await uploadSkill(project) }] },
    { agent_id: one },
    { agent_id: two },
  ];
  const answers = await Promise.all(patches.map((patch) => project.patch(`/v1/smiths/${id}`, patch)));
  assert.deepEqual(
    answers.filter(({ status }) => status !== 200).map(({ text }) => text),
    [],
  );
  const smith = (await project.get(`/v1/smiths/${id}`)).body;
  for (const patch of patches.slice(0, 10)) {
    const [[key, value] = ['', null]] = Object.entries(patch);
    assert.deepEqual(smith[key], value);
  }
  const { data } = (await project.get(`/v1/smiths/${id}/revisions?limit=100`)).body;
  assert.deepEqual(
    data.map(({ version }: { version: number }) => version),
    Array.from({ length: 13 }, (_, index) => 13 - index),
  );
  const counts = await Promise.all([one, two].map((agent) => project.get(`/v1/agents/${agent}`)));
  assert.deepEqual(
    counts.map(({ body }) => body.smith_count),
    [one, two].map((agent) => (smith.agent_id === agent ? 1 : 0)),
  );
});

test('smiths are listed newest first, by any filter and page by page', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  const { body: customer } = await project.post('/v1/customers', { name: 'Acme' });
  const made: { id: string; external_id: string | null; agent_id: string | null; customer_id: string | null }[] = [];
  for (let n = 0; n < 12; n++) {
    const { body } = await project.post('/v1/smiths', {
      external_id: n === 11 ? null : `${n % 2 === 0 ? 'even' : 'odd'}-${n}`,
      agent_id: n % 3 === 0 ? agent : null,
      customer_id: n % 4 === 0 ? customer.id : null,
    });
    made.unshift(body);
  }
  const gone = (await project.post('/v1/smiths', { external_id: 'even-gone', agent_id: agent })).body.id;
  await project.delete(`/v1/smiths/${gone}`);

  const filters: [string, (smith: (typeof made)[number]) => boolean][] = [
    ['', () => true],
    [`agent_id=${agent}`, ({ agent_id }) => agent_id === agent],
    [`customer_id=${customer.id}`, ({ customer_id }) => customer_id === customer.id],
    ['external_id=even-4', ({ external_id }) => external_id === 'even-4'],
    ['external_id=even', () => false],
    ['external_id_prefix=even-', ({ external_id }) => external_id?.startsWith('even-') === true],
    [
      `external_id_prefix=odd&agent_id=${agent}`,
      ({ external_id, agent_id }) => external_id?.startsWith('odd') === true && agent_id === agent,
    ],
    [
      `agent_id=${agent}&customer_id=${customer.id}`,
      (smith) => smith.agent_id === agent && smith.customer_id === customer.id,
    ],
    ['agent_id=agt_none', () => false],
  ];
  for (const [query, matches] of filters) {
    const seen: unknown[] = [];
    let cursor = '';
    do {
      const { status, body } = await project.get(`/v1/smiths?limit=2&${query}${cursor}`);
      assert.equal(status, 200);
      assert.equal(body.has_more, body.next_cursor !== null);
      seen.push(...body.data);
      cursor = body.has_more ? `&cursor=${body.next_cursor}` : '';
    } while (cursor !== '');
    assert.deepEqual(seen, made.filter(matches), query);
  }
  assert.equal((await project.get('/v1/smiths?external_id_prefix=')).body.error.code, 'invalid_request');
  assert.equal((await project.get('/v1/smiths?limit=101')).body.error.code, 'invalid_limit');
  assert.equal((await project.get('/v1/smiths?cursor=abc')).body.error.code, 'invalid_cursor');
});

test('a prefix is taken literally', async () => {
  const project = await platform.createProject();
  for (const external_id of ['a%b', 'a_b', 'a\\b', 'axb', 'é1', 'É1', 'a', 'A']) {
    await project.post('/v1/smiths', { external_id });
  }
  for (const [prefix, wanted] of [
    ['a%', ['a%b']],
    ['a_', ['a_b']],
    ['a\\', ['a\\b']],
    ['é', ['é1']],
    ['a', ['a', 'axb', 'a\\b', 'a_b', 'a%b']],
    ['A', ['A']],
    ['\u{10ffff}', []],
  ] as const) {
    const { body } = await project.get(`/v1/smiths?external_id_prefix=${encodeURIComponent(prefix)}`);
    assert.deepEqual(
      body.data.map(({ external_id }: { external_id: string }) => external_id),
      wanted,
      prefix,
    );
  }
});

test('a prefix finds the same smiths whether few or many share it', async () => {
  const project = await platform.createProject();
  await platform.db.query({
    text: `insert into smiths (project_id, id, external_id, archived_at)
      select $1, 'smt_' || lpad(n::text, 26, '0'), (case when n % 3 = 0 then 'rare-' else 'many-' end) || n,
        case when n % 10 = 0 then now() end
      from generate_series(1, 4000) n`,
    values: [project.projectId],
  });
  for (const [prefix, belongs] of [
    ['many-', (n: number) => n % 3 !== 0],
    ['rare-', (n: number) => n % 3 === 0],
  ] as const) {
    const wanted: string[] = [];
    for (let n = 4000; n > 0; n--) if (belongs(n) && n % 10 !== 0) wanted.push(`${prefix}${n}`);
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 3; page++) {
      const { body } = await project.get(`/v1/smiths?limit=100&external_id_prefix=${prefix}${cursor}`);
      seen.push(...body.data.map(({ external_id }: { external_id: string }) => external_id));
      cursor = `&cursor=${body.next_cursor}`;
    }
    assert.deepEqual(seen, wanted.slice(0, 300));
  }
});

test('a smith token reads and changes its own smith, and lists no other', async () => {
  const project = await platform.createProject();
  const own = await project.createSmith({ external_id: 'own' });
  await project.createSmith({ external_id: 'other' });
  const smith = project.as(await project.smithToken(own, ['runs:read', 'runs:write']));
  const ids = async (query: string) =>
    (await smith.get(`/v1/smiths${query}`)).body.data.map(({ id }: { id: string }) => id);
  assert.deepEqual(await ids(''), [own]);
  assert.deepEqual(await ids('?external_id_prefix=o'), [own]);
  assert.deepEqual(await ids('?external_id=other'), []);
  assert.equal((await smith.patch(`/v1/smiths/${own}`, { display_name: 'Me' })).body.display_name, 'Me');
  const [event] = await readEvents(project, 'smith.updated');
  assert.deepEqual([event?.actor?.kind, event?.actor?.id], ['smith', own]);
  const [latest] = (await smith.get(`/v1/smiths/${own}/revisions`)).body.data;
  assert.match(latest.created_by, /^tok_/);
});

test('an archived smith is gone, its tokens end and its external id is free', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  const { body } = await project.post('/v1/smiths', { agent_id: agent, external_id: 'u' });
  const token = await project.smithToken(body.id, ['runs:read']);
  const path = `/v1/smiths/${body.id}`;
  assert.equal((await project.as(token).get(path)).status, 200);

  assert.equal((await project.delete(path)).status, 204);
  const answers = [
    await project.get(path),
    await project.patch(path, { display_name: 'X' }),
    await project.delete(path),
    await project.get(`${path}/revisions`),
    await project.post(`${path}/revisions/1/restore`, {}),
    await project.post(`${path}/runs`, { input: [{ role: 'user', content: 'Hi' }] }),
  ];
  for (const answer of answers) assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found']);
  assert.equal((await project.as(token).get(path)).status, 401);
  assert.deepEqual((await project.get('/v1/smiths')).body.data, []);
  assert.equal((await project.get(`/v1/agents/${agent}`)).body.smith_count, 0);
  assert.deepEqual(
    (await readEvents(project, 'smith.deleted')).map(({ data }) => data),
    [{ smith_id: body.id }],
  );
  const [revoked] = await readEvents(project, 'token.revoked');
  assert.equal(revoked?.data.sub, `${project.projectId}:${body.id}`);

  const again = await project.post('/v1/smiths', { agent_id: agent, external_id: 'u' });
  assert.equal(again.status, 201);
  assert.notEqual(again.body.id, body.id);
});

test('archiving at the same time happens once', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  const { body } = await project.post('/v1/smiths', { agent_id: agent });
  const answers = await Promise.all(Array.from({ length: 8 }, () => project.delete(`/v1/smiths/${body.id}`)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, ...Array.from({ length: 7 }, () => 404)]);
  assert.equal((await readEvents(project, 'smith.deleted')).length, 1);
  assert.equal((await project.get(`/v1/agents/${agent}`)).body.smith_count, 0);
});

test('a turn in flight when its smith is archived runs to its end', async () => {
  const project = await platform.createProject();
  const id = await project.createSmith();
  const input = [{ role: 'user', content: 'Write 20 words at 20 words per second' }];
  const response = await project.open('POST', `/v1/smiths/${id}/runs`, { input, stream: true });
  assert.ok(response.ok);
  assert.equal((await project.delete(`/v1/smiths/${id}`)).status, 204);
  assert.match(await response.text(), /run\.completed/);
  assert.equal((await readEvents(project, 'run.completed')).length, 1);
});
