import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { publishAgent, publishVersion, readEvents } from '../../../../test/support/agents.ts';
import { startLately } from '../../../../test/support/lately.ts';
import { startPlatform } from '../../../../test/support/platform.ts';

const isLately = startLately();

const platform = await startPlatform();
after(() => platform.close());

test('every change is a revision that holds all that can be restored', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  const { body: customer } = await project.post('/v1/customers', { name: 'Acme' });
  const { body: smith } = await project.post('/v1/smiths', {
    external_id: 'u',
    display_name: 'Ann',
    locale: 'en',
    timezone: 'UTC',
    customer_id: customer.id,
    metadata: { a: 1 },
    agent_id: agent,
    pin: 1,
    instructions: 'Own.',
  });
  await project.patch(`/v1/smiths/${smith.id}`, { display_name: null });
  const listed = await project.get(`/v1/smiths/${smith.id}/revisions`);
  const [second, first] = listed.body.data;
  const { created_at, created_by, ...rest } = first;
  assert.deepEqual(rest, {
    version: 1,
    snapshot: {
      display_name: 'Ann',
      locale: 'en',
      timezone: 'UTC',
      customer_id: customer.id,
      metadata: { a: 1 },
      agent_id: agent,
      pin: 1,
      config: { instructions: 'Own.' },
    },
    note: null,
  });
  assert.match(created_by, /^tok_/);
  assert.ok(isLately(created_at));
  assert.deepEqual([second.version, second.snapshot], [2, { ...rest.snapshot, display_name: null }]);
  assert.deepEqual([listed.body.has_more, listed.body.next_cursor], [false, null]);
});

test('restoring a revision makes the smith what it was then, as a new revision', async () => {
  const project = await platform.createProject();
  const [agent, other] = [await publishAgent(project), await publishAgent(project, { instructions: 'Other.' })];
  await publishVersion(project, agent, { instructions: 'Two.' });
  const { body: smith } = await project.post('/v1/smiths', {
    external_id: 'u',
    display_name: 'Ann',
    metadata: { a: 1 },
    agent_id: agent,
    pin: 2,
    auto_memory: true,
  });
  const changed = {
    display_name: 'Bo',
    locale: 'de',
    metadata: { b: 2 },
    agent_id: other,
    auto_memory: null,
    model: 'builtin/demo',
  };
  const after = (await project.patch(`/v1/smiths/${smith.id}`, changed)).body;

  const restored = await project.post(`/v1/smiths/${smith.id}/revisions/1/restore`, { note: 'As before' });
  assert.equal(restored.status, 200);
  assert.deepEqual(restored.body, smith);
  const counts = await Promise.all([agent, other].map((id) => project.get(`/v1/agents/${id}`)));
  assert.deepEqual(
    counts.map(({ body }) => body.smith_count),
    [1, 0],
  );
  const [latest] = (await project.get(`/v1/smiths/${smith.id}/revisions`)).body.data;
  assert.deepEqual([latest.version, latest.note, latest.snapshot.pin], [3, 'As before', 2]);
  const event = (await readEvents(project, 'smith.updated')).at(-1);
  assert.deepEqual(event?.data, {
    smith_id: smith.id,
    changed: ['display_name', 'metadata', 'agent_id', 'pin', 'auto_memory'],
    cleared: ['locale', 'model'],
    agent_id: agent,
    pin_changed: true,
  });

  const forth = await project.post(`/v1/smiths/${smith.id}/revisions/2/restore`);
  assert.deepEqual(forth.body, after);
});

test('restoring what the smith already is still records that it was restored', async () => {
  const project = await platform.createProject();
  const id = await project.createSmith();
  await project.post(`/v1/smiths/${id}/revisions/1/restore`, { note: 'Again' });
  const { data } = (await project.get(`/v1/smiths/${id}/revisions`)).body;
  assert.deepEqual(
    data.map(({ note }: { note: string | null }) => note),
    ['Again', null],
  );
});

test('a revision whose agent or customer is gone, or whose place is taken, is not restored', async () => {
  const project = await platform.createProject();
  const { body: customer } = await project.post('/v1/customers', { name: 'Acme' });
  const [gone, taken] = [await publishAgent(project), await publishAgent(project)];
  const { body: smith } = await project.post('/v1/smiths', { external_id: 'u', agent_id: gone });
  await project.patch(`/v1/smiths/${smith.id}`, { agent_id: taken });
  await project.patch(`/v1/smiths/${smith.id}`, { agent_id: null, customer_id: customer.id });
  await project.patch(`/v1/smiths/${smith.id}`, { customer_id: null });
  await project.delete(`/v1/agents/${gone}`);
  await project.delete(`/v1/customers/${customer.id}`);
  await project.post('/v1/smiths', { external_id: 'u', agent_id: taken });
  const before = (await project.get(`/v1/smiths/${smith.id}`)).body;
  for (const [version, status, code] of [
    [1, 409, 'invalid_state'],
    [2, 409, 'smith_exists'],
    [3, 409, 'invalid_state'],
    [9, 404, 'not_found'],
    [0, 422, 'invalid_request'],
    ['x', 422, 'invalid_request'],
    [2 ** 31, 422, 'invalid_request'],
  ] as const) {
    const answer = await project.post(`/v1/smiths/${smith.id}/revisions/${version}/restore`, {});
    assert.deepEqual([answer.status, answer.body.error.code], [status, code], `${version}: ${answer.text}`);
  }
  assert.deepEqual((await project.get(`/v1/smiths/${smith.id}`)).body, before);
  assert.equal((await project.get(`/v1/smiths/${smith.id}/revisions`)).body.data.length, 4);
});

test('revisions are listed newest first, page by page, past nine', async () => {
  const project = await platform.createProject();
  const id = await project.createSmith();
  for (let n = 2; n <= 12; n++) await project.patch(`/v1/smiths/${id}`, { display_name: `v${n}` });
  const seen: number[] = [];
  let cursor = '';
  do {
    const { body } = await project.get(`/v1/smiths/${id}/revisions?limit=5${cursor}`);
    seen.push(...body.data.map(({ version }: { version: number }) => version));
    cursor = body.has_more ? `&cursor=${body.next_cursor}` : '';
  } while (cursor !== '');
  assert.deepEqual(seen, [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  const foreign = (await project.get('/v1/smiths?limit=1')).body;
  assert.equal(foreign.data[0].id, id);
  const cursorOfIds = Buffer.from(`c1:${id}`).toString('base64url');
  const refused = await project.get(`/v1/smiths/${id}/revisions?cursor=${cursorOfIds}`);
  assert.equal(refused.body.error.code, 'invalid_cursor');
});

test('restores and patches that race are all numbered', async () => {
  const project = await platform.createProject();
  const id = await project.createSmith({ display_name: 'One' });
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      n % 2 === 0
        ? project.post(`/v1/smiths/${id}/revisions/1/restore`, { note: `r${n}` })
        : project.patch(`/v1/smiths/${id}`, { display_name: `p${n}` }),
    ),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    Array.from({ length: 10 }, () => 200),
  );
  const { data } = (await project.get(`/v1/smiths/${id}/revisions`)).body;
  assert.deepEqual(
    data.map(({ version }: { version: number }) => version),
    Array.from({ length: 11 }, (_, index) => 11 - index),
  );
});
