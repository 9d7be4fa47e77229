/** Reading traces: what a run's trace is made of, and the list. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { type OpenAiUpstream, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startOtlpCollector } from '../../../../test/fakes/otlp-collector.ts';
import { type Answer, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import {
  clientTool,
  eventually,
  FAKE_MODEL,
  framesUntil,
  makeSmith,
  makeUpstreamSmith,
  openFrames,
  question,
} from '../../../../test/support/turns.ts';
import type { Database, Statement } from '../../../kernel/db/database.ts';
import { mintId, withPrefix } from '../../../kernel/ids/ids.ts';

const tools = createTestTools();
const platform = await startPlatform({ toolSources: [tools.source] });
after(() => platform.close());
let upstream: OpenAiUpstream;
before(async () => {
  upstream = await startOpenAiUpstream();
});
after(() => upstream.close());

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Json = any;

async function traceOf(project: Pick<TestProject, 'get'>, runId: string): Promise<Json> {
  const answer = await project.get(`/v1/runs/${runId}/trace`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

const shape = ({ spans }: Json) => spans.map((span: Json) => [span.kind, span.name, span.status]);

describe('a run’s trace', () => {
  test('has the turn, its model calls and its tool calls, with times, tokens and cost', async () => {
    const smith = await makeSmith(platform);
    const { body: run } = await smith.ask('Call the tool echo with {"n":1}');
    const trace = await traceOf(smith.project, run.id);
    assert.deepEqual(shape(trace), [
      ['turn', 'invoke_agent', 'ok'],
      ['model', 'chat demo', 'ok'],
      ['tool', 'execute_tool echo', 'ok'],
      ['model', 'chat demo', 'ok'],
    ]);
    assert.equal(trace.id, withPrefix('trc', run.id));
    assert.match(trace.external_id, /^[0-9a-f]{32}$/);
    assert.deepEqual(
      [trace.run_id, trace.smith_id, trace.app_id, trace.name, trace.status, trace.span_count],
      [run.id, smith.id, null, 'invoke_agent', 'completed', 4],
    );
    const { cached_input_tokens: _cached, reasoning_tokens: _reasoning, ...usage } = run.usage;
    assert.deepEqual(trace.totals, usage);
    assert.deepEqual([trace.started_at, trace.created_at], [run.created_at, run.created_at]);
    assert.equal(trace.ended_at, run.updated_at);
    const [root, first, tool, second] = trace.spans;
    assert.deepEqual([root.parent_span_id, root.usage], [null, usage]);
    for (const span of [first, tool, second]) assert.equal(span.parent_span_id, root.span_id);
    for (const span of trace.spans) {
      assert.match(span.span_id, /^[0-9a-f]{16}$/);
      assert.equal(span.duration_ms, Date.parse(span.ended_at) - Date.parse(span.started_at));
      assert.ok(span.duration_ms >= 0);
    }
    assert.equal(new Set(trace.spans.map((span: Json) => span.span_id)).size, 4);
    assert.equal(tool.usage, null);
    assert.equal(first.usage.input_tokens + second.usage.input_tokens, run.usage.input_tokens);
    assert.equal(first.usage.output_tokens + second.usage.output_tokens, run.usage.output_tokens);
    assert.deepEqual(
      [root.attributes['gen_ai.operation.name'], root.attributes['gen_ai.conversation.id']],
      ['invoke_agent', run.thread_id],
    );
    assert.deepEqual(
      [
        root.attributes['ironcraft.smith_id'],
        root.attributes['ironcraft.run_id'],
        root.attributes['ironcraft.channel'],
      ],
      [smith.id, run.id, 'api'],
    );
    assert.deepEqual(first.attributes, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'builtin',
      'gen_ai.request.model': 'demo',
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'gen_ai.usage.input_tokens': first.usage.input_tokens,
      'gen_ai.usage.output_tokens': first.usage.output_tokens,
      'gen_ai.usage.cost': 0,
    });
    assert.deepEqual(tool.attributes, {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'echo',
      'gen_ai.tool.call.id': run.output.tool_calls[0].id,
      'gen_ai.tool.type': 'extension',
    });
    assert.deepEqual(await traceOf(smith.project, run.id), trace, 'it is the same every time');
    const byTraceId = await smith.project.get(`/v1/traces/${trace.id}`);
    assert.deepEqual(byTraceId.body, trace);
  });

  test('shows what a tool that failed said, as an error of its span alone', async () => {
    const smith = await makeSmith(platform);
    const { body: run } = await smith.ask('Call the tool boom with {}');
    const trace = await traceOf(smith.project, run.id);
    assert.equal(trace.status, 'completed');
    const tool = trace.spans[2];
    assert.deepEqual([tool.status, tool.error], ['error', { type: 'tool_failed', message: 'The tool has no power.' }]);
    assert.equal(tool.attributes['error.type'], 'tool_failed');
    assert.equal(trace.spans[0].status, 'ok');
  });

  test('shows the wait for an approval below the call that needed it', async () => {
    const smith = await makeSmith(platform);
    const { body: paused } = await smith.ask('Call the tool guarded with {"amount":5}');
    const waiting = await traceOf(smith.project, paused.id);
    assert.deepEqual([waiting.status, waiting.ended_at, waiting.duration_ms], ['paused', null, null]);
    assert.deepEqual(shape(waiting), [
      ['turn', 'invoke_agent', 'in_progress'],
      ['model', 'chat demo', 'ok'],
      ['tool', 'execute_tool guarded', 'in_progress'],
      ['approval', 'approval guarded', 'in_progress'],
    ]);
    assert.equal(waiting.span_count, 4);
    const approvalId = paused.output.tool_calls[0].approval_id;
    await smith.submit(paused.id, { kind: 'approval', approval_id: approvalId, decision: 'approve' });
    const ended = await traceOf(smith.project, paused.id);
    assert.deepEqual(
      shape(ended).map(([, , status]: Json) => status),
      ['ok', 'ok', 'ok', 'ok', 'ok'],
    );
    const [, , tool, approval] = ended.spans;
    assert.equal(approval.parent_span_id, tool.span_id);
    assert.deepEqual(approval.attributes, {
      'gen_ai.tool.name': 'guarded',
      'ironcraft.approval.id': approvalId,
      'ironcraft.approval.decision': 'approved',
    });
    assert.deepEqual(
      ended.spans.slice(0, 4).map((span: Json) => span.span_id),
      waiting.spans.map((span: Json) => span.span_id),
      'spans keep their ids',
    );
  });

  test('of a run that is cancelled while a client’s call is open ends with it', async () => {
    const smith = await makeSmith(platform);
    const { body: paused } = await smith.ask('Call the tool look with {}', { tools: [clientTool('look')] });
    assert.equal(paused.status, 'paused');
    await smith.cancel(paused.id);
    const trace = await traceOf(smith.project, paused.id);
    const tool = trace.spans[2];
    assert.deepEqual([trace.status, tool.status, tool.error.type], ['cancelled', 'error', 'cancelled']);
    assert.equal(tool.ended_at, trace.ended_at);
    assert.equal(tool.attributes['gen_ai.tool.type'], 'function');
  });

  test('shows a model call that was cut off from when it began', async () => {
    const smith = await makeSmith(platform);
    const runId = await smith.begin('Write 300 words at 40 words per second');
    const frames = openFrames(await smith.events(runId));
    let pieces = 0;
    await framesUntil(frames, ({ event }) => event === 'message.delta' && ++pieces === 10);
    await smith.cancel(runId);
    const [, call] = (await traceOf(smith.project, runId)).spans;
    assert.deepEqual(call.attributes['gen_ai.response.finish_reasons'], ['cut_off']);
    assert.ok(call.duration_ms >= 150, `${call.duration_ms} ms`);
  });

  test('of a run in progress shows what has been committed so far', async () => {
    const smith = await makeSmith(platform);
    const runId = await smith.begin('Call the tool gate with {}');
    const open = await eventually(async () => {
      const trace = await traceOf(smith.project, runId);
      return trace.span_count === 3 ? trace : undefined;
    }, 'the call is committed');
    assert.deepEqual([open.status, open.spans[2].status, open.spans[2].ended_at], ['in_progress', 'in_progress', null]);
    tools.open(runId);
    await smith.settled(runId);
    assert.equal((await traceOf(smith.project, runId)).status, 'completed');
  });

  test('of a failed run has the failure at its root', async () => {
    const smith = await makeUpstreamSmith(platform, upstream);
    upstream.respondWith({ type: 'status', status: 400, body: { error: { message: 'No such model.' } } });
    const { body: run } = await smith.ask('Hello');
    assert.equal(run.status, 'failed');
    const trace = await traceOf(smith.project, run.id);
    assert.deepEqual([trace.status, trace.spans[0].error.type], ['failed', run.error.code]);
    assert.equal(trace.spans[0].attributes['gen_ai.request.model'], FAKE_MODEL.split('/')[1]);
  });

  test('names searches of vector stores and of memory as such', async () => {
    const project = await platform.createProject();
    const store = await project.post('/v1/vector_stores', { name: 'Notes' });
    const smithId = await project.createSmith({ vector_store_ids: [store.body.id], auto_memory: true });
    const runs = `/v1/smiths/${smithId}/runs`;
    const searched = await project.post(runs, question('Call the tool file_search with {"query":"river"}'));
    const recalled = await project.post(runs, question('Call the tool recall_conversations with {"query":"river"}'));
    const [retrieval] = (await traceOf(project, searched.body.id)).spans.filter(
      (span: Json) => span.kind === 'retrieval',
    );
    assert.equal(retrieval.name, 'retrieval file_search');
    assert.deepEqual(
      [retrieval.attributes['gen_ai.data_source.id'], retrieval.attributes['ironcraft.retrieval.results']],
      [store.body.id, 0],
    );
    const [memory] = (await traceOf(project, recalled.body.id)).spans.filter((span: Json) => span.kind === 'memory');
    assert.equal(memory.name, 'execute_tool recall_conversations');
  });
});

describe('the list of traces', () => {
  test('shows each run’s as its trace shows it, without the spans', async () => {
    const smith = await makeSmith(platform);
    const { body: one } = await smith.ask('Write 2 words');
    const { body: two } = await smith.ask('Call the tool guarded with {}');
    const { body } = await smith.project.get('/v1/traces');
    for (const [index, run] of [two, one].entries()) {
      const { spans, ...trace } = await traceOf(smith.project, run.id);
      assert.equal(spans.length, trace.span_count);
      assert.deepEqual(body.data[index], trace);
    }
    assert.equal(body.data.length, 2);
  });

  test('has a filter for each of smith, app, run, status, time and the W3C id', async () => {
    const project = await platform.createProject();
    const [a, b] = [await makeSmith(platform, {}, project), await makeSmith(platform, {}, project)];
    const { body: ofA } = await a.ask('Write 2 words');
    const { body: ofB } = await b.ask('Call the tool guarded with {}');
    const find = async (query: string) => {
      const answer = await project.get(`/v1/traces?${query}`);
      assert.equal(answer.status, 200, answer.text);
      return answer.body.data.map((trace: Json) => trace.run_id);
    };
    assert.deepEqual(await find(`smith_id=${a.id}`), [ofA.id]);
    assert.deepEqual(await find(`run_id=${ofB.id}`), [ofB.id]);
    assert.deepEqual(await find(`run_id=${mintId('run')}`), []);
    assert.deepEqual(await find('run_id=nonsense'), []);
    assert.deepEqual(await find('status=paused'), [ofB.id]);
    assert.deepEqual(await find('status=completed'), [ofA.id]);
    assert.deepEqual(await find('app_id=shop'), []);
    assert.deepEqual(await find(`since=${ofB.created_at}`), [ofB.id]);
    assert.deepEqual(await find('since=2999-01-01'), []);
    const { external_id: w3c } = await traceOf(project, ofA.id);
    assert.deepEqual(await find(`external_id=${w3c}`), [ofA.id]);
    assert.deepEqual(await find(`external_id=${w3c}&run_id=${ofB.id}`), []);
    assert.deepEqual(await find('external_id=nonsense'), []);
  });

  test('refuses a status that is none and a time that is none', async () => {
    const project = await platform.createProject();
    assertRefusal(await project.get('/v1/traces?status=done'), 422, 'invalid_request', 'status');
    assertRefusal(await project.get('/v1/traces?since=soon'), 422, 'invalid_request', 'since');
  });
});

test('a smith token sees its own smith’s traces and no other', async () => {
  const project = await platform.createProject();
  const [own, other] = [await makeSmith(platform, {}, project), await makeSmith(platform, {}, project)];
  const { body: mine } = await own.ask('Write 2 words');
  const { body: theirs } = await other.ask('Write 2 words');
  const token = project.as(await project.smithToken(own.id, ['traces:read']));
  const listed: Answer = await token.get('/v1/traces');
  assert.deepEqual(
    listed.body.data.map((trace: Json) => trace.run_id),
    [mine.id],
  );
  assert.equal((await token.get(`/v1/runs/${mine.id}/trace`)).status, 200);
  assertRefusal(await token.get(`/v1/runs/${theirs.id}/trace`), 404, 'not_found');
  assertRefusal(await token.get(`/v1/traces/${withPrefix('trc', theirs.id)}`), 404, 'not_found');
  assertRefusal(await token.get(`/v1/traces?smith_id=${other.id}`), 403, 'smith_mismatch');
  assert.deepEqual((await token.get(`/v1/traces?run_id=${theirs.id}`)).body.data, []);
});

test('a trace costs its turn no statement: a turn of one model call makes the two that it made, and the spans are read behind it', async () => {
  const collector = await startOtlpCollector();
  const statements: string[] = [];
  const watched = await startPlatform({
    sharing: { db: recordStatements(platform.db, statements), vault: platform.vault, blobs: platform.blobs },
    limits: { otlp: { url: collector.url, headers: {} } },
  });
  const smith = await makeSmith(watched);
  await smith.ask('Write 2 words');
  // Its own trace has been read by then.
  await eventually(() => (collector.spans.length >= 2 ? true : undefined), 'the spans of the first turn arrive');
  statements.length = 0;
  const { body: run } = await smith.ask('Write 2 words');
  assert.equal(run.status, 'completed', JSON.stringify(run));
  // A look for turns that nobody executes may come between.
  const ofTurn = statements.filter((text) => !/update runs set replica_id\b/.test(text));
  assert.equal(ofTurn.filter((text) => /\b(?:insert into|update) (?:runs|run_steps)\b/.test(text)).length, 2);
  assert.deepEqual(
    ofTurn.filter((text) => /external_traces|external_spans|from run_steps/.test(text)),
    [],
    'nothing of traces is read or written during the turn',
  );
  await eventually(() => (collector.spans.length >= 4 ? true : undefined), 'the spans of both turns arrive');
  await watched.close();
  await collector.close();
});

/** The same database, keeping what is asked of it outside of transactions. */
function recordStatements(db: Database, statements: string[]): Database {
  return new Proxy(db, {
    get(target, name) {
      if (name === 'query') {
        return (statement: Statement) => {
          statements.push(statement.text);
          return target.query(statement);
        };
      }
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
