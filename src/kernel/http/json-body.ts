/** Request bodies of JSON, of a depth and a size in values that whatever walks them later can walk. */
import type { FastifyBodyParser, FastifyInstance, FastifyRequest } from 'fastify';
import { ownIteration } from '../event-loop/own-iteration.ts';
import { ApiError } from './errors.ts';
import { ExtentScan, findExcess, type JsonExtent } from './json-extent.ts';

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
/** Larger bodies are looked through, parsed and worked on in iterations of the event loop of their own. */
const LARGE_BODY_CHARS = 256 * 1024;
/** Looked through in one iteration: ten milliseconds at most. */
const PIECE_CHARS = 1024 * 1024;

const bodyExtent: JsonExtent = {
  levels: MAX_BODY_DEPTH,
  values: MAX_BODY_VALUES,
  items: MAX_BODY_ITEMS,
  digits: MAX_NUMBER_CHARS,
};

/** Makes the routes of this scope read `application/json` and `application/<anything>+json`. */
export function acceptJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  const read: FastifyBodyParser<string> = (request, text, done) => {
    const refusal = refusalOfEncoding(request);
    if (refusal !== undefined) done(refusal);
    // A client that always names the type may send nothing.
    else if (text === '') done(null, undefined);
    else if (text.length > LARGE_BODY_CHARS) void readLarge(request, text, done);
    else {
      const excess = findExcess(text, bodyExtent);
      if (excess === undefined) parse(request, text, done);
      else done(refusalOfExtent(excess));
    }
  };
  const readLarge = async (...[request, text, done]: Parameters<typeof read>): Promise<void> => {
    const scan = new ExtentScan(text, bodyExtent);
    while (!scan.isDone) {
      await ownIteration();
      const excess = scan.read(PIECE_CHARS);
      if (excess !== undefined) return done(refusalOfExtent(excess));
    }
    await ownIteration();
    parse(request, text, (error, body) => void ownIteration().then(() => done(error, body)));
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

function refusalOfExtent(excess: keyof JsonExtent): ApiError {
  switch (excess) {
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
