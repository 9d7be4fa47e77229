import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { type OpenAiAnswer, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { type ChunkStream, parseChunks, readChunks } from '../../../../test/support/read-chunks.ts';
import { examples } from '../../../../test/support/seed.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import { eventually, makeUpstreamSmith, smithOf } from '../../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const tools = createTestTools();
const platform = await startPlatform({ toolSources: [tools.source] });
after(async () => {
  await platform.close();
  await upstream.close();
});

const PATH = '/v1/chat/completions';

// biome-ignore lint/suspicious/noExplicitAny: chunks of every shape.
type Json = any;

function user(content: string) {
  return { role: 'user', content };
}

const offered = ['weather', 'clock'].map((name) => ({ type: 'function', function: { name } }));

function bodyOf(messages: unknown, more: Record<string, unknown> = {}) {
  return { user: 'ada', messages: typeof messages === 'string' ? [user(messages)] : messages, stream: true, ...more };
}

async function makeChat() {
  const { project, id } = await makeUpstreamSmith(platform, upstream, { external_id: 'ada' });
  return { project, smith: smithOf(project, id) };
}

async function stream(project: TestProject, messages: unknown, more?: Record<string, unknown>): Promise<ChunkStream> {
  return readChunks(await project.open('POST', PATH, bodyOf(messages, more)));
}

/** The chunks without what differs from run to run; pieces of text that came at different moments are joined. */
function transcript({ chunks, error }: ChunkStream): unknown[] {
  const lines: Json[] = [];
  for (const { choices, usage, ironcraft } of chunks) {
    const [choice] = choices;
    if (choice === undefined) lines.push({ usage });
    else if (choice.finish_reason !== null)
      lines.push({ finish_reason: choice.finish_reason, status: ironcraft.status });
    else {
      const last = lines.at(-1);
      const [member] = Object.keys(choice.delta);
      const joins = member !== undefined && typeof last?.[member] === 'string' && !('role' in last);
      if (joins) last[member] += choice.delta[member];
      else lines.push(choice.delta);
    }
  }
  lines.push(error === undefined ? '[DONE]' : { error: error.code });
  return lines;
}

const ROLE = { role: 'assistant', content: '', refusal: null };

describe('a stream, chunk by chunk', () => {
  const golden: Record<string, { answers: OpenAiAnswer[]; more?: Record<string, unknown>; lines: unknown[] }> = {
    'of text': {
      answers: [{ type: 'answer', deltas: ['Hello', ' there'], usage: { promptTokens: 4, completionTokens: 2 } }],
      more: { stream_options: { include_usage: true } },
      lines: [
        ROLE,
        { content: 'Hello there' },
        { finish_reason: 'stop', status: 'completed' },
        {
          usage: {
            prompt_tokens: 4,
            completion_tokens: 2,
            total_tokens: 6,
            prompt_tokens_details: { cached_tokens: 0 },
            completion_tokens_details: { reasoning_tokens: 0 },
          },
        },
        '[DONE]',
      ],
    },
    'of reasoning': {
      answers: [{ type: 'answer', reasoning: ['Hm', '…'], deltas: ['Yes.'] }],
      lines: [
        ROLE,
        { reasoning_content: 'Hm…' },
        { content: 'Yes.' },
        { finish_reason: 'stop', status: 'completed' },
        '[DONE]',
      ],
    },
    'of parallel calls': {
      answers: [
        {
          type: 'answer',
          deltas: ['Let me look.'],
          toolCalls: [
            { id: 'c0', name: 'weather', arguments: '{"city":"Oslo"}' },
            { id: 'c1', name: 'clock', arguments: '{}' },
          ],
        },
      ],
      lines: [
        ROLE,
        { content: 'Let me look.' },
        { tool_calls: [{ index: 0, id: 'c0', type: 'function', function: { name: 'weather', arguments: '' } }] },
        { tool_calls: [{ index: 0, function: { arguments: '{"city":"Oslo"}' } }] },
        { tool_calls: [{ index: 1, id: 'c1', type: 'function', function: { name: 'clock', arguments: '' } }] },
        { tool_calls: [{ index: 1, function: { arguments: '{}' } }] },
        { finish_reason: 'tool_calls', status: 'paused' },
        '[DONE]',
      ],
    },
    'of a tool of the server': {
      answers: [
        { type: 'answer', deltas: ['Let me look.'], toolCalls: [{ id: 'c0', name: 'echo', arguments: '{}' }] },
        { type: 'answer', deltas: ['Found.'] },
      ],
      lines: [ROLE, { content: 'Let me look.\n\nFound.' }, { finish_reason: 'stop', status: 'completed' }, '[DONE]'],
    },
    'of a refusal': {
      answers: [{ type: 'answer', deltas: ['I must not.'], finishReason: 'content_filter' }],
      lines: [ROLE, { content: 'I must not.' }, { finish_reason: 'content_filter', status: 'completed' }, '[DONE]'],
    },
    'of a refusal to fill a schema': {
      answers: [{ type: 'answer', deltas: ['I must not.'], finishReason: 'content_filter' }],
      more: { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } } },
      lines: [ROLE, { refusal: 'I must not.' }, { finish_reason: 'content_filter', status: 'completed' }, '[DONE]'],
    },
    'of an answer that was asked for twice': {
      answers: [
        { type: 'answer', deltas: ['[1]'] },
        { type: 'answer', deltas: ['{"a"', ':1}'] },
      ],
      more: {
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
      },
      lines: [ROLE, { content: '{"a":1}' }, { finish_reason: 'stop', status: 'completed' }, '[DONE]'],
    },
    'that reached its length': {
      answers: [{ type: 'answer', deltas: ['So far'], finishReason: 'length' }],
      lines: [ROLE, { content: 'So far' }, { finish_reason: 'length', status: 'completed' }, '[DONE]'],
    },
    'that fails': {
      answers: [{ type: 'answer', deltas: ['So', ' far'], fault: { afterChunks: 2, type: 'error' } }],
      lines: [ROLE, { content: 'So far' }, { error: 'model_request_failed' }],
    },
    'that waits for an approval': {
      answers: [{ type: 'answer', deltas: ['May I?'], toolCalls: [{ id: 'c0', name: 'guarded', arguments: '{}' }] }],
      lines: [
        ROLE,
        { content: 'May I?\n\nWaiting for approval of guarded (apr_…).' },
        { finish_reason: 'tool_calls', status: 'paused' },
        '[DONE]',
      ],
    },
  };
  for (const [name, { answers, more = {}, lines }] of Object.entries(golden)) {
    test(name, async () => {
      const { project } = await makeChat();
      upstream.respondWith(answers);
      const streamed = await stream(project, 'Hello', { tools: offered, ...more });
      const text = JSON.stringify(transcript(streamed)).replaceAll(/apr_\w+/g, 'apr_…');
      assert.deepEqual(JSON.parse(text), lines);
    });
  }

  test('that is cancelled ends with an error', async () => {
    const { project, smith } = await makeChat();
    upstream.respondWith([{ type: 'answer', deltas: ['So far'], fault: { afterChunks: 1, type: 'hang' } }]);
    const response = await project.open('POST', PATH, bodyOf('Hello'));
    const runId = response.headers.get('ic-run-id') ?? '';
    await smith.cancel(runId);
    const streamed = await readChunks(response);
    assert.equal(streamed.error.code, 'run_cancelled');
    assert.ok(['So far', null].includes(streamed.message.content));
  });
});

