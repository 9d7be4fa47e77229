/**
 * The way to a running server that holds the embedded database, for the operator's verbs: HTTP over a Unix domain socket in
 * the data folder. Write access to the socket makes the operator: it is for its owner alone (mode 0600), and there is no
 * port. `POST /<service>/<verb>` with the request as JSON answers 200 with the verb's answer, or `{message}`.
 */
import { once } from 'node:events';
import { lstat, unlink } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { nodeHttp } from '../http/node-http.ts';
import type { Logger } from '../log/log.ts';
import { matchesSchema, type OperatedService, OperatorError } from './verbs.ts';

const SOCKET_FILE = 'operator.sock';
/** A socket's address holds 108 bytes on Linux and 104 elsewhere, the last of them zero. */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103;
const MAX_BODY_BYTES = 65_536;
/** Files that are made meanwhile are for their owner alone. */
const OWNER_ONLY = 0o177;

export interface OperatorSocketOptions {
  /** Of `operatorSocketPath`. */
  readonly path: string;
  readonly logger: Logger;
  readonly services: readonly OperatedService[];
}

export interface OperatorSocket {
  /** False: it could not be opened, and the log says why. The server does without it. */
  readonly isListening: boolean;
  close(): Promise<void>;
}

export function operatorSocketPath(dataDir: string): string {
  return join(dataDir, SOCKET_FILE);
}

/** Throws OperatorError for a path that no socket can have. */
export function checkSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_PATH_BYTES) return;
  throw new OperatorError(
    `The path ${path} has ${bytes} bytes, and a socket’s has at most ${MAX_PATH_BYTES}: choose a data folder with a shorter path (IRONCRAFT_DATA_DIR), or stop the server to use this command.`,
  );
}

/** Call it only where this process holds the data folder's lock: a socket that nobody answers on is replaced. */
export async function startOperatorSocket({ path, logger, services }: OperatorSocketOptions): Promise<OperatorSocket> {
  const server = nodeHttp.createServer((request, response) => {
    answer(services, request, response).catch((error: unknown) => {
      logger.error({ err: error }, 'an operator’s command failed');
      send(response, 500, { message: 'The server failed at this command; its log says why.' });
    });
  });
  try {
    checkSocketPath(path);
    await listen(server, path);
  } catch (error) {
    logger.warn({ err: error, path }, 'operator commands cannot reach this server: stop it to use them');
    return { isListening: false, close: async () => undefined };
  }
  return {
    isListening: true,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listen(server: Server, path: string): Promise<void> {
  try {
    await listenOnce(server, path);
  } catch (error) {
    if (!isCode(error, 'EADDRINUSE') || !(await isAbandoned(path))) throw error;
    await unlink(path);
    await listenOnce(server, path);
  }
}

async function listenOnce(server: Server, path: string): Promise<void> {
  // The file is made before `listen` returns, so that it never has another mode.
  const mask = process.umask(OWNER_ONLY);
  try {
    server.listen(path);
  } finally {
    process.umask(mask);
  }
  await once(server, 'listening');
}

/** Whether the file is a socket whose process is gone: one that was killed leaves it behind. */
async function isAbandoned(path: string): Promise<boolean> {
  if (!(await lstat(path)).isSocket()) return false;
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return false;
  } catch (error) {
    return isCode(error, 'ECONNREFUSED');
  } finally {
    socket.destroy();
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

async function answer(
  services: readonly OperatedService[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [, service, verb = ''] = (request.url ?? '').split('/');
  const operated = services.find((one) => one.service === service);
  if (operated === undefined && service !== undefined) {
    return send(response, 404, {
      message: `This command is for the service “${service}”, which the running server was told to leave out (serve --only). Stop it, run this again, and start it.`,
    });
  }
  const schemas = operated !== undefined && Object.hasOwn(operated.verbs, verb) ? operated.verbs[verb] : undefined;
  const handler = operated?.handlers[verb];
  if (request.method !== 'POST' || schemas === undefined || handler === undefined) {
    return send(response, 404, { message: 'The server does not know this command: it is of another version.' });
  }
  const body = await readJson(request);
  if (!matchesSchema(schemas.request, body)) {
    return send(response, 400, { message: 'The server does not understand this command: it is of another version.' });
  }
  try {
    send(response, 200, (await handler(body as never)) as object);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    send(response, 422, { message: error.message });
  }
}

/** Undefined: no JSON, or too much of it. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify(body));
}
