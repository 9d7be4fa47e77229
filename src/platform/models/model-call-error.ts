import { AnswerTooLarge } from './answer-limits.ts';
import { findOutboundError, readDeclaredMessage } from './declared-message.ts';
import { nameModel, type OpenedModel, redactSecrets } from './model-identity.ts';
import { readRetryAfter } from './retry-after.ts';

/**
 * - `authentication`: the provider refused the key
 * - `context_length`: the prompt does not fit the model's window
 * - `rate_limited`: too many requests, or a quota used up
 * - `timeout`: no first part, or a silence between parts
 * - `truncated`: the stream ended before the model finished
 * - `invalid_response`: what came is no answer of a model
 * - `too_large`: the answer had more than one may have (answer-limits.ts)
 * - `refused`: the outbound guard refused the address, or a redirect to another one
 * - `upstream`: everything else, such as an unknown model or an error of the provider
 */
export type ModelCallErrorKind =
  | 'authentication'
  | 'context_length'
  | 'rate_limited'
  | 'timeout'
  | 'truncated'
  | 'invalid_response'
  | 'too_large'
  | 'refused'
  | 'upstream';

export interface ModelCallErrorDetail {
  /** The provider's HTTP status, where one came. */
  readonly status?: number | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly attempts: number;
  readonly cause?: unknown;
}

/** A model call that failed for good. The message is public: it names the model, says what to do, and holds no key. */
export class ModelCallError extends Error {
  readonly kind: ModelCallErrorKind;
  readonly status: number | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** Requests made, the first included. */
  readonly attempts: number;

  constructor(kind: ModelCallErrorKind, message: string, detail: ModelCallErrorDetail) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = 'ModelCallError';
    this.kind = kind;
    this.status = detail.status;
    this.retryAfterSeconds = detail.retryAfterSeconds;
    this.attempts = detail.attempts;
  }
}

/** What went wrong in one attempt. */
export interface Failure {
  readonly kind: ModelCallErrorKind;
  readonly status?: number | undefined;
  readonly retryAfterSeconds?: number | undefined;
  /** Whether the same request may succeed a moment later. */
  readonly transient: boolean;
  /** The message that the upstream declared, or our words; redacted before they are shown. Empty: there is none. */
  readonly text: string;
  readonly cause?: unknown;
}

const RETRYABLE_STATUS = new Set([408, 409, 425, 429]);
const UPSTREAM_TEXT_MAX = 300;
const CAUSE_TEXT_MAX = 2000;
/** What is read of an upstream's words. More than is shown, so that no secret is cut in two before it is struck out. */
const READ_TEXT_MAX = 4000;

/** How each provider, or the server behind a compatible address, says that the prompt is too long. */
const CONTEXT_LENGTH = new RegExp(
  [
    'context_length_exceeded', // OpenAI, Groq, DeepSeek
    'maximum context length', // OpenAI, vLLM, Mistral, OpenRouter
    'maximum input length', // OpenAI, of embeddings
    'prompt is too long', // Anthropic
    'exceed(s|ed)? (the )?(model.s )?context (limit|window|length)', // Anthropic, LM Studio, Azure
    'input token count.{0,40}exceeds the maximum', // Google
    'input is too long', // Bedrock
    'too many input tokens', // Bedrock
    'maximum prompt length', // xAI
    'exceeds? the available context size', // llama.cpp
    'exceed_context_size_error', // llama.cpp
    'reduce the length of the (messages|input|prompt)', // OpenAI, Groq
    'too large for model with', // Mistral
    'inputs? tokens \\+ max_new_tokens must be', // Together, TGI
    'input length.{0,40}exceeds the context length', // Ollama
  ].join('|'),
  'i',
);
/** Google answers 400 to a wrong key. */
const WRONG_KEY =
  /api[ _-]?key (is )?(not valid|invalid|expired)|invalid[ _](x-)?api[ _-]?key|invalid_api_key|unrecognizedclient/i;
const QUOTA = /insufficient_quota|exceeded your current quota|billing|credit balance/i;
const UNREADABLE =
  /JSONParse|TypeValidation|InvalidResponseData|EmptyResponseBody|NoContentGenerated|AI_InvalidResponse/;
const CUT_OFF = /ended without a finish reason/i;

/** The members that the provider packages put on what they throw or put into an `error` part. */
interface ErrorMembers {
  readonly name: string;
  readonly message: string;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** All text in which a code may stand. */
  readonly haystack: string;
  readonly retryable: boolean | undefined;
}

/**
 * Reads any error of a provider package, which holds the whole request and the whole answer: what is passed on, also to the
 * log, is the upstream's declared message alone. The whole text serves to tell the kinds apart. `nowMs` is wall time, for a Retry-After that is a date.
 */
export function classifyFailure(error: unknown, nowMs: number): Failure {
  const members = readMembers(error);
  const { status, haystack, message } = members;
  const retryAfterSeconds = readRetryAfter(members.headers, nowMs);
  const text = (readDeclaredMessage(error, status) ?? '').slice(0, READ_TEXT_MAX);
  const base = { status, retryAfterSeconds, text, cause: { name: members.name, message: text, status } };

  const refusal = findOutboundError(error);
  if (refusal?.reason === 'too_large') return { ...base, kind: 'too_large', transient: false };
  if (error instanceof AnswerTooLarge) {
    return { ...base, kind: 'too_large', transient: false, text: `the answer has ${error.message}` };
  }
  if (refusal !== undefined && refusal.reason !== 'unresolvable') return { ...base, kind: 'refused', transient: false };
  if (CONTEXT_LENGTH.test(haystack)) return { ...base, kind: 'context_length', transient: false };
  if (status === 401 || status === 403 || WRONG_KEY.test(haystack) || members.name === 'AI_LoadAPIKeyError') {
    return { ...base, kind: 'authentication', transient: false };
  }
  if (status === 429 || status === 402) {
    return { ...base, kind: 'rate_limited', transient: status === 429 && !QUOTA.test(haystack) };
  }
  if (CUT_OFF.test(message)) return { ...base, kind: 'truncated', transient: false };
  if (status === undefined || (status >= 200 && status < 300)) {
    const network = members.name === 'TypeError' || isNetworkError(error);
    if (network || members.retryable === true) return { ...base, kind: 'upstream', transient: true };
    if (isUnreadable(error)) return { ...base, kind: 'invalid_response', transient: false };
    return { ...base, kind: 'upstream', transient: false };
  }
  return { ...base, kind: 'upstream', transient: status >= 500 || RETRYABLE_STATUS.has(status) };
}

