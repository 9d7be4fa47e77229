/** Pushing spans: what joins, what counts once, and what is refused. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { type Answer, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { makeSmith } from '../../../../test/support/turns.ts';
import { mintId, withPrefix } from '../../../kernel/ids/ids.ts';

const platform = await startPlatform();
after(() => platform.close());

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Json = any;

const START = Date.UTC(2026, 4, 1, 12);
const at = (ms: number) => new Date(START + ms).toISOString();

function span(id: string, parent: string | null = null, more: Record<string, unknown> = {}) {
  return { span_id: id, parent_span_id: parent, name: `span ${id}`, started_at: at(0), ended_at: at(100), ...more };
}

function push(project: Pick<TestProject, 'post'>, body: Record<string, unknown>): Promise<Answer> {
  return project.post('/v1/traces:ingest', body);
}

async function pushed(project: Pick<TestProject, 'post'>, body: Record<string, unknown>): Promise<Json> {
  const answer = await push(project, body);
  assert.ok(answer.status === 201 || answer.status === 200, answer.text);
  return answer.body;
}

async function read(project: Pick<TestProject, 'get'>, id: string): Promise<Json> {
  const answer = await project.get(`/v1/traces/${id}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

test('what is pushed can be read back, member for member', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const answer = await push(project, {
    trace_id: 'checkout-1',
    app_id: 'shop',
    smith_id: smithId,
    spans: [
      span('b', 'a', {
        name: 'chat gpt-5',
        kind: 'model',
        started_at: '2026-05-01T12:00:00.000250Z',
        ended_at: '2026-05-01T14:00:00.001Z',
        attributes: { 'gen_ai.request.model': 'gpt-5', nested: { list: [1, 'two', null] } },
        error: { type: 'timeout', message: 'It took too long.' },
        usage: { input_tokens: 10, output_tokens: 3, cost: 0.000012 },
      }),
      span('a', null, { name: 'checkout', started_at: at(0), ended_at: at(7_200_002) }),
    ],
  });
  assert.equal(answer.status, 201, answer.text);
  const { trace_id: id } = answer.body;
  assert.match(id, /^trc_/);
  assert.deepEqual(answer.body, { trace_id: id, external_id: 'checkout-1', accepted: 2, repeated: 0, span_count: 2 });
  const { spans, created_at: createdAt, ...trace } = await read(project, id);
  const usage = { input_tokens: 10, output_tokens: 3, total_tokens: 13, cost: 0.000012 };
  assert.deepEqual(trace, {
    id,
    run_id: null,
    external_id: 'checkout-1',
    smith_id: smithId,
    app_id: 'shop',
    name: 'checkout',
    status: 'completed',
    started_at: at(0),
    ended_at: at(7_200_002),
    duration_ms: 7_200_002,
    span_count: 2,
    totals: usage,
  });
  assert.ok(Date.parse(createdAt) <= Date.now());
  assert.deepEqual(spans, [
    {
      span_id: 'a',
      parent_span_id: null,
      name: 'checkout',
      kind: 'other',
      status: 'ok',
      started_at: at(0),
      ended_at: at(7_200_002),
      duration_ms: 7_200_002,
      attributes: {},
      error: null,
      usage: null,
    },
    {
      span_id: 'b',
      parent_span_id: 'a',
      name: 'chat gpt-5',
      kind: 'model',
      status: 'error',
      started_at: '2026-05-01T12:00:00.000Z',
      ended_at: '2026-05-01T14:00:00.001Z',
      duration_ms: 7_200_000.75,
      attributes: { 'gen_ai.request.model': 'gpt-5', nested: { list: [1, 'two', null] } },
      error: { type: 'timeout', message: 'It took too long.' },
      usage,
    },
  ]);
});

test('a repeated span_id leaves totals unchanged, in the same request and in later ones', async () => {
  const project = await platform.createProject();
  const usage = { input_tokens: 5, output_tokens: 2, cost: 0.5 };
  const body = { trace_id: 't', spans: [span('a', null, { usage }), span('a', null, { usage, name: 'other' })] };
  const first = await pushed(project, body);
  assert.deepEqual([first.accepted, first.repeated], [1, 1]);
  const before = await read(project, first.trace_id);
  const again = await push(project, { ...body, app_id: 'late' });
  assert.deepEqual([again.status, again.body.accepted, again.body.repeated], [200, 0, 2]);
  assert.deepEqual(await read(project, first.trace_id), before);
});

test('spans that are pushed in parallel, over and over, are counted once each', async () => {
  const project = await platform.createProject();
  const spans = Array.from({ length: 30 }, (_, n) =>
    span(`s${n}`, n === 0 ? null : 's0', { usage: { input_tokens: n } }),
  );
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => push(project, { trace_id: 'race', spans: spans.slice(n, n + 11) })),
  );
  for (const answer of answers) assert.ok(answer.status < 300, answer.text);
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  assert.equal(
    answers.reduce((sum, { body }) => sum + body.accepted, 0),
    30,
  );
  const trace = await read(project, answers[0]?.body.trace_id);
  assert.deepEqual([trace.span_count, trace.spans.length, trace.totals.input_tokens], [30, 30, (29 * 30) / 2]);
  const { body: listed } = await project.get('/v1/traces');
  assert.equal(listed.data.length, 1);
});

test('late spans join their trace, by its own id too, and may be the parents of earlier ones', async () => {
  const project = await platform.createProject();
  const first = await pushed(project, {
    trace_id: 'late',
    spans: [span('child', 'root', { error: { message: 'Broken.' }, started_at: at(50) })],
  });
  const orphaned = await read(project, first.trace_id);
  assert.deepEqual([orphaned.name, orphaned.status, orphaned.started_at], ['span child', 'failed', at(50)]);
  const second = await pushed(project, {
    trace_id: first.trace_id,
    spans: [span('root', null, { ended_at: at(900) })],
  });
  assert.deepEqual([second.trace_id, second.external_id], [first.trace_id, 'late']);
  const whole = await read(project, first.trace_id);
  // The root did not fail, so the trace did not.
  assert.deepEqual(
    [whole.name, whole.status, whole.started_at, whole.ended_at],
    ['span root', 'completed', at(0), at(900)],
  );
  const smithId = await project.createSmith();
  await pushed(project, { trace_id: 'late', smith_id: smithId, app_id: 'app', spans: [span('x', 'root')] });
  const named = await read(project, first.trace_id);
  assert.deepEqual([named.smith_id, named.app_id, named.span_count], [smithId, 'app', 3]);
});

describe('a tree with a cycle is refused, and nothing of it is stored', () => {
  const cycles: Readonly<Record<string, readonly ReturnType<typeof span>[]>> = {
    'a span that is its own parent': [span('a', 'a')],
    'two spans': [span('a', 'b'), span('b', 'a')],
    'five spans, beside a good tree': [
      span('root'),
      span('ok', 'root'),
      ...['a', 'b', 'c', 'd', 'e'].map((id, n, all) => span(id, all[(n + 1) % 5] ?? '')),
    ],
  };
  for (const [what, spans] of Object.entries(cycles)) {
    test(what, async () => {
      const project = await platform.createProject();
      const answer = await push(project, { trace_id: 'c', spans });
      assertRefusal(answer, 422, 'invalid_request', 'spans');
      assert.match(answer.body.error.message, /cycle/);
      assert.deepEqual((await project.get('/v1/traces')).body.data, []);
    });
  }

  test('one that only a later request would close', async () => {
    const project = await platform.createProject();
    const { trace_id: id } = await pushed(project, { trace_id: 'c', spans: [span('a', 'b'), span('b', 'c')] });
    const before = await read(project, id);
    assertRefusal(await push(project, { trace_id: 'c', spans: [span('d'), span('c', 'a')] }), 422, 'invalid_request');
    assert.deepEqual(await read(project, id), before);
    await pushed(project, { trace_id: 'c', spans: [span('c')] });
  });

  test('one that two requests close at once', async () => {
    const project = await platform.createProject();
    const answers = await Promise.all([
      push(project, { trace_id: 'c', spans: [span('a', 'b')] }),
      push(project, { trace_id: 'c', spans: [span('b', 'a')] }),
    ]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 422]);
  });
});

describe('what a span may be', () => {
  const bad: readonly [what: string, span: Record<string, unknown>, param: string][] = [
    ['that ends before it begins', span('a', null, { started_at: at(1), ended_at: at(0) }), 'spans.0.ended_at'],
    [
      'that ends a microsecond before it begins',
      span('a', null, { started_at: '2026-05-01T12:00:00.000002Z', ended_at: '2026-05-01T12:00:00.000001Z' }),
      'spans.0.ended_at',
    ],
    ['of the far future', span('a', null, { ended_at: '2999-01-01T00:00:00Z' }), 'spans.0.ended_at'],
    ['of 1970', span('a', null, { started_at: '1970-01-01T00:00:01Z' }), 'spans.0.started_at'],
    ['with a time that is none', span('a', null, { started_at: 'noon' }), 'spans.0.started_at'],
    ['without an end', span('a', null, { ended_at: undefined }), 'spans.0.ended_at'],
    ['without a name', span('a', null, { name: '' }), 'spans.0.name'],
    ['without an id', span(''), 'spans.0.span_id'],
    ['with white space in its id', span('a b'), 'spans.0.span_id'],
    ['of no kind', span('a', null, { kind: 'magic' }), 'spans.0.kind'],
    ['with negative usage', span('a', null, { usage: { input_tokens: -1 } }), 'spans.0.usage.input_tokens'],
    ['with half a token', span('a', null, { usage: { input_tokens: 0.5 } }), 'spans.0.usage.input_tokens'],
    ['with an attribute list', span('a', null, { attributes: [] }), 'spans.0.attributes'],
    ['with a member that is not known', span('a', null, { colour: 'red' }), 'spans.0.colour'],
  ];
  for (const [what, one, param] of bad) {
    test(`one ${what} is refused`, async () => {
      const project = await platform.createProject();
      assertRefusal(await push(project, { spans: [one] }), 422, 'invalid_request', param);
    });
  }

  const many = (count: number, make: (n: number) => unknown) => Array.from({ length: count }, (_, n) => make(n));
  const members = (count: number) => Object.fromEntries(many(count, (n) => [`k${n}`, n]) as [string, unknown][]);
  const limits: readonly [what: string, limit: number, body: (size: number) => Record<string, unknown>][] = [
    ['spans of a request', 1_000, (size) => ({ spans: many(size, (n) => span(`s${n}`)) })],
    ['characters of a name', 256, (size) => ({ spans: [span('a', null, { name: 'n'.repeat(size) })] })],
    ['characters of a span’s id', 64, (size) => ({ spans: [span('a'.repeat(size))] })],
    ['characters of a parent’s id', 64, (size) => ({ spans: [span('a', 'b'.repeat(size))] })],
    ['characters of a trace’s id', 128, (size) => ({ trace_id: 't'.repeat(size), spans: [span('a')] })],
    ['characters of an app’s id', 256, (size) => ({ app_id: 't'.repeat(size), spans: [span('a')] })],
    ['attributes of a span', 128, (size) => ({ spans: [span('a', null, { attributes: members(size) })] })],
    [
      'bytes of a span’s attributes',
      65_536,
      (size) => ({
        spans: [span('a', null, { attributes: { x: 'é'.repeat((size - 8) / 2) + 'x'.repeat(size % 2) } })],
      }),
    ],
    ['levels', 256, (size) => ({ spans: many(size, (n) => span(`s${n}`, n === 0 ? null : `s${n - 1}`)) })],
    ['tokens of a span', 1_000_000_000, (size) => ({ spans: [span('a', null, { usage: { input_tokens: size } })] })],
    ['dollars of a span', 1_000_000, (size) => ({ spans: [span('a', null, { usage: { cost: size } })] })],
    [
      'characters of an error',
      1_000,
      (size) => ({ spans: [span('a', null, { error: { message: 'e'.repeat(size) } })] }),
    ],
  ];
  for (const [what, limit, body] of limits) {
    test(`at most ${limit} ${what}`, async () => {
      const project = await platform.createProject();
      const taken = await push(project, body(limit));
      assert.equal(taken.status, 201, taken.text);
      const refused = await push(project, { ...body(limit + 1), trace_id: body(limit + 1).trace_id ?? 'other' });
      assertRefusal(refused, 422, 'invalid_request');
      assert.match(refused.body.error.message, new RegExp(`\\b${limit}\\b`), refused.text);
    });
  }

  test('at most 10000 spans of a trace, over any number of requests', async () => {
    const project = await platform.createProject();
    const batch = (from: number, count: number) => many(count, (n) => span(`s${from + n}`));
    for (let from = 0; from < 10_000; from += 1_000)
      await pushed(project, { trace_id: 'big', spans: batch(from, 1_000) });
    const refused = await push(project, { trace_id: 'big', spans: batch(10_000, 1) });
    assertRefusal(refused, 422, 'invalid_request', 'spans');
    assert.match(refused.body.error.message, /10000/);
    const repeated = await pushed(project, { trace_id: 'big', spans: batch(9_990, 10) });
    assert.deepEqual([repeated.accepted, repeated.span_count], [0, 10_000]);
    assert.equal((await read(project, repeated.trace_id)).spans.length, 10_000);
  });

  test('at most 8 MiB of a trace', async () => {
    const project = await platform.createProject();
    const large = (n: number) => span(`s${n}`, null, { attributes: { text: 'x'.repeat(65_000) } });
    await pushed(project, { trace_id: 'big', spans: many(100, large) });
    const refused = await push(project, { trace_id: 'big', spans: many(30, (n) => large(100 + n)) });
    assertRefusal(refused, 422, 'invalid_request', 'spans');
    assert.match(refused.body.error.message, /8388608/);
  });
});

test('a cost of a span counts only where it is the span’s own', async () => {
  const project = await platform.createProject();
  const used = { 'gen_ai.usage.input_tokens': 7, 'gen_ai.usage.output_tokens': 2, 'gen_ai.usage.cost': 0.25 };
  const { trace_id: id } = await pushed(project, {
    spans: [
      span('a', null, { attributes: { 'gen_ai.operation.name': 'invoke_agent', ...used } }),
      span('b', 'a', { attributes: { 'gen_ai.operation.name': 'chat', ...used } }),
      span('c', 'a', { attributes: { 'gen_ai.operation.name': 'execute_tool' } }),
      span('d', 'a', { attributes: { 'gen_ai.operation.name': 'chat', ...used }, usage: { input_tokens: 1 } }),
    ],
  });
  const trace = await read(project, id);
  assert.deepEqual(
    trace.spans.map((one: Json) => one.kind),
    ['turn', 'model', 'tool', 'model'],
  );
  assert.deepEqual(trace.totals, { input_tokens: 8, output_tokens: 2, total_tokens: 10, cost: 0.25 });
});

test('tokens and cost count in the project’s usage once, by app, whoever pushes them how often', async () => {
  const project = await platform.createProject();
  const usage = { input_tokens: 100, output_tokens: 20, cost: 0.125 };
  const model = { 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-5' };
  const spans = Array.from({ length: 5 }, (_, n) => span(`s${n}`, null, { usage, attributes: model }));
  const shop = { trace_id: 'u', app_id: 'shop', spans };
  await Promise.all(Array.from({ length: 8 }, () => push(project, shop)));
  await pushed(project, { trace_id: 'v', app_id: 'blog', spans: [spans[0], span('none')] });
  const { rows } = await platform.db.query({
    text: `select app_id, source, model, day::text as day, calls, input_tokens, output_tokens, cost_micros from usage_daily
           where project_id = $1 order by app_id`,
    values: [project.projectId],
  });
  const day = { source: 'external', model: 'openai/gpt-5', day: '2026-05-01' };
  assert.deepEqual(rows, [
    { app_id: 'blog', ...day, calls: 1, input_tokens: 100, output_tokens: 20, cost_micros: 125_000 },
    { app_id: 'shop', ...day, calls: 5, input_tokens: 500, output_tokens: 100, cost_micros: 625_000 },
  ]);
  const shown = await project.get('/v1/usage?group_by=app&from=2026-05-01&to=2026-05-02');
  assert.equal(shown.status, 200, shown.text);
  assert.deepEqual(shown.body.data.map((row: Json) => [row.app_id, row.input_tokens, row.cost]).sort(), [
    ['blog', 100, 0.125],
    ['shop', 500, 0.625],
  ]);
});

describe('who sees what was pushed', () => {
  test('without a smith, a tenant-admin token alone', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith();
    const token = project.as(await project.smithToken(smithId, ['traces:read', 'traces:write']));
    const { trace_id: id } = await pushed(project, { trace_id: 'mine', spans: [span('a')] });
    assert.equal((await read(project, id)).smith_id, null);
    assertRefusal(await token.get(`/v1/traces/${id}`), 404, 'not_found');
    assert.deepEqual((await token.get('/v1/traces')).body.data, []);
    assertRefusal(await push(token, { trace_id: id, spans: [span('b')] }), 404, 'not_found', 'trace_id');
    // The same name of a smith’s own is another trace.
    const own = await pushed(token, { trace_id: 'mine', spans: [span('a')] });
    assert.notEqual(own.trace_id, id);
    assert.equal((await read(token, own.trace_id)).smith_id, smithId);
    assert.deepEqual(
      (await token.get('/v1/traces')).body.data.map((trace: Json) => trace.id),
      [own.trace_id],
    );
    assert.equal((await project.get('/v1/traces')).body.data.length, 2);
  });

  test('a trace is one smith’s', async () => {
    const project = await platform.createProject();
    const [one, other] = [await project.createSmith(), await project.createSmith()];
    await pushed(project, { trace_id: 't', smith_id: one, spans: [span('a')] });
    assertRefusal(
      await push(project, { trace_id: 't', smith_id: other, spans: [span('b')] }),
      422,
      'invalid_request',
      'smith_id',
    );
  });

  test('another project’s and a run’s trace take no spans', async () => {
    const [project, abroad] = [await platform.createProject(), await platform.createProject()];
    const { trace_id: foreign } = await pushed(abroad, { trace_id: 't', spans: [span('a')] });
    for (const id of [foreign, mintId('trc')]) {
      assertRefusal(await push(project, { trace_id: id, spans: [span('a')] }), 404, 'not_found', 'trace_id');
    }
    const smith = await makeSmith(platform, {}, project);
    const { body: run } = await smith.ask('Write 2 words');
    const { external_id: w3c } = await read(project, withPrefix('trc', run.id));
    for (const id of [withPrefix('trc', run.id), w3c]) {
      assertRefusal(await push(project, { trace_id: id, spans: [span('a')] }), 422, 'invalid_request', 'trace_id');
    }
    assert.equal((await push(abroad, { trace_id: w3c, spans: [span('a')] })).status, 201);
  });
});

test('a project reads and lists no pushed trace of another project', async () => {
  const [project, abroad] = [await platform.createProject(), await platform.createProject()];
  const { trace_id: foreign } = await pushed(abroad, { trace_id: 't', spans: [span('a')] });
  assert.equal((await read(abroad, foreign)).id, foreign);
  assertRefusal(await project.get(`/v1/traces/${foreign}`), 404, 'not_found');
  assert.deepEqual((await project.get('/v1/traces')).body.data, []);
});

test('the list merges runs and pushed traces, newest first, page by page, and filters both', async () => {
  const project = await platform.createProject();
  const smith = await makeSmith(platform, {}, project);
  const made: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    made.unshift(withPrefix('trc', (await smith.ask('Write 2 words')).body.id));
    const body = { app_id: `app-${n}`, spans: [span('a', null, n === 1 ? { status: 'error' } : {})] };
    made.unshift((await pushed(project, { ...body, ...(n === 2 ? { smith_id: smith.id } : {}) })).trace_id);
  }
  const find = async (query: string) => {
    const { body, text, status } = await project.get(`/v1/traces?${query}`);
    assert.equal(status, 200, text);
    return body.data.map((trace: Json) => trace.id);
  };
  const met: string[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await project.get(`/v1/traces?limit=2${cursor}`);
    met.push(...body.data.map((trace: Json) => trace.id));
    if (!body.has_more) break;
    cursor = `&cursor=${body.next_cursor}`;
  }
  assert.deepEqual(met, made);
  assert.deepEqual(await find(`smith_id=${smith.id}`), [made[0], made[1], made[3], made[5]]);
  assert.deepEqual(await find('app_id=app-0'), [made[4]]);
  assert.deepEqual(await find('status=failed'), [made[2]]);
  assert.deepEqual(await find('status=completed&limit=2'), [made[0], made[1]]);
  const second = await read(project, made[2] ?? '');
  assert.deepEqual(await find(`since=${second.created_at}`), made.slice(0, 3));
  assert.deepEqual(await find(`external_id=${second.external_id}`), [made[2]]);
});
