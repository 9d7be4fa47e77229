import {
  answerFault,
  type Exchange,
  type FaultBehaviour,
  openEventStream,
  startUpstream,
  type Upstream,
} from './http-upstream.ts';

/** How the fake answers one POST /messages. */
export type AnthropicBehaviour = AnthropicAnswer | FaultBehaviour | { readonly type: 'prompt_too_long' };

export interface AnthropicAnswer {
  readonly type: 'answer';
  /** One thinking_delta each. */
  readonly thinking?: readonly string[];
  readonly deltas?: readonly string[];
  readonly toolUses?: readonly { readonly id?: string; readonly name: string; readonly input: object }[];
  readonly stopReason?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Before each event after the first. */
  readonly delayMs?: number;
  /** When this many events are out: silence, a destroyed socket, a clean end, or an `overloaded_error` event. */
  readonly fault?: { readonly afterEvents: number; readonly type: 'hang' | 'reset' | 'end' | 'overloaded' };
}

export type AnthropicUpstream = Upstream<AnthropicBehaviour>;

type StreamEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

const SIGNATURE = 'c2lnbmF0dXJl';
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', stop_sequence: null };

const DEFAULT_ANSWER: AnthropicAnswer = { type: 'answer', deltas: ['Hello', ' there', '.'] };

/** A server that speaks Anthropic's messages, streamed and whole, at `url` + `/messages`. */
export function startAnthropicUpstream(): Promise<AnthropicUpstream> {
  return startUpstream<AnthropicBehaviour>('/v1', DEFAULT_ANSWER, answer);
}

async function answer(behaviour: AnthropicBehaviour, exchange: Exchange): Promise<void> {
  switch (behaviour.type) {
    case 'answer':
      return Object(exchange.body).stream === true
        ? streamAnswer(behaviour, exchange)
        : sendAnswer(behaviour, exchange);
    case 'prompt_too_long':
      return answerFault({ type: 'status', status: 400 }, exchange, {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' },
      });
    default:
      return answerFault(behaviour, exchange, {
        type: 'error',
        error: { type: 'api_error', message: 'The fake upstream was told to fail.' },
      });
  }
}

async function streamAnswer(behaviour: AnthropicAnswer, exchange: Exchange): Promise<void> {
  const { response } = exchange;
  openEventStream(response);
  for (const [index, event] of listEvents(behaviour).entries()) {
    if (behaviour.fault?.afterEvents === index) return breakOff(behaviour.fault.type, exchange);
    if (!(await exchange.pause(index === 0 ? 0 : (behaviour.delayMs ?? 0)))) return;
    writeEvent(exchange, event);
  }
  response.end();
}

/** `fault` is for streams alone. */
async function sendAnswer(behaviour: AnthropicAnswer, { response }: Exchange): Promise<void> {
  const { thinking, deltas, toolUses = [] } = behaviour;
  const content = [
    ...(thinking === undefined ? [] : [{ type: 'thinking', thinking: thinking.join(''), signature: SIGNATURE }]),
    ...(deltas === undefined ? [] : [{ type: 'text', text: deltas.join('') }]),
    ...toolUses.map(({ id, name, input }, index) => ({ type: 'tool_use', id: id ?? `toolu_${index}`, name, input })),
  ];
  const usage = { ...renderInputUsage(behaviour), output_tokens: behaviour.outputTokens ?? 5 };
  const message = { ...MESSAGE, content, stop_reason: stopReasonOf(behaviour), usage };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(message));
}

async function breakOff(type: NonNullable<AnthropicAnswer['fault']>['type'], exchange: Exchange): Promise<void> {
  switch (type) {
    case 'hang':
      return exchange.hang();
    case 'reset':
      // What was written before is to arrive before the reset.
      await exchange.pause(20);
      return exchange.destroy();
    case 'end':
      exchange.response.end();
      return;
    case 'overloaded':
      writeEvent(exchange, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
      exchange.response.end();
  }
}

function writeEvent({ response }: Exchange, event: StreamEvent): void {
  response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

function listEvents(behaviour: AnthropicAnswer): StreamEvent[] {
  const blocks: { start: object; deltas: object[] }[] = [];
  if (behaviour.thinking !== undefined) {
    const deltas = behaviour.thinking.map((thinking) => ({ type: 'thinking_delta', thinking }));
    const signature = { type: 'signature_delta', signature: SIGNATURE };
    blocks.push({ start: { type: 'thinking', thinking: '', signature: '' }, deltas: [...deltas, signature] });
  }
  if (behaviour.deltas !== undefined) {
    const deltas = behaviour.deltas.map((text) => ({ type: 'text_delta', text }));
    blocks.push({ start: { type: 'text', text: '' }, deltas });
  }
  for (const [index, use] of (behaviour.toolUses ?? []).entries()) {
    const start = { type: 'tool_use', id: use.id ?? `toolu_${index}`, name: use.name, input: {} };
    blocks.push({ start, deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(use.input) }] });
  }
  const usage = { ...renderInputUsage(behaviour), output_tokens: 1 };
  const message = { ...MESSAGE, content: [], stop_reason: null, usage };
  return [
    { type: 'message_start', message },
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: stopReasonOf(behaviour), stop_sequence: null },
      usage: { output_tokens: behaviour.outputTokens ?? 5 },
    },
    { type: 'message_stop' },
  ];
}

function renderInputUsage(behaviour: AnthropicAnswer): object {
  return {
    input_tokens: behaviour.inputTokens ?? 10,
    cache_creation_input_tokens: behaviour.cacheWriteTokens ?? 0,
    cache_read_input_tokens: behaviour.cacheReadTokens ?? 0,
  };
}

function stopReasonOf({ stopReason, toolUses }: AnthropicAnswer): string {
  return stopReason ?? (toolUses === undefined ? 'end_turn' : 'tool_use');
}
