/**
 * A model provider in a process of its own that costs next to nothing: an OpenAI-compatible server whose answers are
 * rendered before the first request.
 *
 *     node serve.ts PORT
 *
 * `POST /v1/chat/completions` answers 200 tokens, with `stream` as chunks: those of `small` at once, those of `paced` at
 * 100 a second. `POST /v1/embeddings` answers a vector for each input. `GET /ok` tells that it serves.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { PACED_MODEL, renderChunks, renderCompletion, TOKENS_PER_SECOND } from './completion.ts';
import { createVectors, renderEmbeddings } from './embeddings.ts';

const HOST = '127.0.0.1';
const KEEP_ALIVE_MS = 120_000;

const completion = Buffer.from(renderCompletion());
const chunks = renderChunks().map((chunk) => Buffer.from(chunk));
const stream = Buffer.concat(chunks);
const nextVector = createVectors();

interface Question {
  readonly model: string;
  readonly stream?: boolean | null;
  readonly input?: string | readonly string[];
}

function answer(path: string, question: Question, response: ServerResponse): void {
  switch (path) {
    case '/v1/chat/completions':
      if (question.stream !== true) sendJson(response, completion);
      else sendStream(response, question.model === PACED_MODEL);
      return;
    case '/v1/embeddings': {
      const inputs = typeof question.input === 'string' ? [question.input] : (question.input ?? []);
      sendJson(response, Buffer.from(renderEmbeddings(question.model, inputs, nextVector)));
      return;
    }
    case '/ok':
      sendJson(response, Buffer.from('{}'));
      return;
    default:
      response.writeHead(404).end();
  }
}

function sendJson(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}

function sendStream(response: ServerResponse, paced: boolean): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  if (!paced) {
    response.end(stream);
    return;
  }
  const startedAt = performance.now();
  let sent = 0;
  // By the clock rather than by counting ticks: a late tick must not slow the stream.
  const timer = setInterval(() => {
    const due = Math.min(chunks.length, 1 + Math.floor(((performance.now() - startedAt) / 1000) * TOKENS_PER_SECOND));
    response.write(Buffer.concat(chunks.slice(sent, due)));
    sent = due;
    if (sent < chunks.length) return;
    clearInterval(timer);
    response.end();
  }, 1000 / TOKENS_PER_SECOND);
  response.once('close', () => clearInterval(timer));
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    try {
      const body = Buffer.concat(pieces).toString('utf8');
      answer(request.url ?? '', body === '' ? { model: '' } : JSON.parse(body), response);
    } catch (error) {
      response.writeHead(400).end(String(error));
    }
  });
}

const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, serve);
server.listen(Number(process.argv[2]), HOST);
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
