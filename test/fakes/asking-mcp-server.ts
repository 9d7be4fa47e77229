/**
 * An MCP server on loopback, of the revision 2025-11-25 over streamable HTTP, whose one tool `ask` asks a person `times`
 * questions (once where it is not said) before it gives its result: the answers. Written from the specification; with
 * `eventIds` its streams can be read on by `Last-Event-ID`, else they are all there is.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Json = Record<string, unknown>;

/** A call of `ask`, and what became of it. */
export interface AskedCall {
  readonly session: string;
  readonly args: Json;
  /** Every answer as it came, those to no open question too. */
  readonly answers: { readonly question: string; readonly result: Json }[];
  /** How often its stream was read on. */
  resumed: number;
  /** The server was told that nobody waits for it. */
  cancelled: boolean;
  /** Nobody reads its stream. */
  readonly isLetGo: boolean;
  /** Ends it with this result, whatever it asks. */
  end(text: string): void;
}

export interface AskingServer {
  readonly url: string;
  readonly calls: AskedCall[];
  /** Sessions that were ended by a client. */
  readonly endedSessions: string[];
  /** `authorization` of each request, in order. */
  readonly authorizations: (string | undefined)[];
  /** Answers are kept, and nothing follows from them until this is false. */
  isSlow: boolean;
  forgetSessions(): void;
  close(): Promise<void>;
}

class Call implements AskedCall {
  readonly session: string;
  readonly requestId: unknown;
  readonly args: Json;
  readonly answers: { question: string; result: Json }[] = [];
  resumed = 0;
  cancelled = false;
  readonly #number: number;
  readonly #hasIds: boolean;
  readonly #events: string[] = [];
  #asked = 0;
  #reader: ServerResponse | undefined;
  #isDone = false;

  constructor(session: string, { id, params }: Json, number: number, hasIds: boolean) {
    this.session = session;
    this.requestId = id;
    this.args = ((params as Json).arguments ?? {}) as Json;
    this.#number = number;
    this.#hasIds = hasIds;
  }

  get isLetGo(): boolean {
    return this.#reader === undefined;
  }

  /** Gives the reader what came behind this event, and what comes. */
  read(response: ServerResponse, after: number): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    this.#reader = response;
    response.on('close', () => {
      if (this.#reader === response) this.#reader = undefined;
    });
    if (after === 0 && this.#hasIds) response.write(`id: ${this.#number}-0\ndata: \n\n`);
    for (let index = after; index < this.#events.length; index += 1) this.#write(index);
    this.#endReader();
  }

  ask(): void {
    this.#asked += 1;
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    const params = { mode: 'form', message: `Name ${this.#asked}?`, requestedSchema };
    this.#send({ id: this.#question, method: 'elicitation/create', params });
  }

  take(question: string, result: Json, isSlow: boolean): void {
    this.answers.push({ question, result });
    if (!isSlow && question === this.#question && !this.#isDone) this.goOn();
  }

  goOn(): void {
    if (this.#asked < Number(this.args.times ?? 1)) this.ask();
    else this.end(JSON.stringify(this.answers.map(({ result }) => result)));
  }

  end(text: string): void {
    this.#isDone = true;
    this.#send({ id: this.requestId, result: { content: [{ type: 'text', text }] } });
    this.#endReader();
  }

  owns(question: string): boolean {
    return question.startsWith(`q${this.#number}-`);
  }

  get number(): number {
    return this.#number;
  }

  get #question(): string {
    return `q${this.#number}-${this.#asked}`;
  }

  #send(message: Json): void {
    this.#events.push(JSON.stringify({ jsonrpc: '2.0', ...message }));
    this.#write(this.#events.length - 1);
  }

  #write(index: number): void {
    const id = this.#hasIds ? `id: ${this.#number}-${index + 1}\n` : '';
    this.#reader?.write(`event: message\n${id}data: ${this.#events[index]}\n\n`);
  }

  #endReader(): void {
    if (this.#isDone) this.#reader?.end();
  }
}

/** Sessions of one are unknown to the others. */
let started = 0;

export async function startAskingServer({ eventIds }: { readonly eventIds: boolean }): Promise<AskingServer> {
  started += 1;
  const number = started;
  const calls: Call[] = [];
  const endedSessions: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sessions = new Set<string>();
  let isSlow = false;
  const http = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const message = (text === '' ? {} : JSON.parse(text)) as Json;
    authorizations.push(request.headers.authorization);
    const session = String(request.headers['mcp-session-id'] ?? '');
    if (message.method === 'initialize') return answerInitialize(response, message);
    if (!sessions.has(session)) return void response.writeHead(404).end();
    if (request.method === 'DELETE') {
      sessions.delete(session);
      endedSessions.push(session);
      return void response.writeHead(200).end();
    }
    if (request.method === 'GET') return readOn(response, String(request.headers['last-event-id'] ?? ''));
    if (message.method === undefined || message.id === undefined) return take(response, session, message);
    if (message.method === 'tools/call') {
      const call = new Call(session, message, calls.length + 1, eventIds);
      calls.push(call);
      call.read(response, 0);
      return call.ask();
    }
    const result = message.method === 'tools/list' ? { tools: [{ name: 'ask', inputSchema: { type: 'object' } }] } : {};
    answer(response, message.id, result);
  }

  function answerInitialize(response: ServerResponse, { id }: Json): void {
    const session = `session-${number}-${sessions.size + endedSessions.length + 1}`;
    sessions.add(session);
    response.setHeader('mcp-session-id', session);
    const serverInfo = { name: 'asking', version: '1' };
    answer(response, id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo });
  }

  function answer(response: ServerResponse, id: unknown, result: Json): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  }

  function readOn(response: ServerResponse, lastEventId: string): void {
    const [number, index] = lastEventId.split('-').map(Number);
    const call = eventIds ? calls.find((each) => each.number === number) : undefined;
    if (call === undefined) return void response.writeHead(405).end();
    call.resumed += 1;
    call.read(response, index ?? 0);
  }

  /** Notifications, and answers to questions. */
  function take(response: ServerResponse, session: string, { id, method, params, result }: Json): void {
    response.writeHead(202).end();
    if (method === 'notifications/cancelled') {
      const { requestId } = params as Json;
      const call = calls.find((each) => each.session === session && each.requestId === requestId);
      if (call !== undefined) call.cancelled = true;
    } else if (id !== undefined) {
      calls.find((each) => each.owns(String(id)))?.take(String(id), result as Json, isSlow);
    }
  }

  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    calls,
    endedSessions,
    authorizations,
    get isSlow() {
      return isSlow;
    },
    set isSlow(slow) {
      isSlow = slow;
      if (!slow) for (const call of calls) if (call.answers.length > 0) call.goOn();
    },
    forgetSessions: () => sessions.clear(),
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}
