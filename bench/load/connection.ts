import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { HttpRequest } from './jobs.ts';
import { ResponseReader } from './response-reader.ts';

/** Longer than any answer takes: a server that never answers must not hang the benchmark. */
const IDLE_TIMEOUT_MS = 60_000;

interface Exchange {
  readonly onBody: (piece: Buffer) => void;
  readonly onEnd: (status: number) => void;
  readonly onError: (error: Error) => void;
}

/** A keep-alive connection that carries one request at a time, and is opened again when the server has closed it. */
export class Connection {
  readonly #host: string;
  readonly #port: number;
  #socket: Socket | undefined;
  #exchange: Exchange | undefined;

  constructor(host: string, port: number) {
    this.#host = host;
    this.#port = port;
  }

  /** Resolves with the status when the answer is whole. `onBody` sees the pieces as they arrive. */
  async send(request: Buffer, onBody: (piece: Buffer) => void): Promise<number> {
    const socket = await this.open();
    return await new Promise((resolve, reject) => {
      this.#exchange = { onBody, onEnd: resolve, onError: reject };
      socket.write(request);
    });
  }

  close(): void {
    this.#exchange = undefined;
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  /** Connects unless connected: callers that time requests do this first. */
  async open(): Promise<Socket> {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect({ host: this.#host, port: this.#port, noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    const reader = new ResponseReader(
      (piece) => this.#exchange?.onBody(piece),
      (status) => this.#settle((exchange) => exchange.onEnd(status)),
    );
    const lose = (error: Error) => {
      this.#socket = undefined;
      socket.destroy();
      this.#settle((exchange) => exchange.onError(error));
    };
    socket.removeAllListeners('error');
    socket.on('data', (bytes: Buffer) => reader.feed(bytes));
    socket.on('error', lose);
    socket.on('end', () => lose(new Error('the server closed the connection before the answer was whole')));
    socket.setTimeout(IDLE_TIMEOUT_MS, () => lose(new Error(`no byte for ${IDLE_TIMEOUT_MS / 1000} seconds`)));
    this.#socket = socket;
    return socket;
  }

  #settle(tell: (exchange: Exchange) => void): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (exchange !== undefined) tell(exchange);
  }
}

const FRESH_UUID = '{uuid}';
const CARRIED = '{carried}';

/** Gives the bytes of the request, each time it is called; `carried` is what of the answer before goes into it. */
export function prepareRequest(request: HttpRequest, host: string, port: number): (carried?: string) => Buffer {
  const { method, path, headers, body = '' } = request;
  const type = 'content-type' in headers ? [] : ['content-type: application/json'];
  const render = (target: string, rendered: string): Buffer => {
    const lines = [
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      `host: ${host}:${port}`,
      ...(rendered === '' ? [] : [...type, `content-length: ${Buffer.byteLength(rendered)}`]),
    ];
    return Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${rendered}`);
  };
  if (!`${path}${body}`.includes(FRESH_UUID) && !body.includes(CARRIED)) {
    const same = render(path, body);
    return () => same;
  }
  return (carried = '') => {
    const fresh = randomUUID();
    return render(path.replace(FRESH_UUID, fresh), body.replace(FRESH_UUID, fresh).replace(CARRIED, carried));
  };
}
