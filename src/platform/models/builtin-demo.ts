import { hash } from 'node:crypto';
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import type { MakeInstance } from '../schemas/index.ts';
import { BufferedAnswer, listParts } from './buffered-answer.ts';
import { DEMO_CONTEXT_WINDOW, DEMO_MODEL_ID } from './catalogue.ts';
import type { ChatModel } from './chat-model.ts';
import { DemoStream } from './demo/demo-stream.ts';
import { planReply, type Reply } from './demo/reply.ts';
import { type FlowEnd, generateWords, limitFlow, splitWords } from './demo/text-flow.ts';
import { estimatePromptTokens, estimateTokens, TokenCounter } from './tokens.ts';

const PROVIDER = 'builtin';
const MODEL = 'demo';
const CALL_ID_LENGTH = 24;

type Part = LanguageModelV4StreamPart;

/**
 * `builtin/demo`: a deterministic model that runs offline, so that everything around a model can be tried and tested
 * without a key. It says what it is. What the last user message can tell it to do:
 *
 *     Call the tool NAME with {JSON}           calls that tool when it is offered; several sentences, several calls of
 *                                              one step. With the results it repeats them.
 *     … then call the tool NAME with {JSON}    calls that one a step later, once the results of those before it are there.
 *     Write N words                            streams exactly N words and nothing else,
 *     Write N words at R words per second      each in its time.
 *     Think about X                            emits reasoning first, unless the effort is `none`.
 *     Refuse to answer                         ends with `content-filter`.
 *     Fail with 500                            fails with that HTTP status, as a provider would (400 to 599).
 *
 * Besides: a JSON schema as response format gets a valid instance; tool_choice, the output limit (counted by
 * `estimateTokens`) and stop sequences are obeyed; sections of search results or memory (`context-sections.ts`) are answered
 * from, by quoting the lines that match best with their citation markers, and where the tool `file_search` is offered it is
 * asked first; anything else gets a short reply that quotes the message, names the files
 * received, and ends with the first line of the instructions.
 *
 * The prompt may hold 8192 tokens by `estimatePromptTokens`; a longer one is refused as a provider refuses it.
 *
 * Ids of tool calls are a hash of the prompt: the same call made again has the same id. Two runs with the same prompt
 * are told apart by `providerOptions.builtin.callIdSeed`.
 *
 * `makeInstance` makes what a schema asks for.
 */
export function createDemoModel(makeInstance: MakeInstance): ChatModel {
  return {
    provider: PROVIDER,
    modelId: MODEL,
    async ask(options, buffered) {
      const stream = await startStream(options, makeInstance);
      return buffered ? new BufferedAnswer(listParts(await collect(stream))) : stream;
    },
  };
}

async function startStream(options: LanguageModelV4CallOptions, makeInstance: MakeInstance): Promise<DemoStream> {
  options.abortSignal?.throwIfAborted();
  const inputTokens = estimatePromptTokens(options.prompt, options.tools);
  if (inputTokens > DEMO_CONTEXT_WINDOW) {
    const said = `This model's maximum context length is ${DEMO_CONTEXT_WINDOW} tokens; the prompt has ${inputTokens}.`;
    throw await makeFailure(400, said, 'context_length_exceeded');
  }
  const reply = await planReply(options, makeInstance);
  if (reply.type === 'fail') {
    throw await makeFailure(reply.status, `The message asked for a failure with status ${reply.status}`, undefined);
  }
  options.abortSignal?.throwIfAborted();
  const wordsPerSecond = reply.type === 'words' ? reply.wordsPerSecond : undefined;
  const parts = emitParts(reply, options, inputTokens);
  return new DemoStream(parts, { wordsPerSecond, signal: options.abortSignal });
}

async function makeFailure(statusCode: number, message: string, code: string | undefined): Promise<Error> {
  const { APICallError } = await import('@ai-sdk/provider');
  const responseBody = JSON.stringify({ error: { message, type: 'demo_error', code: code ?? null } });
  const responseHeaders = { 'content-type': 'application/json' };
  const url = `builtin:${MODEL}`;
  return new APICallError({ message, statusCode, responseBody, responseHeaders, url, requestBodyValues: {} });
}

