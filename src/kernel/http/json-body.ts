/** Request bodies of JSON, of a depth that whatever walks it later can walk. */
import type { FastifyBodyParser, FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from './errors.ts';

/**
 * Levels of objects and arrays. JSON.parse takes any number, but what recurses does not: JSON.stringify and PostgreSQL
 * give up after some thousands.
 */
const MAX_BODY_DEPTH = 100;

/** Makes the routes of this scope read `application/json` and `application/<anything>+json`. */
export function acceptJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  const read: FastifyBodyParser<string> = (request, text, done) => {
    const refusal = refusalOfEncoding(request) ?? refusalOfDepth(text);
    if (refusal !== undefined) done(refusal);
    // A client that always names the type may send nothing.
    else if (text === '') done(null, undefined);
    else parse(request, text, done);
  };
  app.addContentTypeParser('application/json', { parseAs: 'string' }, read);
  app.addContentTypeParser(/^application\/[\w.-]+\+json(?:$|[\s;])/i, { parseAs: 'string' }, read);
}

/** The refusal of a body that is compressed, or in another way not what it stands for. */
export function refusalOfEncoding(request: FastifyRequest): ApiError | undefined {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return undefined;
  return new ApiError('invalid_request', {
    message: 'Send the body as it is: compressed bodies are not read.',
    param: 'Content-Encoding',
  });
}

function refusalOfDepth(text: string): ApiError | undefined {
  if (!nestsDeeper(text, MAX_BODY_DEPTH)) return undefined;
  return new ApiError('invalid_request', {
    message: `The body nests deeper than ${MAX_BODY_DEPTH} levels. Flatten it, or send the inner part as text.`,
  });
}

/** Whether the brackets of a JSON text nest deeper than this. Brackets in strings are text. Reads each character once. */
export function nestsDeeper(text: string, levels: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        if (depth > levels) return true;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      case QUOTE:
        at = endOfString(text, at);
        break;
      default:
        break;
    }
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Where the string that begins here ends: at its closing quote, or with the text. */
function endOfString(text: string, start: number): number {
  let end = start;
  do {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
  } while (isEscaped(text, end));
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}
