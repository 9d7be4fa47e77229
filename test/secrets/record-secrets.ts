/**
 * Loaded before everything else (`node --import`) into each process of the tests: notes the secrets that its HTTP servers are sent
 * and send, the product's and those that tests put beside it, so that logs can be searched for them. The folder is
 * `TEST_LOG_FOLDER`.
 */
import { appendFileSync } from 'node:fs';
import { IncomingMessage, Server, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { secretsOfBody, secretsOfHeaders, secretsOfUrl } from './secrets-of-exchange.ts';

/** Of one body; what is longer is a file or a stream of text. */
const MAX_BODY_BYTES = 262_144;

const folder = process.env.TEST_LOG_FOLDER;
const noted = new Set<string>();

function note(secrets: ReadonlyMap<string, string>): void {
  if (folder === undefined) return;
  for (const [secret, name] of secrets) {
    if (noted.has(secret)) continue;
    noted.add(secret);
    appendFileSync(join(folder, `${process.pid}.secrets`), `${JSON.stringify([name, secret])}\n`);
  }
}

/** Calls back with the whole body once the last of it has passed, unless it is too long. */
function gather(type: () => string, path: string): (chunk: unknown, isLast: boolean) => void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return (chunk, isLast) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) {
      const data = Buffer.from(chunk);
      bytes += data.byteLength;
      if (bytes <= MAX_BODY_BYTES) chunks.push(data);
    }
    if (isLast && bytes > 0 && bytes <= MAX_BODY_BYTES) {
      note(secretsOfBody(Buffer.concat(chunks).toString('utf8'), type(), path));
    }
  };
}

function watchRequest(request: IncomingMessage): void {
  const path = request.url ?? '';
  note(secretsOfHeaders(request.headers));
  note(secretsOfUrl(path));
  const pass = gather(() => request.headers['content-type'] ?? '', path);
  const push = request.push;
  request.push = function watchedPush(this: IncomingMessage, chunk: unknown, encoding?: BufferEncoding): boolean {
    pass(chunk, chunk === null);
    return push.call(this, chunk, encoding);
  };
}

function watchResponse(response: ServerResponse, path: string): void {
  const pass = gather(() => String(response.getHeader('content-type') ?? ''), path);
  const { write, end } = response;
  response.write = function watchedWrite(this: ServerResponse, ...args: unknown[]): boolean {
    pass(args[0], false);
    return Reflect.apply(write, this, args);
  };
  response.end = function watchedEnd(this: ServerResponse, ...args: unknown[]): ServerResponse {
    pass(args[0], true);
    const location = response.getHeader('location');
    if (typeof location === 'string') note(secretsOfUrl(location));
    return Reflect.apply(end, this, args);
  };
}

const emit = Server.prototype.emit;
Server.prototype.emit = function watchedEmit(this: Server, event: string | symbol, ...args: unknown[]): boolean {
  const [request, response] = args;
  if (event === 'request' && request instanceof IncomingMessage && response instanceof ServerResponse) {
    watchRequest(request);
    watchResponse(response, request.url ?? '');
  }
  return Reflect.apply(emit, this, [event, ...args]);
};