function* emitParts(
  reply: Exclude<Reply, { type: 'fail' }>,
  options: LanguageModelV4CallOptions,
  inputTokens: number,
): Generator<Part, void, void> {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'response-metadata', modelId: MODEL };
  if (reply.type === 'calls') {
    yield* emitCalls(reply.calls, options, inputTokens);
    return;
  }
  const limit = options.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const reasoning = new TokenCounter();
  const text = new TokenCounter();
  let end: FlowEnd = 'stop';
  if (reply.type === 'text' && reply.reasoning !== undefined) {
    yield { type: 'reasoning-start', id: 'reasoning-0' };
    end = yield* asDeltas(
      'reasoning-delta',
      'reasoning-0',
      limitFlow(splitWords(reply.reasoning), [], reasoning, limit),
    );
    yield { type: 'reasoning-end', id: 'reasoning-0' };
  }
  if (end === 'stop') {
    const deltas = reply.type === 'words' ? generateWords(reply.words) : splitWords(reply.text);
    const flow = limitFlow(deltas, options.stopSequences ?? [], text, limit - reasoning.total);
    yield { type: 'text-start', id: 'text-0' };
    end = yield* asDeltas('text-delta', 'text-0', flow);
    yield { type: 'text-end', id: 'text-0' };
  }
  const refused = reply.type === 'text' && reply.refused === true;
  yield {
    type: 'finish',
    finishReason: describeEnd(end, refused),
    usage: makeUsage(inputTokens, text.total, reasoning.total),
  };
}

function* asDeltas(
  type: 'text-delta' | 'reasoning-delta',
  id: string,
  flow: Generator<string, FlowEnd, void>,
): Generator<Part, FlowEnd, void> {
  for (;;) {
    const step = flow.next();
    if (step.done === true) return step.value;
    yield { type, id, delta: step.value };
  }
}

function describeEnd(end: FlowEnd, refused: boolean): LanguageModelV4FinishReason {
  if (end === 'length') return { unified: 'length', raw: 'length' };
  if (refused) return { unified: 'content-filter', raw: 'content_filter' };
  return { unified: 'stop', raw: end };
}

function* emitCalls(
  calls: Extract<Reply, { type: 'calls' }>['calls'],
  options: LanguageModelV4CallOptions,
  inputTokens: number,
): Generator<Part, void, void> {
  const limit = options.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const prefix = hashPrompt(options);
  let outputTokens = 0;
  let finishReason: LanguageModelV4FinishReason = { unified: 'tool-calls', raw: 'tool_calls' };
  for (const [index, { toolName, input }] of calls.entries()) {
    const tokens = estimateTokens(toolName) + estimateTokens(input);
    if (outputTokens + tokens > limit) {
      // Half a call is of no use to anybody.
      finishReason = { unified: 'length', raw: 'length' };
      break;
    }
    outputTokens += tokens;
    const id = `call_${hash('sha256', `${prefix} ${index}`, 'hex').slice(0, CALL_ID_LENGTH)}`;
    yield { type: 'tool-input-start', id, toolName };
    yield { type: 'tool-input-delta', id, delta: input };
    yield { type: 'tool-input-end', id };
    yield { type: 'tool-call', toolCallId: id, toolName, input };
  }
  yield { type: 'finish', finishReason, usage: makeUsage(inputTokens, outputTokens, 0) };
}

function hashPrompt(options: LanguageModelV4CallOptions): string {
  const seed = options.providerOptions?.[PROVIDER]?.callIdSeed ?? '';
  // The bytes of a file would make a text of many times their size.
  const prompt = JSON.stringify([seed, options.prompt], (_, value: unknown) =>
    value instanceof Uint8Array ? value.length : value,
  );
  return hash('sha256', prompt, 'hex');
}

function makeUsage(input: number, text: number, reasoning: number): LanguageModelV4Usage {
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: text + reasoning, text, reasoning },
  };
}

async function collect(stream: DemoStream): Promise<LanguageModelV4GenerateResult> {
  const content: LanguageModelV4Content[] = [];
  let reasoning = '';
  let text = '';
  let finish: Extract<Part, { type: 'finish' }> | undefined;
  for (let parts = await stream.read(); parts !== undefined; parts = await stream.read()) {
    for (const part of parts) {
      if (part.type === 'reasoning-delta') reasoning += part.delta;
      else if (part.type === 'text-delta') text += part.delta;
      else if (part.type === 'tool-call') content.push(part);
      else if (part.type === 'finish') finish = part;
    }
  }
  if (text !== '') content.unshift({ type: 'text', text });
  if (reasoning !== '') content.unshift({ type: 'reasoning', text: reasoning });
  if (finish === undefined) throw new Error(`${DEMO_MODEL_ID} ended without a finish part.`);
  return {
    content,
    finishReason: finish.finishReason,
    usage: finish.usage,
    response: { modelId: MODEL },
    warnings: [],
  };
}