/** Whether the connection itself failed: a fetch that was refused, or a body that was cut. */
function isNetworkError(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    const code = readString(current, 'code');
    if (/^(E[A-Z]+|UND_ERR_\w+)$/.test(code)) return true;
    if (current instanceof TypeError && /fetch failed|terminated/i.test(current.message)) return true;
    current = current.cause;
  }
  return false;
}

/** A whole answer that is unreadable comes as a failed call that was caused by it. */
function isUnreadable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (UNREADABLE.test(error.name)) return true;
  // Other errors have such a cause too: options of the call that a package refuses before anything is sent.
  return error.name === 'AI_APICallError' && error.cause instanceof Error && UNREADABLE.test(error.cause.name);
}

function readMembers(error: unknown): ErrorMembers {
  if (typeof error === 'string') {
    const message = error.slice(0, READ_TEXT_MAX);
    return { ...EMPTY, message, haystack: message };
  }
  if (typeof error !== 'object' || error === null) return EMPTY;
  const message = readString(error, 'message').slice(0, READ_TEXT_MAX);
  const body = readString(error, 'responseBody').slice(0, READ_TEXT_MAX);
  const statusCode = 'statusCode' in error ? error.statusCode : undefined;
  const code = 'code' in error ? error.code : undefined;
  // Compatible servers put the status into an error event of the stream as its code.
  const status = [statusCode, code].find((each) => typeof each === 'number' && each >= 100 && each <= 599);
  const headers =
    'responseHeaders' in error && isStringRecord(error.responseHeaders) ? error.responseHeaders : undefined;
  return {
    name: error instanceof Error ? error.name : '',
    message,
    status: typeof status === 'number' ? status : undefined,
    headers,
    haystack: [message, String(code ?? ''), readString(error, 'type'), body].join(' '),
    retryable: 'isRetryable' in error && typeof error.isRetryable === 'boolean' ? error.isRetryable : undefined,
  };
}

const EMPTY: ErrorMembers = {
  name: '',
  message: '',
  status: undefined,
  headers: undefined,
  haystack: '',
  retryable: undefined,
};

function readString(value: object, member: string): string {
  const found: unknown = Reflect.get(value, member);
  return typeof found === 'string' ? found : '';
}

function isStringRecord(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && Object.values(value).every((each) => typeof each === 'string');
}

/** Turns the failure of the last attempt into the error that the caller sees. */
export function makeModelCallError(model: OpenedModel, failure: Failure, attempts: number): ModelCallError {
  return new ModelCallError(failure.kind, explain(model, failure, attempts), {
    status: failure.status,
    retryAfterSeconds: failure.retryAfterSeconds,
    attempts,
    cause: redactCause(model, failure.cause),
  });
}

function redactCause(model: OpenedModel, cause: unknown): unknown {
  if (typeof cause !== 'object' || cause === null) return cause;
  return Object.fromEntries(
    Object.entries(cause).map(([name, value]) => [
      name,
      typeof value === 'string' ? redactSecrets(model, value).slice(0, CAUSE_TEXT_MAX) : value,
    ]),
  );
}

function explain(model: OpenedModel, failure: Failure, attempts: number): string {
  const name = nameModel(model);
  const provider = name.slice(0, name.indexOf('/'));
  const said = redactSecrets(model, failure.text.slice(0, READ_TEXT_MAX))
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, UPSTREAM_TEXT_MAX);
  const tries = attempts > 1 ? ` after ${attempts} attempts` : '';
  const status = failure.status === undefined ? '' : ` (status ${failure.status})`;
  switch (failure.kind) {
    case 'authentication':
      return `${provider} refused the key for ${name}${status}. Store a valid key for the provider ${provider} that may use this model.`;
    case 'context_length':
      return `The prompt is longer than the context window of ${name}. Shorten the input, start a new thread, or choose a model with a larger window.`;
    case 'rate_limited': {
      const wait = failure.retryAfterSeconds;
      const when = wait === undefined ? 'Retry later' : `Retry in ${Math.ceil(wait)} seconds`;
      return `${provider} is limiting requests to ${name}${status}${tries}. ${when}, or raise the limit of the account at ${provider}.`;
    }
    case 'timeout':
      return `${name} ${failure.text}. Retry, or choose a faster model.`;
    case 'truncated':
      return `${provider} broke off the answer of ${name} before it was finished. Retry the turn.`;
    case 'invalid_response':
      return `${provider} answered for ${name} with something that is no model response. Check the base_url of the model key, then retry.`;
    case 'too_large':
      return `${provider} sent more than an answer of ${name} may have: ${said}. Check the base_url of the model key, or ask for less.`;
    case 'refused':
      return `The call to ${name} could not be made: ${said}.`;
    case 'upstream': {
      const reason = said === '' ? '' : `: ${said.replace(/[.\s]+$/, '')}`;
      return `The call to ${name} failed${status}${tries}${reason}. Check the model's name and the provider's status page, then retry.`;
    }
  }
}
