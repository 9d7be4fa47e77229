/** Request bodies of JSON, of a depth and a size in values that whatever walks them later can walk. */
import type { FastifyBodyParser, FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from './errors.ts';

/**
 * Levels of objects and arrays. JSON.parse takes any number, but what recurses does not: JSON.stringify and PostgreSQL
 * give up after some thousands.
 */
const MAX_BODY_DEPTH = 100;
/**
 * Objects, arrays and strings, names of members included. Their number decides how long JSON.parse holds the event loop: ten
 * megabytes of empty objects take it 700 ms, of short distinct strings 350 ms, of one text 30 ms. So many distinct names of
 * one object, the worst of all, take it 60 ms.
 */
const MAX_BODY_VALUES = 100_000;
/**
 * Members of objects and items of arrays, whatever they are: numbers are parsed fast, but validated and written one by one. The
 * longest list that OpenAI takes is 300,000 tokens to embed.
 */
const MAX_BODY_ITEMS = 1_000_000;
/** Of one number: more than any value needs. JSON.parse takes time for each, and ten million of them all at once. */
const MAX_NUMBER_CHARS = 1_000;
/** Larger bodies are looked through, parsed and worked on in turns of the event loop of their own. */
const LARGE_BODY_CHARS = 256 * 1024;

/** Makes the routes of this scope read `application/json` and `application/<anything>+json`. */
export function acceptJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  const read: FastifyBodyParser<string> = (request, text, done) => {
    const refusal = refusalOfEncoding(request) ?? refusalOfExtent(text);
    if (refusal !== undefined) done(refusal);
    // A client that always names the type may send nothing.
    else if (text === '') done(null, undefined);
    else if (text.length > LARGE_BODY_CHARS) {
      setImmediate(() => parse(request, text, (error, body) => setImmediate(() => done(error, body))));
    } else parse(request, text, done);
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

function refusalOfExtent(text: string): ApiError | undefined {
  switch (findExcess(text, bodyExtent)) {
    case undefined:
      return undefined;
    case 'levels':
      return new ApiError('invalid_request', {
        message: `The body nests deeper than ${MAX_BODY_DEPTH} levels. Flatten it, or send the inner part as text.`,
      });
    case 'values':
      return new ApiError('invalid_request', {
        message:
          `The body has more than ${MAX_BODY_VALUES} objects, lists and texts (names of members included). ` +
          'Split it into several requests.',
      });
    case 'items':
      return new ApiError('invalid_request', {
        message: `The body has more than ${MAX_BODY_ITEMS} members and items. Split it into several requests.`,
      });
    case 'digits':
      return new ApiError('invalid_request', {
        message: `The body has a number of more than ${MAX_NUMBER_CHARS} characters. Send it as text.`,
      });
  }
}

/**
 * JSON in a string of a body, of no larger extent than a body may have: the arguments of a call, an answer of a model.
 * Throws SyntaxError for a text that is no JSON or has more.
 */
export function parseJsonText(text: string): unknown {
  const excess = findExcess(text, bodyExtent);
  if (excess !== undefined) throw new SyntaxError(`the JSON has too many ${excess}`);
  return JSON.parse(text);
}

export interface JsonExtent {
  /** How deep objects and arrays nest. */
  readonly levels: number;
  /** Objects, arrays and strings, names of members included. */
  readonly values: number;
  /** Commas: one fewer than there are items, in each of them. */
  readonly items: number;
  /** Characters of one number. */
  readonly digits: number;
}

const bodyExtent: JsonExtent = {
  levels: MAX_BODY_DEPTH,
  values: MAX_BODY_VALUES,
  items: MAX_BODY_ITEMS,
  digits: MAX_NUMBER_CHARS,
};

/** What a JSON text has more of than this, the first that is met. Brackets in strings are text. Reads each character once. */
export function findExcess(text: string, { levels, values, items, digits }: JsonExtent): keyof JsonExtent | undefined {
  let depth = 0;
  let count = 0;
  let commas = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    switch (code) {
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        count += 1;
        if (depth > levels) return 'levels';
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      case QUOTE:
        at = endOfString(text, at);
        count += 1;
        break;
      case COMMA:
        commas += 1;
        break;
      default:
        if (code === MINUS || isDigit(code)) {
          const end = endOfNumber(text, at);
          if (end - at > digits) return 'digits';
          at = end - 1;
        }
    }
    if (count > values) return 'values';
    if (commas >= items) return 'items';
  }
  return undefined;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
/** A letter in lower case. */
const EXPONENT = 0x65;
const LOWER_CASE = 0x20;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

/** Behind the last character of the number that begins here, or of what looks like one. */
function endOfNumber(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const goesOn =
      isDigit(code) || code === POINT || code === MINUS || code === PLUS || (code | LOWER_CASE) === EXPONENT;
    if (!goesOn) return at;
  }
  return text.length;
}

/** Where the string that begins here ends: at its closing quote, or with the text. */
function endOfString(text: string, start: number): number {
  const end = text.indexOf('"', start + 1);
  if (end < 0) return text.length;
  if (text.charCodeAt(end - 1) !== BACKSLASH) return end;
  // One escape seldom comes alone: from the first on, each character is looked at.
  for (let at = text.indexOf('\\', start + 1); at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}
