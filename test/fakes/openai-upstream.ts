import {
  answerFault,
  type Exchange,
  type FaultBehaviour,
  openEventStream,
  startUpstream,
  type Upstream,
} from './http-upstream.ts';

/** How the fake answers one POST /chat/completions or /embeddings. */
export type OpenAiBehaviour =
  | OpenAiAnswer
  | OpenAiEmbeddings
  | FaultBehaviour
  | { readonly type: 'context_length_exceeded' };

/** Vectors for the texts of `input`; every text has its own, and always the same. */
export interface OpenAiEmbeddings {
  readonly type: 'embeddings';
  /** What the request asks for, or 8, when absent. */
  readonly dimensions?: number;
  /** In place of one for each text. */
  readonly vectors?: readonly (readonly unknown[])[];
  /** `null`: the server does not count. 5 a text when absent. */
  readonly tokens?: number | null;
}

export interface OpenAiAnswer {
  readonly type: 'answer';
  /** One chunk each, before the text. */
  readonly reasoning?: readonly string[];
  readonly deltas?: readonly string[];
  readonly toolCalls?: readonly {
    readonly id?: string;
    readonly name: string;
    /** JSON text; sent in two pieces. */
    readonly arguments: string;
  }[];
  readonly finishReason?: string;
  readonly usage?: {
    readonly promptTokens: number;
    readonly completionTokens: number;
    readonly cachedTokens?: number;
    readonly reasoningTokens?: number;
  };
  /** Before the first chunk, headers being out already. */
  readonly firstDelayMs?: number;
  /** Nothing of the answer is sent before it resolves. */
  readonly held?: Promise<unknown>;
  /** Before each further chunk. */
  readonly delayMs?: number;
  /** Of a streamed answer: before each chunk, by how many are out, it waits for this. */
  readonly holdAt?: (chunks: number) => Promise<unknown> | undefined;
  /** What happens when this many chunks are out, in place of the rest. */
  readonly fault?: {
    readonly afterChunks: number;
    /**
     * `hang`: silence; `reset`: the socket is destroyed; `end`: a clean end without finish_reason and [DONE];
     * `garbage`: an event that is no JSON; `error`: an error event of the dialect. Of an answer that was asked for whole
     * the text breaks off in its middle, and `error` is status 500.
     */
    readonly type: 'hang' | 'reset' | 'end' | 'garbage' | 'error';
  };
}

export type OpenAiUpstream = Upstream<OpenAiBehaviour>;

/** Of every answer, in seconds. */
const CREATED = 1_767_225_600;

const DEFAULT_ANSWER: OpenAiAnswer = { type: 'answer', deltas: ['Hello', ' there', '.'] };

/**
 * A server that speaks OpenAI's chat completions, streamed and whole, at `url` + `/chat/completions`, and its embeddings,
 * at `url` + `/embeddings`.
 */
export function startOpenAiUpstream(): Promise<OpenAiUpstream> {
  return startUpstream<OpenAiBehaviour>('/v1', DEFAULT_ANSWER, answer);
}

