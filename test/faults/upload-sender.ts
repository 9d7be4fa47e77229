/** Uploads to a server process over sockets of their own, which may break off or be refused at any byte. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { makeFolder, openGivenStore, type ServerProcess, startServer } from '../boot/server-process.ts';
import { type Client, createClient } from '../support/platform.ts';
import type { Cleanup } from './fleet.ts';

export const MIB = 1024 * 1024;
const CHUNK = Buffer.alloc(256 * 1024, 'x');
export const FORM_HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="large.bin"\r\n\r\n';
const FORM_TAIL = '\r\n--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nevals\r\n--b--\r\n';
/** The folder store keeps unfinished uploads here. */
const UNFINISHED = 'uploads';
const SHED_PAUSE_MS = 500;

/** Whether the sender says how long its upload is, or sends it in chunks. */
export type Length = 'announced' | 'unannounced';

export interface Sent {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into bodies of every shape.
  readonly body: any;
  readonly sentBytes: number;
}

/** One server, and whoever uploads to it. */
export class UploadSender {
  readonly server: ServerProcess;
  readonly tenant: Client;

  constructor(server: ServerProcess) {
    this.server = server;
    this.tenant = createClient(server.url, server.credentials.tenant_token);
  }

  /** `limitBytes` is the largest file that the server takes. */
  static async start(t: Cleanup, limitBytes: number): Promise<UploadSender> {
    const variables = { ...(await openGivenStore(t)), IRONCRAFT_FILE_LIMIT_BYTES: String(limitBytes) };
    return new UploadSender(await startServer(t, await makeFolder(t), variables, { only: 'platform' }));
  }

  /** Sends a file of this size until the answer comes, and on no longer. Again where the server sheds load, as a client does. */
  async sendFile(bytes: number, length: Length): Promise<Sent> {
    for (;;) {
      const sent = await this.#sendOnce(bytes, length);
      if (sent.body?.error?.code !== 'service_overloaded') return sent;
      await wait(SHED_PAUSE_MS);
    }
  }

  async #sendOnce(bytes: number, length: Length): Promise<Sent> {
    const socket = await this.open();
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
    });
    const total = FORM_HEAD.length + bytes + FORM_TAIL.length;
    socket.write(this.requestHead(length === 'announced' ? `Content-Length: ${total}` : 'Transfer-Encoding: chunked'));
    write(socket, FORM_HEAD, length);
    const sentBytes = await sendUntil(socket, bytes, length, () => received !== '');
    if (sentBytes === bytes) {
      write(socket, FORM_TAIL, length);
      if (length === 'unannounced') socket.write('0\r\n\r\n');
    }
    await until(() => wholeBody(received) !== undefined);
    socket.destroy();
    const status = Number(received.split(' ')[1]);
    return { status, body: JSON.parse(wholeBody(received) ?? 'null'), sentBytes };
  }

  async open(): Promise<Socket> {
    const { hostname, port } = new URL(this.server.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }

  requestHead(length: string): string {
    return `POST /v1/files HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=b\r\n${length}\r\n${this.headers()}\r\n`;
  }

  /** That every request has. */
  headers(): string {
    return `Host: localhost\r\nAuthorization: Bearer ${this.tenant.token}\r\n`;
  }

  #blobFiles(): string[] {
    const root = join(this.server.dataDir, 'files');
    const isFile = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true;
    return existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(isFile) : [];
  }

  unfinished(): string[] {
    return this.#blobFiles().filter((path) => path.startsWith(UNFINISHED));
  }

  /** Files that were stored before are still there; nothing else is. */
  async assertNothingLeft(): Promise<void> {
    const { data } = (await this.tenant.get('/v1/files?limit=100')).body;
    await until(() => this.#blobFiles().length === data.length);
    assert.equal(this.unfinished().length, 0);
  }
}

export async function sendUntil(socket: Socket, bytes: number, length: Length, stop = () => false): Promise<number> {
  let sent = 0;
  while (sent < bytes && !stop()) {
    const part = CHUNK.subarray(0, Math.min(CHUNK.length, bytes - sent));
    sent += part.length;
    if (!write(socket, part, length)) await drainedOrAnswered(socket);
    else await new Promise((resolve) => setImmediate(resolve));
  }
  return sent;
}

async function drainedOrAnswered(socket: Socket): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(socket, 'drain', { signal }), once(socket, 'data', { signal })]);
  settled.abort();
}

function write(socket: Socket, part: string | Buffer, length: Length): boolean {
  if (length === 'announced') return socket.write(part);
  socket.write(`${part.length.toString(16)}\r\n`);
  socket.write(part);
  return socket.write('\r\n');
}

function wholeBody(received: string): string | undefined {
  const end = received.indexOf('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(received)?.[1];
  if (end < 0 || length === undefined) return undefined;
  const body = received.slice(end + 4);
  return body.length >= Number(length) ? body : undefined;
}

export async function until(done: () => boolean): Promise<void> {
  while (!done()) await wait(5);
}
