/** What the upstream answers to every chat completion, and what came of it at the other end. */

export const TOKENS = 200;
/** As fast as the quick models of the large providers stream. */
export const TOKENS_PER_SECOND = 100;
export const SMALL_MODEL = 'small';
export const PACED_MODEL = 'paced';

const PROMPT_TOKENS = 12;
const USAGE = { prompt_tokens: PROMPT_TOKENS, completion_tokens: TOKENS, total_tokens: PROMPT_TOKENS + TOKENS };
const HEAD = { id: 'chatcmpl-bench', created: 1_750_000_000, model: SMALL_MODEL };

function listTokens(): string[] {
  return Array.from({ length: TOKENS }, (_, index) => (index === 0 ? 'token' : ` token${index}`));
}

/** The whole text. */
export const ANSWER = listTokens().join('');

export function renderCompletion(): string {
  const message = { role: 'assistant', content: ANSWER };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }];
  return JSON.stringify({ ...HEAD, object: 'chat.completion', choices, usage: USAGE });
}

/** Server-sent events: the role, each token, the end, the usage, `[DONE]`. */
export function renderChunks(): string[] {
  const render = (rest: object) => `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', ...rest })}\n\n`;
  const renderDelta = (delta: object, finishReason: string | null) =>
    render({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }] });
  return [
    renderDelta({ role: 'assistant', content: '' }, null),
    ...listTokens().map((content) => renderDelta({ content }, null)),
    renderDelta({}, 'stop'),
    render({ choices: [], usage: USAGE }),
    'data: [DONE]\n\n',
  ];
}

interface Choices {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: unknown };
    readonly message?: { content?: unknown };
  }[];
}

/** The text of a completion, whole or streamed. Throws for a stream that was broken off. */
export function readText(body: string, streamed: boolean): string {
  if (!streamed) return String(parse(body).choices?.[0]?.message?.content ?? '');
  const events = body.split(/\r?\n\r?\n/).flatMap((event) => (event.startsWith('data: ') ? [event.slice(6)] : []));
  if (events.at(-1)?.trim() !== '[DONE]') throw new Error(`a stream without its end: ${body.slice(-300)}`);
  return events
    .slice(0, -1)
    .map((event) => String(parse(event).choices?.[0]?.delta?.content ?? ''))
    .join('');
}

function parse(text: string): Choices {
  return JSON.parse(text);
}