async function answer(behaviour: OpenAiBehaviour, exchange: Exchange): Promise<void> {
  switch (behaviour.type) {
    case 'answer':
      return Object(exchange.body).stream === true
        ? streamAnswer(behaviour, exchange)
        : sendAnswer(behaviour, exchange);
    case 'embeddings':
      return answerEmbeddings(behaviour, exchange);
    case 'context_length_exceeded':
      return answerFault({ type: 'status', status: 400 }, exchange, {
        error: {
          message:
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      });
    default:
      return answerFault(behaviour, exchange, {
        error: { message: 'The fake upstream was told to fail.', type: 'server_error', param: null, code: null },
      });
  }
}

async function answerEmbeddings(behaviour: OpenAiEmbeddings, { body, response }: Exchange): Promise<void> {
  const { input, dimensions } = Object(body);
  const texts: string[] = [input].flat().map(String);
  const length = behaviour.dimensions ?? dimensions ?? 8;
  const vectors = behaviour.vectors ?? texts.map((text) => makeVector(text, length));
  const tokens = behaviour.tokens === undefined ? texts.length * 5 : behaviour.tokens;
  const answer = {
    object: 'list',
    data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model: readModel(body),
    ...(tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
  };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}

const LARGE_PRIME = 1_000_000_007;

/** Not of unit length: not every model's are. */
function makeVector(text: string, length: number): number[] {
  let sum = 7;
  for (const character of text) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % LARGE_PRIME;
  return Array.from({ length }, (_, index) => Math.sin(((index + 1) * sum) % 1000) + 2);
}

async function streamAnswer(behaviour: OpenAiAnswer, exchange: Exchange): Promise<void> {
  const { response } = exchange;
  const chunks = listChunks(behaviour, readModel(exchange.body));
  openEventStream(response);
  await Promise.race([behaviour.held, exchange.hang()]);
  for (const [index, chunk] of chunks.entries()) {
    if (behaviour.fault?.afterChunks === index) return breakOff(behaviour.fault.type, exchange);
    await behaviour.holdAt?.(index);
    const present = await exchange.pause((index === 0 ? behaviour.firstDelayMs : behaviour.delayMs) ?? 0);
    if (!present) return;
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
  response.end('data: [DONE]\n\n');
}

/** After the time that its stream would take. */
async function sendAnswer(behaviour: OpenAiAnswer, exchange: Exchange): Promise<void> {
  const { response } = exchange;
  const { fault, firstDelayMs = 0, delayMs = 0 } = behaviour;
  const model = readModel(exchange.body);
  const pauses = Math.max(0, listChunks(behaviour, model).length - 1);
  if (fault?.type === 'hang') return exchange.hang();
  await Promise.race([behaviour.held, exchange.hang()]);
  if (!(await exchange.pause(firstDelayMs + pauses * delayMs))) return;
  const text = JSON.stringify(renderAnswer(behaviour, model));
  const half = text.slice(0, text.length / 2);
  switch (fault?.type) {
    case 'error':
      response.writeHead(500, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"The engine is overloaded","type":"server_error"}}');
      return;
    case 'reset':
      response.writeHead(200, { 'content-type': 'application/json' }).write(half);
      await exchange.pause(20);
      return exchange.destroy();
    default:
      response.writeHead(200, { 'content-type': 'application/json' }).end(fault === undefined ? text : half);
  }
}

function renderAnswer(behaviour: OpenAiAnswer, model: string): unknown {
  const toolCalls = (behaviour.toolCalls ?? []).map(({ id, name, arguments: args }, index) => ({
    id: id ?? `call_${index}`,
    type: 'function',
    function: { name, arguments: args },
  }));
  const message = {
    role: 'assistant',
    content: behaviour.deltas?.join('') ?? null,
    ...(behaviour.reasoning === undefined ? {} : { reasoning_content: behaviour.reasoning.join('') }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: CREATED,
    model,
    choices: [{ index: 0, message, finish_reason: finishOf(behaviour) }],
    ...(behaviour.usage === undefined ? {} : { usage: renderUsage(behaviour.usage) }),
  };
}

async function breakOff(type: NonNullable<OpenAiAnswer['fault']>['type'], exchange: Exchange): Promise<void> {
  const { response } = exchange;
  switch (type) {
    case 'hang':
      return exchange.hang();
    case 'reset':
      // What was written before is to arrive before the reset.
      await exchange.pause(20);
      return exchange.destroy();
    case 'end':
      response.end();
      return;
    case 'garbage':
      response.end('data: {"choices": [ oops\n\n');
      return;
    case 'error':
      response.end('data: {"error":{"message":"The engine is overloaded","type":"server_error","code":500}}\n\n');
  }
}

function listChunks(behaviour: OpenAiAnswer, model: string): unknown[] {
  const toolCalls = behaviour.toolCalls ?? [];
  const deltas: unknown[] = [
    ...(behaviour.reasoning ?? []).map((text) => ({ reasoning_content: text })),
    ...(behaviour.deltas ?? []).map((content) => ({ content })),
    ...toolCalls.flatMap((call, index) => {
      const half = Math.ceil(call.arguments.length / 2);
      const begin = {
        index,
        id: call.id ?? `call_${index}`,
        type: 'function',
        function: { name: call.name, arguments: call.arguments.slice(0, half) },
      };
      return [
        { tool_calls: [begin] },
        { tool_calls: [{ index, function: { arguments: call.arguments.slice(half) } }] },
      ];
    }),
  ];
  const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: CREATED, model };
  const chunks: unknown[] = deltas.map((delta, index) => ({
    ...base,
    choices: [{ index: 0, delta: index === 0 ? { role: 'assistant', ...Object(delta) } : delta, finish_reason: null }],
  }));
  chunks.push({ ...base, choices: [{ index: 0, delta: {}, finish_reason: finishOf(behaviour) }] });
  if (behaviour.usage !== undefined) chunks.push({ ...base, choices: [], usage: renderUsage(behaviour.usage) });
  return chunks;
}

function finishOf({ finishReason, toolCalls = [] }: OpenAiAnswer): string {
  return finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop');
}

function renderUsage(usage: NonNullable<OpenAiAnswer['usage']>): unknown {
  const { promptTokens, completionTokens, cachedTokens = 0, reasoningTokens = 0 } = usage;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

function readModel(body: unknown): string {
  const model = typeof body === 'object' && body !== null && 'model' in body ? body.model : undefined;
  return typeof model === 'string' ? model : 'unknown';
}
