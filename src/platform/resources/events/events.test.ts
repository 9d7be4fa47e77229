import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startLately } from '../../../../test/support/lately.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { idAt } from '../../../kernel/ids/ids.ts';

const isLately = startLately();

const platform = await startPlatform();
after(() => platform.close());

type Project = Awaited<ReturnType<typeof platform.createProject>>;
interface Given {
  at: string;
  /** Default: `at`. */
  mintedAt?: string;
  type: string;
  smith?: string;
}

let appended = 0;

/** Writes rows of the feed with times of the test's choosing; returns their ids in the order given. */
async function appendAt(project: Project, rows: readonly Given[]): Promise<string[]> {
  const ids: string[] = [];
  for (const { at, mintedAt = at, type, smith = null } of rows) {
    appended += 1;
    const id = idAt('evt', new Date(mintedAt)).slice(0, -6) + String(appended).padStart(6, '0');
    await platform.db.query({
      text: `insert into events (project_id, id, type, smith_id, actor, data, created_at) values ($1, $2, $3, $4, null, $5, $6)`,
      values: [project.projectId, id, type, smith, '{"n":1}', new Date(at)],
    });
    ids.push(id);
  }
  return ids;
}

async function list(project: Project, query: string): Promise<string[]> {
  const { status, body } = await project.get(`/v1/events?${query}`);
  assert.equal(status, 200);
  return body.data.map(({ id }: { id: string }) => id);
}

test('an event has the whole envelope', async () => {
  const project = await platform.createProject();
  const { body: customerless } = await project.post('/v1/tenant/tokens', { scope: 'admin', name: 'x' });
  const { body } = await project.get('/v1/events?limit=1');
  const [{ id, created_at, actor, ...rest }] = body.data;
  assert.match(id, /^evt_/);
  assert.ok(isLately(created_at));
  assert.deepEqual(Object.keys(actor).sort(), ['email', 'id', 'kind', 'token_id']);
  assert.deepEqual([actor.kind, actor.id, actor.email], ['tenant', project.projectId, '']);
  assert.deepEqual(rest, {
    v: 1,
    type: 'token.created',
    tenant_id: project.projectId,
    smith_id: null,
    data: {
      token_id: customerless.id,
      scope: 'admin',
      sub: project.projectId,
      scopes: ['tenant:*'],
      name: 'x',
      expires_at: null,
    },
  });
});

test('an event from before attribution has a null actor', async () => {
  const project = await platform.createProject();
  await appendAt(project, [{ at: '2026-01-01T00:00:00Z', type: 'run.completed', smith: 'smt_a' }]);
  const { body } = await project.get('/v1/events?type=run.completed');
  assert.equal(body.data[0].actor, null);
  assert.equal(body.data[0].created_at, '2026-01-01T00:00:00.000Z');
  assert.deepEqual(body.data[0].data, { n: 1 });
});

test('a type selects itself, a family all of its types, newest first across them', async () => {
  const project = await platform.createProject();
  const [one, two, three, four, five] = await appendAt(project, [
    { at: '2026-01-01T00:00:01Z', type: 'agent.created' },
    { at: '2026-01-01T00:00:02Z', type: 'vector_store.file.failed' },
    { at: '2026-01-01T00:00:03Z', type: 'agent.updated' },
    { at: '2026-01-01T00:00:04Z', type: 'agent.created' },
    { at: '2026-01-01T00:00:05Z', type: 'vector_store.created' },
  ]);
  assert.deepEqual(await list(project, 'type=agent.created'), [four, one]);
  for (const family of ['agent', 'agent.']) assert.deepEqual(await list(project, `type=${family}`), [four, three, one]);
  assert.deepEqual(await list(project, 'type=vector_store'), [five, two]);
  assert.deepEqual(await list(project, 'type=vector_store.file'), [two]);
  assert.deepEqual(await list(project, 'type=agent.crea'), []);
  assert.deepEqual(await list(project, 'type=no.such'), []);
});

