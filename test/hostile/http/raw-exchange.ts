/** Bytes to a server as they stand, and what comes back: for what no HTTP client would send. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { HttpAbuse, HttpOutcome, HttpTarget } from '../cases.ts';

/** A server that has not answered by then never will. */
const TIMEOUT_MS = 60_000;
/** How long a server that ends a connection may take to do so after its answer. */
const CLOSE_MS = 3_000;

export interface Exchange {
  readonly socket: Socket;
  /** Everything that has come so far. */
  received(): string;
  /** Resolves once the server has ended the connection; false when it does not within the time. */
  closed(withinMs?: number): Promise<boolean>;
  /** Resolves once so many answers have begun, or the server has ended the connection. */
  answered(count?: number): Promise<void>;
}

export interface ExchangeOptions {
  /** An address of this machine that is not shared with others, where what is done counts against it. */
  readonly from?: string;
}

export async function open({ host, port }: HttpTarget, { from }: ExchangeOptions = {}): Promise<Exchange> {
  const socket = connect({ host, port, allowHalfOpen: true, ...(from === undefined ? {} : { localAddress: from }) });
  let text = '';
  let isClosed = false;
  let wake = Promise.withResolvers<void>();
  const wakeAll = (): void => {
    wake.resolve();
    wake = Promise.withResolvers();
  };
  const close = (): void => {
    isClosed = true;
    wakeAll();
  };
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    wakeAll();
  });
  socket.on('end', close).on('close', close);
  await once(socket, 'connect');
  // A reset is one way to end a connection.
  socket.on('error', close);
  const until = async (isDone: () => boolean, withinMs: number): Promise<boolean> => {
    const late = setTimeout(wakeAll, withinMs);
    const deadlineMs = performance.now() + withinMs;
    while (!isDone() && performance.now() < deadlineMs) await wake.promise;
    clearTimeout(late);
    return isDone();
  };
  return {
    socket,
    received: () => text,
    closed: (withinMs = CLOSE_MS) => until(() => isClosed, withinMs),
    answered: async (count = 1) => void (await until(() => isClosed || readAnswers(text).length >= count, TIMEOUT_MS)),
  };
}

/** The whole answers at the beginning of a text. Interim ones (100) do not count. */
export function readAnswers(text: string): { status: number; code: string | undefined }[] {
  const answers: { status: number; code: string | undefined }[] = [];
  for (let at = 0; ; ) {
    const head = /^HTTP\/1\.[01] (\d{3})[^\r]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(text.slice(at, at + 32_768));
    if (head === null) return answers;
    const [whole, status, headers = ''] = head;
    const length = Number(/^content-length: (\d+)$/im.exec(headers)?.[1] ?? 0);
    const body = text.slice(at + whole.length, at + whole.length + length);
    if (body.length < length) return answers;
    at += whole.length + length;
    if (status?.startsWith('1') === true) continue;
    answers.push({ status: Number(status), code: /"code":"(\w+)"/.exec(body)?.[1] });
  }
}

/** The outcome of what has been exchanged, by its last answer; the connection is given up. */
export async function outcomeOf(exchange: Exchange): Promise<HttpOutcome> {
  await exchange.answered();
  const closed = await exchange.closed();
  exchange.socket.destroy();
  return { ...readAnswers(exchange.received()).at(-1), closed };
}

/** A request's text: `Host` and the token are added, and the end of the headers. */
export function request({ host, port, token }: HttpTarget, first: string, ...lines: readonly string[]): string {
  return `${[first, `Host: ${host}:${port}`, `Authorization: Bearer ${token}`, ...lines].join('\r\n')}\r\n\r\n`;
}

/** A request with a body of JSON, each character of it a byte. */
export function jsonRequest(target: HttpTarget, path: string, body: string, ...lines: readonly string[]): string {
  const length = `Content-Length: ${body.length}`;
  return request(target, `POST ${path} HTTP/1.1`, 'Content-Type: application/json', length, ...lines) + body;
}

/** An abuse that is bytes to send and an answer to get. */
export function sending(
  name: string,
  bytes: (target: HttpTarget) => string | Uint8Array,
  answer: HttpAbuse['answer'],
  options: ExchangeOptions = {},
): HttpAbuse {
  return {
    name,
    answer,
    async perform(target) {
      const exchange = await open(target, options);
      exchange.socket.write(bytes(target), 'latin1');
      await exchange.answered();
      if (answer.closed === true) return outcomeOf(exchange);
      exchange.socket.destroy();
      return { ...readAnswers(exchange.received()).at(-1) };
    },
  };
}
