/** Streams as providers send them, read by the client of this server and by the package of the dialect. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ChatModel } from '../chat-model.ts';
import type { Endpoint } from '../endpoint.ts';
import { callModel, ModelCallError } from '../index.ts';
import { adaptSdkModel } from '../sdk-model.ts';
import { createCompatibleModel } from './compatible-model.ts';

const FOLDER = new URL('../../../../test/fixtures/chat-streams/', import.meta.url);
const BASE = { apiKey: 'none', baseUrl: 'http://model.example/v1', model: 'm-1' };

function openPackage(bytes: Buffer): ChatModel {
  const answer = async () => new Response(new Uint8Array(bytes), { headers: { 'content-type': 'text/event-stream' } });
  const { apiKey, baseUrl: baseURL, model } = BASE;
  const options = { name: 'vllm', apiKey, baseURL, fetch: answer, includeUsage: true, supportsStructuredOutputs: true };
  return adaptSdkModel(createOpenAICompatible(options)(model));
}

/** `pieceBytes`: of what the network delivers at once. */
function openClient(bytes: Buffer, pieceBytes: number): ChatModel {
  const endpoint: Endpoint = { ...BASE, vendorHost: false, workspaceId: undefined, fetch };
  return createCompatibleModel('vllm', endpoint, async () => ({
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    body: Readable.from(cut(bytes, pieceBytes), { objectMode: false }),
  }));
}

function* cut(bytes: Buffer, pieceBytes: number) {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

interface Outcome {
  readonly parts: readonly unknown[];
  readonly error: readonly unknown[] | undefined;
}

async function run(model: ChatModel): Promise<Outcome> {
  const parts: LanguageModelV4StreamPart[] = [];
  const options = { prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }] };
  try {
    await callModel({ model, options, limits: { maxAttempts: 1 } }, (batch) => void parts.push(...batch));
  } catch (error) {
    assert.ok(error instanceof ModelCallError, String(error));
    return { parts: parts.map(normalize), error: [error.kind, error.status, error.message] };
  }
  return { parts: parts.map(normalize), error: undefined };
}

/** Without what nobody reads, and with one word for all ids that the reader had to make. */
function normalize(part: LanguageModelV4StreamPart): unknown {
  const shown: Record<string, unknown> = { ...JSON.parse(JSON.stringify(part)) };
  if (part.type === 'finish') {
    delete shown.providerMetadata;
    delete Object(shown.usage).raw;
  }
  for (const name of ['id', 'toolCallId']) {
    if (/^call_.{26}$|^\w{16}$/.test(String(shown[name]))) shown[name] = 'made here';
  }
  return shown;
}

/** What reaches the turn, in short. */
function summarize({ parts, error }: Outcome): string {
  const words = parts.flatMap((each): string[] => {
    const part = each as LanguageModelV4StreamPart;
    switch (part.type) {
      case 'text-delta':
        return [`"${part.delta}"`];
      case 'reasoning-delta':
        return [`(${part.delta})`];
      case 'tool-call':
        return [`${part.toolCallId}:${part.toolName}${part.input}`];
      case 'finish':
        return [
          `${part.finishReason.unified} ${part.usage.inputTokens.total ?? '-'}/${part.usage.outputTokens.total ?? '-'}`,
        ];
      default:
        return [];
    }
  });
  return [...words, ...(error === undefined ? [] : [`! ${error[0]}`])].join(' ');
}

