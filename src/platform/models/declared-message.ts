/**
 * What of an upstream's words may be shown. A base URL is a caller's, and what answers there need not be a model provider:
 * a text is passed on only where it stands in an error of a provider's documented format, as its message.
 */
import { OutboundError } from '../../kernel/outbound/outbound-error.ts';

/** A provider's error has a few hundred characters; what is longer is something else. */
const ERROR_BODY_MAX = 65_536;
const ERROR_MEDIA_TYPE = /^(application\/([\w.-]+[+-])?json(-[\d.]+)?|text\/event-stream)\s*(;|$)/i;
const CAUSES_MAX = 5;

/** The packages' own refusals of a call, made before anything is sent: they quote our request, and no answer. */
const OWN_REFUSALS =
  /^AI_(UnsupportedFunctionality|InvalidArgument|InvalidPrompt|NoSuchModel|LoadAPIKey|LoadSetting)Error$/;

/**
 * The message of an error that a provider's package threw or put into an `error` part; undefined where the upstream declared
 * none. `status`: of the upstream's answer, undefined where none came.
 */
export function readDeclaredMessage(error: unknown, status: number | undefined): string | undefined {
  if (typeof error === 'string') return error;
  if (typeof error !== 'object' || error === null) return undefined;
  const refused = findOutboundError(error);
  if (refused !== undefined) return refused.message;
  if (!(error instanceof Error)) return readEventMessage(error);
  if (OWN_REFUSALS.test(error.name)) return error.message;
  if (error.name !== 'AI_APICallError') return undefined;
  return status === undefined ? describeConnection(error) : readErrorBody(error);
}

/** What the outbound guard refused, wherever in the chain of causes it stands. */
export function findOutboundError(error: unknown): OutboundError | undefined {
  return listCauses(error).find((each) => each instanceof OutboundError);
}

/** An error event inside a stream, as the packages hand it on once it has passed their schema. */
function readEventMessage(event: object): string | undefined {
  const message: unknown = Reflect.get(event, 'message');
  return typeof message === 'string' && message !== '' ? message : messageIn(event);
}

function readErrorBody(error: Error): string | undefined {
  const body: unknown = Reflect.get(error, 'responseBody');
  const headers: unknown = Reflect.get(error, 'responseHeaders');
  if (typeof body !== 'string' || body.length > ERROR_BODY_MAX || typeof headers !== 'object' || headers === null) {
    return undefined;
  }
  if (!ERROR_MEDIA_TYPE.test(String(Reflect.get(headers, 'content-type')))) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return undefined;
  }
  return messageIn(parsed) ?? (Reflect.has(headers, 'x-amzn-errortype') ? messageOfAmazon(parsed) : undefined);
}

/** The message of an error in one of the formats that providers document. */
function messageIn(value: unknown): string | undefined {
  // Google's, of a stream that was not asked for as events.
  const body: unknown = Array.isArray(value) ? value[0] : value;
  if (!isObject(body)) return undefined;
  const { error, response } = body;
  if (isObject(error)) {
    // OpenAI and its dialect, Anthropic, Google.
    const isTyped = ['type', 'code', 'status'].some((member) => Object.hasOwn(error, member));
    return isTyped ? textOf(error.message) : undefined;
  }
  // xAI; Hugging Face's inference servers.
  if (typeof error === 'string') {
    return typeof body.code === 'string' || typeof body.error_type === 'string' ? textOf(error) : undefined;
  }
  // OpenAI's event `response.failed`.
  if (isObject(response)) return messageIn({ error: response.error });
  // Mistral, vLLM; OpenAI's event `error`.
  const isError = body.object === 'error' || (body.type === 'error' && Object.hasOwn(body, 'code'));
  return isError ? textOf(body.message) : undefined;
}

/** Amazon names the error's type in a header and has its message at the top. */
function messageOfAmazon(value: unknown): string | undefined {
  return isObject(value) ? (textOf(value.message) ?? textOf(value.Message)) : undefined;
}

/** The code alone: the system's message would name the address behind a host. */
function describeConnection(error: Error): string {
  const codes = listCauses(error).map((each) => Reflect.get(each, 'code') as unknown);
  const code = codes.find((each) => typeof each === 'string' && /^[A-Z][A-Z0-9_]+$/.test(each));
  return typeof code === 'string' ? `the connection failed (${code})` : 'the connection failed';
}

function listCauses(error: unknown): Error[] {
  const found: Error[] = [];
  let current = error;
  while (current instanceof Error && found.length < CAUSES_MAX) {
    found.push(current);
    current = current.cause;
  }
  return found;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