test('a stream and its whole twin say the same, whatever the turn holds', async () => {
  const { project } = await makeChat();
  const text = fc.array(fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }), { maxLength: 4 });
  const call = fc.record({
    name: fc.constantFrom('weather', 'clock', 'echo', 'refuse'),
    arguments: fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
  });
  const step = fc.record({ reasoning: text, deltas: text, calls: fc.array(call, { maxLength: 3 }) });
  const turn = fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 3 }),
    finishReason: fc.constantFrom('stop', 'length', 'content_filter'),
    includeUsage: fc.boolean(),
  });
  let number = 0;
  await fc.assert(
    fc.asyncProperty(turn, async ({ steps, finishReason, includeUsage }) => {
      const answers = () => [
        ...steps.map(
          ({ reasoning, deltas, calls }, at): OpenAiAnswer => ({
            type: 'answer',
            reasoning,
            deltas,
            ...(calls.length === 0 ? { finishReason } : {}),
            toolCalls: calls.map(({ name, arguments: args }, index) => ({
              id: `call_${number}_${at}_${index}`,
              name,
              arguments: JSON.stringify(args),
            })),
            usage: { promptTokens: 3, completionTokens: 2 },
          }),
        ),
        { type: 'answer', deltas: ['The end.'], usage: { promptTokens: 3, completionTokens: 2 } } as const,
      ];
      number += 1;
      upstream.respondWith(answers());
      const more = { tools: offered, stream_options: { include_usage: includeUsage } };
      const streamed = await stream(project, 'Hello', more);
      upstream.respondWith(answers());
      const whole = await project.post(PATH, { ...bodyOf('Hello', { tools: offered }), stream: false });
      assert.equal(whole.status, 200, whole.text);
      const [{ message, finish_reason }] = whole.body.choices;
      const calls = (message.tool_calls ?? []).map(({ id, function: called }: Json) => ({
        id,
        name: called.name,
        arguments: JSON.parse(called.arguments),
      }));
      const said = message.content === '' ? null : message.content;
      assert.deepEqual(
        [streamed.message.content, streamed.message.reasoning, streamed.message.calls, streamed.finishReason],
        [said, message.reasoning_content ?? '', calls, finish_reason],
      );
      assert.deepEqual(streamed.usage, includeUsage ? whole.body.usage : undefined);
      assert.equal(streamed.ironcraft.status, whole.body.ironcraft.status);
    }),
    { numRuns: examples(8, 100) },
  );
});

