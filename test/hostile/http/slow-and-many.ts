/** Callers that take their time, read nothing, or come in great numbers. */
import type { HttpAbuse, HttpOutcome, HttpTarget } from '../cases.ts';
import { type Exchange, open, outcomeOf, readAnswers, request } from './raw-exchange.ts';

/** What the server runs with here, so that each of these takes seconds and not minutes. */
export const STALL_SECONDS = 5;
export const ADDRESS_CONNECTIONS = 300;
/** A deadline, the look at it, and a busy machine. */
const PATIENCE_MS = 6 * STALL_SECONDS * 1_000;
const DRIP_MS = 100;
/** Requests that are sent without waiting. */
const AT_ONCE = 50;
const TOO_SLOW = { status: 408, code: 'invalid_request', closed: true } as const;
const FORM = 'Content-Type: multipart/form-data; boundary=b';
const FILE_HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';

/** Sends this, then a byte every now and then. */
function dripping(
  name: string,
  head: (target: HttpTarget) => string,
  answer: HttpAbuse['answer'],
  drop = 'x',
): HttpAbuse {
  return {
    name,
    answer,
    async perform(target) {
      const exchange = await open(target);
      exchange.socket.write(head(target));
      const timer = setInterval(() => exchange.socket.write(drop), DRIP_MS);
      await exchange.closed(PATIENCE_MS);
      clearInterval(timer);
      return outcomeOf(exchange);
    },
  };
}

/** Asks for more than the network holds, and reads none of it. */
function unread(name: string, requests: (target: HttpTarget) => string): HttpAbuse {
  return {
    name,
    answer: { closed: true },
    async perform(target) {
      const { socket } = await open(target, { from: '127.0.0.79' });
      socket.pause();
      const closed = new Promise<boolean>((resolve) => {
        socket.once('error', () => resolve(true));
        socket.once('close', () => resolve(true));
        setTimeout(() => resolve(false), PATIENCE_MS).unref();
      });
      socket.write(requests(target));
      // Writing is how a sender that does not read hears of a reset.
      const timer = setInterval(() => socket.write('\r\n'), DRIP_MS);
      const outcome = { closed: await closed };
      clearInterval(timer);
      socket.destroy();
      return outcome;
    },
  };
}

const post = (target: HttpTarget, path: string, ...lines: readonly string[]) =>
  request(target, `POST ${path} HTTP/1.1`, 'Content-Length: 900000', ...lines);

export const slowAbuses: readonly HttpAbuse[] = [
  dripping('nothing but a connection', () => '', { closed: true }, ''),
  dripping('a request line that drips', () => 'GET /', TOO_SLOW),
  dripping('headers that drip', () => 'GET / HTTP/1.1\r\nHost: a\r\nX: ', TOO_SLOW),
  dripping(
    'JSON that drips',
    (target) => `${post(target, '/v1/customers', 'Content-Type: application/json')}{"name":"`,
    TOO_SLOW,
  ),
  dripping(
    'chunks that drip',
    (target) =>
      request(target, 'POST /v1/customers HTTP/1.1', 'Content-Type: application/json', 'Transfer-Encoding: chunked'),
    TOO_SLOW,
    '1\r\n \r\n',
  ),
  dripping('an upload that drips', (target) => post(target, '/v1/files', FORM) + FILE_HEAD, TOO_SLOW),
  dripping('the headers of a part that drip', (target) => `${post(target, '/v1/files', FORM)}--b\r\nX: `, TOO_SLOW),
  dripping('a body that drips on a public page', () => 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n', {
    status: 200,
    closed: true,
  }),
  dripping(
    'a body that drips on a route without a token',
    () => 'POST /v1/customers HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n',
    { status: 401, closed: true },
  ),
  dripping(
    'a body that drips on no route',
    () => 'POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n',
    { status: [404, 408], closed: true },
  ),
  dripping(
    'a body that is announced and never begins',
    (target) => post(target, '/v1/customers', 'Content-Type: application/json'),
    TOO_SLOW,
    '',
  ),
  dripping(
    'a hundred continued and nothing sent',
    (target) => post(target, '/v1/customers', 'Content-Type: application/json', 'Expect: 100-continue'),
    TOO_SLOW,
    '',
  ),
  unread('large answers that nobody reads', (target) =>
    request(target, 'GET /docs/static/swagger-ui-bundle.js HTTP/1.1').repeat(12),
  ),
  unread('a document that nobody reads, again and again', (target) =>
    request(target, 'GET /openapi.json HTTP/1.1').repeat(20),
  ),
  {
    name: 'more connections than an address may have',
    answer: { status: 503, code: 'service_overloaded', closed: true },
    async perform(target) {
      const connect = () => open(target, { from: '127.0.0.77' });
      // At once: one after the other, the first would have been silent for too long when the last comes on a busy machine.
      const opened = await Promise.all(Array.from({ length: ADDRESS_CONNECTIONS + 1 }, connect));
      // Whichever it is; the others are silent.
      const refused = await Promise.race(opened.map((one) => one.answered().then(() => one)));
      const outcome = await outcomeOf(refused);
      for (const { socket } of opened) socket.destroy();
      return outcome;
    },
  },
  {
    name: 'a thousand connections one after the other',
    answer: { status: 404 },
    async perform(target) {
      let last: ReturnType<typeof readAnswers>[number] | undefined;
      for (let at = 0; at < 1_000; at += 1) {
        const exchange = await open(target, { from: '127.0.0.76' });
        if (at % 100 === 99) {
          exchange.socket.write('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
          await exchange.answered();
          last = readAnswers(exchange.received()).at(-1);
        }
        exchange.socket.destroy();
      }
      return { ...last };
    },
  },
  {
    name: 'more bodies on their way than one caller has room for',
    answer: { status: 503, code: 'service_overloaded' },
    async perform(target) {
      // Of the organization, whose room is another than that of the project that the other cases use.
      const owner = { ...target, token: target.organizationKey };
      const held: Exchange[] = [];
      const refused = Promise.withResolvers<Exchange>();
      for (let at = 0; at < 8; at += 1) {
        const exchange = await open(target);
        held.push(exchange);
        exchange.socket.write(
          `${request(owner, 'POST /v1/organization/projects HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 10000000')}{`,
        );
        void exchange.answered().then(() => refused.resolve(exchange));
      }
      const [answer] = readAnswers((await refused.promise).received());
      for (const { socket } of held) socket.destroy();
      return { ...answer };
    },
  },
  {
    name: 'health six thousand times in a minute',
    answer: { status: 429, code: 'rate_limit_exceeded' },
    perform: (target) => askOften(target, '/healthz', 6_001, '127.0.0.75'),
  },
  {
    name: 'the front page six hundred times in a minute',
    answer: { status: 429, code: 'rate_limit_exceeded' },
    perform: (target) => askOften(target, '/', 601, '127.0.0.74'),
  },
];

/** Asks so often within a minute, over several connections as fast as they are answered, and tells the last answer. */
async function askOften(target: HttpTarget, path: string, times: number, from: string): Promise<HttpOutcome> {
  let left = times - 1;
  const ask = async (count: number): Promise<HttpOutcome> => {
    const exchange = await open(target, { from });
    exchange.socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(count));
    await exchange.answered(count);
    exchange.socket.destroy();
    return { ...readAnswers(exchange.received()).at(-1) };
  };
  while (left > 0) {
    const count = Math.min(AT_ONCE, left);
    left -= count;
    await ask(count);
  }
  return ask(1);
}