test('a filtered list pages without a gap or a repetition', async () => {
  const project = await platform.createProject();
  const types = ['agent.created', 'agent.updated', 'run.completed', 'agent.deleted'];
  const rows = Array.from({ length: 40 }, (_, n) => ({
    at: new Date(Date.UTC(2026, 0, 1) + Math.floor(n / 3)).toISOString(),
    type: types[n % 4] ?? '',
    smith: n % 2 === 0 ? 'smt_even' : 'smt_odd',
  }));
  const ids = await appendAt(project, rows);
  for (const [query, keeps] of [
    ['type=agent', (row: Given) => row.type.startsWith('agent.')],
    ['smith_id=smt_even', (row: Given) => row.smith === 'smt_even'],
    ['type=agent&smith_id=smt_odd', (row: Given) => row.smith === 'smt_odd' && row.type.startsWith('agent.')],
    [
      'since=2026-01-01T00:00:00.005Z&type=run.completed',
      (row: Given) => row.type === 'run.completed' && row.at >= '2026-01-01T00:00:00.005Z',
    ],
  ] as const) {
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await project.get(`/v1/events?limit=3&${query}${cursor}`);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      assert.equal(body.has_more, body.next_cursor !== null);
      cursor = body.has_more ? `&cursor=${body.next_cursor}` : '';
    } while (cursor !== '');
    const wanted = ids.filter((_, n) => keeps(rows[n] ?? { at: '', type: '' })).reverse();
    assert.ok(wanted.length > 3);
    assert.deepEqual(seen, wanted, query);
  }
});

test('since keeps what happened at that time and later', async () => {
  const project = await platform.createProject();
  const [first, second, third] = await appendAt(project, [
    { at: '2090-03-01T11:59:59.999Z', type: 'run.completed' },
    { at: '2090-03-01T12:00:00.000Z', type: 'run.completed' },
    { at: '2090-03-01T12:00:00.001Z', type: 'run.failed' },
  ]);
  assert.deepEqual(await list(project, 'since=2090-03-01T12:00:00Z'), [third, second]);
  assert.deepEqual(await list(project, `since=${encodeURIComponent('2090-03-01T14:00:00+02:00')}`), [third, second]);
  assert.deepEqual(await list(project, 'since=2090-03-01T12:00:00Z&type=run.failed'), [third]);
  assert.deepEqual(await list(project, 'since=2090-03-02T00:00:00Z'), []);
  assert.deepEqual(await list(project, 'since=2090-02-28T23:59:60Z'), [third, second, first]);
  assert.deepEqual(await list(project, 'since=2090-03-01'), [third, second, first]);
  assert.deepEqual(await list(project, 'since=2090-03-02'), []);
  assert.deepEqual(await list(project, `since=${Date.UTC(2090, 2, 1, 12) / 1_000}`), [third, second]);
  assert.deepEqual(await list(project, `since=${Date.UTC(2090, 2, 1, 13) / 1_000}`), []);
});

test('since goes by the time of the event where its id was minted by a clock that lags', async () => {
  const project = await platform.createProject();
  const [id] = await appendAt(project, [
    { at: '2090-01-01T00:02:00Z', mintedAt: '2090-01-01T00:00:00Z', type: 'run.completed' },
  ]);
  assert.deepEqual(await list(project, 'since=2090-01-01T00:01:00Z'), [id]);
  assert.deepEqual(await list(project, 'since=2090-01-01T00:03:00Z'), []);
});

for (const [query, code, param] of [
  ['since=yesterday', 'invalid_request', 'since'],
  ['since=', 'invalid_request', 'since'],
  ['since=2026-02-30T00:00:00Z', 'invalid_request', 'since'],
  ['since=2026-02-30', 'invalid_request', 'since'],
  ['since=1767225600.5', 'invalid_request', 'since'],
  ['since=-1', 'invalid_request', 'since'],
  ['type=', 'invalid_request', 'type'],
  ['smith_id=', 'invalid_request', 'smith_id'],
  ['limit=0', 'invalid_limit', 'limit'],
  ['limit=101', 'invalid_limit', 'limit'],
  ['cursor=zzz', 'invalid_cursor', 'cursor'],
] as const) {
  test(`a feed query with ${query} is refused as ${code}`, async () => {
    const project = await platform.createProject();
    const { status, body } = await project.get(`/v1/events?${query}`);
    assert.equal(status, 422);
    assert.equal(body.error.code, code);
    assert.equal(body.error.param, param);
  });
}

test('the earliest and the latest times that can be written are answered', async () => {
  const project = await platform.createProject();
  const [id] = await appendAt(project, [{ at: '2026-01-01T00:00:00Z', type: 'run.completed' }]);
  assert.ok((await list(project, 'since=0000-01-01T00:00:00Z')).includes(id ?? ''));
  assert.deepEqual(await list(project, 'since=9999-12-31T23:59:59Z'), []);
});

test('a project sees its own events alone', async () => {
  const mine = await platform.createProject();
  const other = await platform.createProject();
  await appendAt(other, [{ at: '2026-01-01T00:00:00Z', type: 'agent.created', smith: 'smt_shared' }]);
  for (const query of ['type=agent.created', 'type=agent', 'smith_id=smt_shared', 'type=agent&smith_id=smt_shared']) {
    assert.deepEqual(await list(mine, query), []);
    assert.equal((await list(other, query)).length, 1);
  }
});
