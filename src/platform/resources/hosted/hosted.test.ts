/** Hosted pages, over real HTTP: what a visitor is shown, whose threads they are, and what bounds them. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { createClient, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { withinOneDay } from '../../../../test/support/within-one-day.ts';
import { mintId } from '../../../kernel/ids/ids.ts';

const platform = await startPlatform();
after(() => platform.close());
const visitor = createClient(platform.url, '');

type Body = Record<string, unknown>;

interface Page {
  readonly project: TestProject;
  readonly id: string;
  readonly agentId: string;
  readonly path: string;
  chat(body: Body, headers?: Record<string, string>): ReturnType<typeof visitor.post>;
}

async function makePage(body: Body = {}, owner?: TestProject): Promise<Page> {
  const project = owner ?? (await platform.createProject());
  const agent = await project.post('/v1/agents', {
    name: 'Helper',
    model: 'builtin/demo',
    enabled_hosted_tools: ['current_time'],
  });
  await project.post(`/v1/agents/${agent.body.id}/versions`, {});
  const agentId = agent.body.id as string;
  const made = await project.post('/v1/deployments', { target: { type: 'agent', id: agentId }, kind: 'web', ...body });
  assert.equal(made.status, 201, made.text);
  const path = `/v1/hosted/${made.body.id}`;
  const chat = (message: Body, headers = {}) =>
    visitor.post(`${path}/chat`, { visitor_id: 'ada', message: 'Write 3 words', ...message }, headers);
  return { project, id: made.body.id, agentId, path, chat };
}

async function smithOf(project: TestProject, externalId: string) {
  const { body } = await project.get(`/v1/smiths?external_id=${encodeURIComponent(externalId)}`);
  assert.equal(body.data.length, 1, JSON.stringify(body));
  return body.data[0];
}

describe('a page', () => {
  test('is shown without a token', async () => {
    const { path, id } = await makePage({ provider_metadata: { title: 'Help', greeting: 'Hello!' } });
    const shown = await visitor.get(path);
    const expected = { id, title: 'Help', greeting: 'Hello!', requires_password: false, status: 'active' };
    assert.deepEqual([shown.status, shown.body], [200, expected]);
    assertRefusal(await visitor.get(`/v1/hosted/${mintId('dep')}`), 404, 'not_found');
    assertRefusal(
      await visitor.post(`/v1/hosted/${mintId('dep')}/chat`, { visitor_id: 'a', message: 'b' }),
      404,
      'not_found',
    );
  });

  test('of one smith tells no visitor what another one said, nor what its owner did', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith({ auto_memory: true });
    const target = { type: 'smith', id: smithId };
    const { id } = (await project.post('/v1/deployments', { target, kind: 'web' })).body;
    const input = [{ role: 'user', content: 'My diagnosis is a broken toe' }];
    assert.equal((await project.post(`/v1/smiths/${smithId}/runs`, { input })).body.status, 'completed');
    const chat = async (visitor_id: string, message: string) => {
      const answer = await visitor.post(`/v1/hosted/${id}/chat`, { visitor_id, message });
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    await chat('ada', 'My diagnosis is a broken thumb');
    const recall = 'Call the tool recall_conversations with {"query":"diagnosis"}';
    assert.doesNotMatch((await chat('bob', recall)).message, /thumb|toe/);
    // Its owner finds both, so they could be found.
    await eventually(async () => {
      const asked = { input: [{ role: 'user', content: recall }] };
      const { output } = (await project.post(`/v1/smiths/${smithId}/runs`, asked)).body;
      return /toe/.test(output.content) && /thumb/.test(output.content) ? output : undefined;
    }, 'the conversations are found');
    assert.doesNotMatch((await chat('bob', recall)).message, /thumb|toe/);
  });

  test('answers in one piece, by a smith of the visitor’s own that speaks for itself', async () => {
    const { project, id, agentId, chat } = await makePage();
    const first = await chat({});
    assert.equal(first.status, 200, first.text);
    const { run_id, thread_id, ...rest } = first.body;
    assert.deepEqual(Object.keys(rest), ['status', 'message']);
    assert.equal(rest.status, 'completed');
    assert.ok(rest.message.split(' ').length >= 3, rest.message);
    const smith = await smithOf(project, `web:${id}:ada`);
    assert.equal(smith.agent_id, agentId);
    const run = await project.get(`/v1/smiths/${smith.id}/runs/${run_id}`);
    const itself = { kind: 'smith', id: smith.id, token_id: '', email: '' };
    assert.deepEqual([run.body.channel, run.body.actor], ['web', itself]);
    assert.deepEqual(run.body.metadata, { deployment_id: id, visitor_id: 'ada' });
    assert.equal(run.body.output.content, rest.message);
    const made = await project.get(`/v1/events?type=smith.created&smith_id=${smith.id}`);
    assert.deepEqual(
      made.body.data.map(({ actor }: { actor: unknown }) => actor),
      [itself],
    );
    const second = await chat({ thread_id });
    assert.deepEqual([second.body.thread_id, second.body.status], [thread_id, 'completed']);
    assert.notEqual(second.body.run_id, run_id);
    assert.equal((await smithOf(project, `web:${id}:ada`)).id, smith.id);
  });

  test('streams text and status, and nothing else', async () => {
    const { path } = await makePage();
    const response = await visitor.open(
      'POST',
      `${path}/chat`,
      { visitor_id: 'ada', message: 'Call the tool current_time with {}' },
      { accept: 'text/event-stream' },
    );
    assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    const text = await response.text();
    const frames = text
      .split('\n\n')
      .flatMap((event) => /^data: (.*)$/m.exec(event)?.[1] ?? [])
      .map((data) => JSON.parse(data));
    assert.deepEqual([...new Set(frames.map(({ type }) => type))].sort(), ['status', 'text']);
    for (const frame of frames) {
      const members =
        frame.type === 'text'
          ? ['part', 'run_id', 'text', 'type', 'v']
          : ['run_id', 'status', 'thread_id', 'type', 'v'];
      assert.deepEqual(Object.keys(frame).sort(), members);
    }
    assert.deepEqual([frames[0].status, frames.at(-1).status], ['in_progress', 'completed']);
    assert.doesNotMatch(text, /smt_|builtin|reasoning|tool_call|usage/);
  });

  test('goes on in the same run for a repetition with the key, behind what was read', async () => {
    const { project, id, path } = await makePage();
    const body = { visitor_id: 'ada', message: 'Write 40 words at 200 words per second' };
    const headers = { accept: 'text/event-stream', 'idempotency-key': 'one' };
    const cut = new AbortController();
    const first = await visitor.open('POST', `${path}/chat`, body, headers, cut.signal);
    const reader = readEvents(first);
    const seen: { id: number; data: Body }[] = [];
    for await (const event of reader) {
      seen.push(event);
      if (seen.length === 4) break;
    }
    cut.abort();
    const rest: { id: number; data: Body }[] = [];
    const last = String(seen.at(-1)?.id);
    const again = await visitor.open('POST', `${path}/chat`, body, { ...headers, 'last-event-id': last });
    for await (const event of readEvents(again)) rest.push(event);
    const whole = [...seen, ...rest].flatMap(({ data }) => (data.type === 'text' ? [data.text] : [])).join('');
    const smith = await smithOf(project, `web:${id}:ada`);
    const runs = await project.get(`/v1/smiths/${smith.id}/runs`);
    assert.deepEqual(
      runs.body.data.map(({ status, output }: { status: string; output: Body }) => [status, output.content]),
      [['completed', whole]],
    );
    // Read to its end, and asked once more: it is said how it ended.
    const end = String(rest.at(-1)?.id);
    const after = await visitor.open('POST', `${path}/chat`, body, { ...headers, 'last-event-id': end });
    assert.match(await after.text(), /"status":"completed"/);
    // In one piece too.
    const { accept: _, ...plain } = headers;
    const piece = await visitor.post(`${path}/chat`, body, plain);
    assert.deepEqual([piece.body.message, piece.body.run_id], [whole, runs.body.data[0].id]);
    assertRefusal(
      await visitor.post(`${path}/chat`, { ...body, message: 'Other' }, plain),
      409,
      'idempotency_key_reused',
    );
    // Another visitor's key is another key.
    const other = await visitor.post(`${path}/chat`, { ...body, visitor_id: 'grace' }, plain);
    assert.notEqual(other.body.run_id, piece.body.run_id);
  });

  test('begins one turn for a key that comes many times at once', async () => {
    const { project, id, chat } = await makePage();
    const answers = await Promise.all(Array.from({ length: 8 }, () => chat({}, { 'idempotency-key': 'burst' })));
    for (const answer of answers) assert.equal(answer.status, 200, answer.text);
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    const smith = await smithOf(project, `web:${id}:ada`);
    assert.equal((await project.get(`/v1/smiths/${smith.id}/runs`)).body.data.length, 1);
  });

  test('says one neutral sentence for what fails', async () => {
    const { chat } = await makePage();
    const failed = await chat({ message: 'Fail with 400' });
    assert.deepEqual([failed.status, failed.body.status], [200, 'failed']);
    assert.equal(failed.body.message, 'Sorry, there is no answer at this moment. Please try again later.');
  });

  test('says the same where no turn can begin, and why to nobody but the log', async () => {
    const { project, chat } = await makePage();
    const budget = { scope: 'tenant', period: 'total', limit: 0, action: 'block' };
    assert.equal((await project.post('/v1/budgets', budget)).status, 201);
    const refused = await chat({});
    const sentence = 'Sorry, there is no answer at this moment. Please try again later.';
    const answer = { run_id: null, thread_id: null, status: 'failed', message: sentence };
    assert.deepEqual([refused.status, refused.body], [200, answer]);
    const streamed = await chat({}, { accept: 'text/event-stream' });
    assert.match(
      streamed.text,
      /^event: status\ndata: \{"v":1,"run_id":null,"type":"status","thread_id":null,"status":"failed"/,
    );
    assert.doesNotMatch(streamed.text, /budget/);
  });

  test('of an archived smith says that it is out of service', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith();
    const { path, chat } = await makePage({ target: { type: 'smith', id: smithId } }, project);
    const key = { 'idempotency-key': 'before' };
    const before = await chat({}, key);
    assert.equal(before.body.status, 'completed', before.text);
    assert.equal((await project.delete(`/v1/smiths/${smithId}`)).status, 204);
    assert.equal((await visitor.get(path)).body.status, 'disconnected');
    assertRefusal(await chat({}), 409, 'invalid_state');
    assert.deepEqual((await chat({}, key)).body, before.body);
  });
});

describe('a thread is its visitor’s', () => {
  for (const kind of ['agent', 'smith'] as const) {
    test(`on the page of ${kind === 'agent' ? 'an agent' : 'a smith'}`, async () => {
      const project = await platform.createProject();
      const target = kind === 'smith' ? { target: { type: 'smith', id: await project.createSmith() } } : {};
      const { chat } = await makePage(target, project);
      const { thread_id } = (await chat({ visitor_id: 'ada' })).body;
      const foreign = await chat({ visitor_id: 'grace', thread_id });
      assertRefusal(foreign, 404, 'not_found', 'thread_id');
      const missing = await chat({ visitor_id: 'grace', thread_id: mintId('thr') });
      assert.deepEqual(foreign.text, missing.text);
      assert.equal((await chat({ visitor_id: 'ada', thread_id })).body.thread_id, thread_id);
    });
  }

  test('and no thread of another page of the smith', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith();
    const target = { target: { type: 'smith', id: smithId } };
    const [one, other] = [await makePage(target, project), await makePage(target, project)];
    const { thread_id } = (await one.chat({})).body;
    assertRefusal(await other.chat({ thread_id }), 404, 'not_found', 'thread_id');
    const own = await project.post(`/v1/smiths/${smithId}/runs`, {
      thread_id: 'private',
      input: [{ role: 'user', content: 'Write 2 words' }],
    });
    assert.equal(own.status, 201, own.text);
    assertRefusal(await one.chat({ thread_id: 'private' }), 404, 'not_found', 'thread_id');
  });
});

test('visitors of a smith’s page wait for each other, and each is answered', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const { chat } = await makePage({ target: { type: 'smith', id: smithId } }, project);
  const visitors = ['ada', 'grace', 'edsger', 'barbara'];
  const answers = await Promise.all(
    visitors.map((visitor_id) => chat({ visitor_id, message: 'Write 10 words at 100 words per second' })),
  );
  for (const { body, text } of answers) assert.equal(body.status, 'completed', text);
  assert.equal(new Set(answers.map(({ body }) => body.thread_id)).size, visitors.length);
  assert.equal((await project.get(`/v1/smiths/${smithId}/runs`)).body.data.length, visitors.length);
});

describe('a run is stopped', () => {
  test('by its visitor, and by nobody else', async () => {
    const { path } = await makePage();
    const response = await visitor.open(
      'POST',
      `${path}/chat`,
      { visitor_id: 'ada', message: 'Write 500 words at 5 words per second' },
      { accept: 'text/event-stream' },
    );
    const events = readEvents(response);
    const run_id = (await events.next()).value?.data.run_id;
    assertRefusal(await visitor.post(`${path}/stop`, { visitor_id: 'grace', run_id }), 404, 'not_found', 'run_id');
    const stopped = await visitor.post(`${path}/stop`, { visitor_id: 'ada', run_id });
    assert.deepEqual([stopped.status, stopped.body], [200, { run_id, status: 'cancelled' }]);
    let last: Body = {};
    for await (const { data } of events) last = data;
    assert.equal(last.status, 'cancelled');
  });
});

describe('a page is bounded', () => {
  test('by messages of an address, each page by its own number', async () => {
    const { chat } = await makePage({ provider_metadata: { chats_per_minute: 2 } });
    const other = await makePage({ provider_metadata: { chats_per_minute: 3 } });
    const key = { 'idempotency-key': 'first' };
    for (const headers of [key, {}]) assert.equal((await chat({}, headers)).status, 200);
    const refused = await chat({});
    assertRefusal(refused, 429, 'rate_limit_exceeded');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal((await chat({}, key)).status, 200, 'reading on is no further message');
    assert.equal((await other.chat({})).status, 200);
  });

  test('by a password, and by how often it may be guessed', async () => {
    const { path, chat } = await makePage({ secrets: { password: 'sesame' } });
    assert.equal((await visitor.get(path)).body.requires_password, true);
    assertRefusal(await chat({}), 401, 'password_required', 'password');
    assert.equal((await chat({ password: 'sesame' })).status, 200);
    const guesses = await Promise.all(Array.from({ length: 14 }, (_, n) => chat({ password: `guess ${n}` })));
    const codes = guesses.map(({ body }) => body.error.code).sort();
    assert.deepEqual(codes, [...Array(10).fill('password_required'), ...Array(4).fill('rate_limit_exceeded')]);
    assert.equal((await chat({ password: 'sesame' })).status, 200, 'whoever has it is let in');
    const stop = { visitor_id: 'ada', run_id: mintId('run') };
    assertRefusal(await visitor.post(`${path}/stop`, stop), 401, 'password_required', 'password');
  });

  test('by new visitors a day, exactly', () =>
    withinOneDay(async () => {
      const { project, id, chat } = await makePage({
        provider_metadata: { new_visitors_per_day: 3, chats_per_minute: 100 },
      });
      const visitors = Array.from({ length: 8 }, (_, n) => `visitor-${n}`);
      const answers = await Promise.all(visitors.map((visitor_id) => chat({ visitor_id })));
      const admitted = visitors.filter((_, at) => answers[at]?.status === 200);
      assert.equal(admitted.length, 3, answers.map(({ text }) => text).join('\n'));
      const refused = answers.find(({ status }) => status !== 200);
      assert.ok(refused);
      assertRefusal(refused, 429, 'rate_limit_exceeded');
      const wait = Number(refused.headers.get('retry-after'));
      assert.ok(wait >= 1 && wait <= 86_400, String(wait));
      const made = await project.get(`/v1/smiths?external_id_prefix=${encodeURIComponent(`web:${id}:`)}`);
      assert.equal(made.body.data.length, 3, 'nothing is left of those who were refused');
      assert.equal((await chat({ visitor_id: admitted[0] ?? '' })).status, 200);
      await platform.db.query({
        text: `update hosted_page_days set day = day - 1 where deployment_id = $1`,
        values: [id],
      });
      assert.equal((await chat({ visitor_id: 'tomorrow' })).status, 200);
    }));

  test('by what a message may be', async () => {
    const { chat } = await makePage();
    for (const [body, param] of [
      [{ visitor_id: '' }, 'visitor_id'],
      [{ visitor_id: 'x'.repeat(129) }, 'visitor_id'],
      [{ message: '' }, 'message'],
      [{ message: 'x'.repeat(16_001) }, 'message'],
      [{ model: 'openai/gpt-5' }, 'model'],
    ] as const) {
      assertRefusal(await chat(body), 422, 'invalid_request', param);
    }
    assert.equal((await chat({ visitor_id: 'x'.repeat(128) })).status, 200);
  });
});

test('a visitor whose smith was archived is given another', async () => {
  const { project, id, chat } = await makePage();
  const { thread_id } = (await chat({})).body;
  const before = await smithOf(project, `web:${id}:ada`);
  assert.equal((await project.delete(`/v1/smiths/${before.id}`)).status, 204);
  assertRefusal(await chat({ thread_id }), 404, 'not_found', 'thread_id');
  assert.equal((await chat({})).body.status, 'completed');
  assert.notEqual((await smithOf(project, `web:${id}:ada`)).id, before.id);
});

test('with a page its visitors are forgotten, and what they said stays', async () => {
  const { project, id, path, chat } = await makePage();
  const { run_id } = (await chat({})).body;
  const smith = await smithOf(project, `web:${id}:ada`);
  assert.equal((await project.delete(`/v1/deployments/${id}`)).status, 204);
  assertRefusal(await visitor.get(path), 404, 'not_found');
  assertRefusal(await chat({}), 404, 'not_found');
  const { rows } = await platform.db.query({
    text: 'select 1 from hosted_visitors where deployment_id = $1',
    values: [id],
  });
  assert.equal(rows.length, 0);
  assert.equal((await project.get(`/v1/smiths/${smith.id}/runs/${run_id}`)).body.status, 'completed');
});

async function* readEvents(response: Response): AsyncGenerator<{ id: number; data: Body }, undefined> {
  assert.equal(response.status, 200);
  let text = '';
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const events = (text + piece).split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const [id, data] = [/^id: (.*)$/m.exec(event)?.[1], /^data: (.*)$/m.exec(event)?.[1]];
      if (data !== undefined) yield { id: Number(id ?? 0), data: JSON.parse(data) };
    }
  }
}