test('a streamed answer to results goes on with the run', async () => {
  const { project } = await makeChat();
  upstream.respondWith([
    { type: 'answer', toolCalls: [{ id: 'c0', name: 'weather', arguments: '{}' }] },
    { type: 'answer', deltas: ['Grey.'] },
  ]);
  const first = await stream(project, 'Hello', { tools: offered });
  const called = { id: 'c0', type: 'function', function: { name: 'weather', arguments: '{}' } };
  const messages = [
    user('Hello'),
    { role: 'assistant', content: null, tool_calls: [called] },
    { role: 'tool', tool_call_id: 'c0', content: 'grey' },
  ];
  const second = await stream(project, messages, { tools: offered });
  assert.equal(second.message.content, 'Grey.');
  assert.equal(second.ironcraft.run_id, first.ironcraft.run_id);
});

test('a repeated Idempotency-Key streams the same answer again, and nothing of what came later', async () => {
  const { project, smith } = await makeChat();
  upstream.respondWith([
    { type: 'answer', deltas: ['One'], toolCalls: [{ id: 'c0', name: 'weather', arguments: '{}' }] },
    { type: 'answer', deltas: ['Two'] },
  ]);
  const again = async () => {
    const answer = await project.post(PATH, bodyOf('Hello', { tools: offered }), { 'idempotency-key': 'k1' });
    return parseChunks(answer.text);
  };
  const first = await again();
  const runId = first.ironcraft.run_id;
  await smith.submit(runId, { kind: 'tool_result', tool_call_id: 'c0', result: {} });
  const second = await again();
  assert.deepEqual([second.message, second.finishReason], [first.message, first.finishReason]);
  assert.equal(second.ironcraft.run_id, runId);
  assert.equal((await smith.get(runId)).status, 'completed');
});

test('a reader who leaves does not stop the run', async () => {
  const { project, smith } = await makeChat();
  upstream.respondWith([{ type: 'answer', deltas: ['One', ' two', ' three'], delayMs: 30 }]);
  const leaving = new AbortController();
  const response = await project.open('POST', PATH, bodyOf('Hello'), {}, leaving.signal);
  const runId = response.headers.get('ic-run-id') ?? '';
  leaving.abort();
  const run = await eventually(async () => {
    const found = await smith.get(runId);
    return found.status === 'in_progress' ? undefined : found;
  }, 'the run ends');
  assert.deepEqual([run.status, run.output.content], ['completed', 'One two three']);
});