/** Text in quotes, thoughts in brackets, calls, the reason of the end with both counts of tokens, the failure. */
const EXPECTED: Readonly<Record<string, string>> = {
  'another-service': '! invalid_response',
  'azure-filter-chunk-first': '"Fine." stop -/-',
  'byte-order-mark': '"Hi" stop -/-',
  'call-after-thoughts-and-text': '(Hm.) "Calling." (So.) call_a:now{} tool-calls -/-',
  'call-in-fragments': 'call_a:lookup{"q":"rain"} tool-calls -/-',
  'call-whose-id-comes-again': 'call_a:lookup{"q":1} tool-calls -/-',
  'call-with-arguments-as-object': 'call_a:lookup{"q":"rain"} tool-calls -/-',
  'call-with-name-in-second-fragment': 'call_a:lookup{} tool-calls -/-',
  'call-with-name-repeated': 'call_a:lookup{"q":1} tool-calls -/-',
  'call-without-arguments': 'call_a:now tool-calls -/-',
  'call-without-id': 'made here:lookup{} tool-calls -/-',
  'call-without-name': '! invalid_response',
  'calls-in-wrong-order': 'call_a:one{} call_b:two{} tool-calls -/-',
  'calls-interleaved': 'call_a:one{"a":1} call_b:two{} tool-calls -/-',
  'calls-that-share-an-id': 'call_a:one{} made here:one{} tool-calls -/-',
  'calls-that-share-an-index': 'call_a:one{} call_b:two{} call_c:two{} tool-calls -/-',
  'content-filter': '"No" content-filter -/-',
  crlf: '"Grü" "ße 👋🏽" stop -/-',
  'cut-off': '"Hi" ! truncated',
  'deepseek-reasoning-content': '(Let me) ( see.) "It rains." stop 9/4',
  'done-is-missing': '"Hi" stop -/-',
  'error-is-null': '"Hi" stop -/-',
  'event-names-ids-and-no-space': '"Hi" stop -/-',
  'event-over-several-lines': '"Hi" stop -/-',
  'finish-reason-never-comes': '"Hi" " there" ! truncated',
  'gemini-call-without-index': 'call_a:lookup{"q":1} call_b:lookup{"q":2} stop -/-',
  'groq-gpt-oss-reasoning': '(Hm) (m.) "Well" "." stop 9/4',
  length: '"No" length -/-',
  'lone-carriage-returns': '"One" " two" stop -/-',
  'mistral-content-list': '(Hmm.) "Well." stop -/-',
  'no-json': '"Hi" ! invalid_response',
  'nothing-but-done': '! invalid_response',
  'ollama-whole-call-in-one-chunk': 'call_a:lookup{"q":"rain"} tool-calls -/-',
  'only-role-and-empty-choices': 'stop -/-',
  'openai-error-event': '"Half" ! upstream',
  'openai-usage-in-last-chunk': '"Hel" "lo" stop 9/4',
  'openrouter-comments': '"Hi" "!" stop 9/4',
  'openrouter-error-in-mid-stream': '"Half" ! upstream',
  'reason-of-its-own': '"No" other -/-',
  'refusal-is-false': '"Yes." stop -/-',
  refusal: '"I can" "not." content-filter -/-',
  'role-of-its-own': '"Hi" stop -/-',
  'surrogates-split-over-chunks': '"\ud83d" "\ude00" stop -/-',
  'vllm-error-before-content': '! context_length',
  'vllm-usage-in-each-chunk': '"One" " two" stop 9/4',
  'web-page': '! invalid_response',
};

/** What the package cannot read, though it says all that is needed. */
const READ_HERE_ALONE: ReadonlySet<string> = new Set([
  'call-with-arguments-as-object',
  'error-is-null',
  'role-of-its-own',
]);

const names = readdirSync(FOLDER).map((file) => file.replace(/\.txt$/, ''));

test('every stream of the folder has its expectation', () => {
  assert.deepEqual(Object.keys(EXPECTED).toSorted(), names.toSorted());
});

for (const name of names) {
  describe(`the stream ${name}`, () => {
    const bytes = readFileSync(new URL(`${name}.txt`, FOLDER));

    test('is read, however the network cuts it', async () => {
      const whole = await run(openClient(bytes, bytes.length));
      assert.equal(summarize(whole), EXPECTED[name]);
      for (const pieceBytes of [1, 7, 100]) assert.deepEqual(await run(openClient(bytes, pieceBytes)), whole);
    });

    test(READ_HERE_ALONE.has(name) ? 'is more than the package reads' : 'is read as by the package', async () => {
      const [here, there] = [await run(openClient(bytes, bytes.length)), await run(openPackage(bytes))];
      if (READ_HERE_ALONE.has(name)) assert.notEqual(there.error, undefined);
      else assert.deepEqual(here, there);
    });
  });
}
