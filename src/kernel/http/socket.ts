/**
 * A WebSocket as a session sees it: messages in, messages out, neither faster than the other side takes them. The kernel
 * owns the connection: its limits, its pings, its end.
 */
import type { RawData, WebSocket } from 'ws';
import { type RestartableTimer, setTicker, setTimer, type Timer } from '../clock/timers.ts';
import { noteActivity } from '../event-loop/activity.ts';

/** What an operation says of its connections. */
export interface SocketRules {
  /** Origins whose pages may connect. Default: any, as no cookie speaks for anybody here. Programs that send none always may. */
  readonly origins?: readonly string[];
  /** Subprotocols in the order of preference; the first that the client offers is chosen. */
  readonly protocols?: readonly string[];
  /** A longer message ends the connection (1009). Default 1 MiB. */
  readonly maxMessageBytes?: number;
  /** Silence of both sides after which the connection is closed (1001). Default 5 minutes. */
  readonly idleTimeoutMs?: number;
  /** How often the client must show that it is there; one that misses a ping is cut off. Default 30 seconds. */
  readonly pingMs?: number;
}

export const DEFAULT_MAX_MESSAGE_BYTES = 1024 * 1024;
const DEFAULT_IDLE_TIMEOUT_MS = 5 * 60_000;
const DEFAULT_PING_MS = 30_000;
/** What may wait to be sent before the session is asked to wait. */
const MAX_BACKLOG_BYTES = 256 * 1024;
/** What may wait to be read before the client is. */
const MAX_UNREAD_MESSAGES = 16;
/** How long a client may take to answer a close. */
const CLOSE_TIMEOUT_MS = 1_000;

const CLOSED_NORMALLY = 1000;
export const GOING_AWAY = 1001;
export const INTERNAL_ERROR = 1011;

/** Uses the connection until it is done with it; the kernel then closes it. A rejection is logged and closes with 1011. */
export type SocketSession = (socket: MessageSocket) => Promise<void>;

export interface MessageSocket {
  /** The subprotocol that was agreed on; empty for none. */
  readonly protocol: string;
  /** Text messages as strings, binary ones as bytes. Ends when the connection does, whoever ended it. Read it once. */
  readonly messages: AsyncIterable<string | Buffer>;
  /** False: the client is behind, stop until `drained`. What is sent after the end is dropped. */
  send(message: string | Uint8Array): boolean;
  /** Resolves when the client has caught up or gone. */
  drained(): Promise<void>;
  /** `code` as RFC 6455, section 7.4, has them; `reason` at most 123 bytes. */
  close(code?: number, reason?: string): void;
  /** Fires when the connection ends. */
  readonly closed: AbortSignal;
}

export class SocketConnection implements MessageSocket {
  readonly #socket: WebSocket;
  readonly #abort = new AbortController();
  readonly #unread: (string | Buffer)[] = [];
  readonly #idleTimer: RestartableTimer;
  readonly #pingTimer: Timer;
  /** Wakes whoever waits for a message or for room. */
  #wake: (() => void)[] = [];
  #isAlive = true;

  constructor(socket: WebSocket, rules: SocketRules) {
    this.#socket = socket;
    const idleTimeoutMs = rules.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
    this.#idleTimer = setTimer(() => this.close(GOING_AWAY, 'idle'), idleTimeoutMs);
    this.#pingTimer = setTicker(() => this.#ping(), rules.pingMs ?? DEFAULT_PING_MS);
    socket.on('message', (data, isBinary) => {
      noteActivity();
      this.#receive(data, isBinary);
    });
    socket.on('pong', () => {
      this.#isAlive = true;
    });
    // A message that breaks a rule ends the connection, with the code that says which.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#idleTimer.cancel();
      this.#pingTimer.cancel();
      this.#abort.abort();
      this.#wakeAll();
    });
  }

  get protocol(): string {
    return this.#socket.protocol;
  }

  get closed(): AbortSignal {
    return this.#abort.signal;
  }

  get messages(): AsyncIterable<string | Buffer> {
    return this.#read();
  }

  send(message: string | Uint8Array): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return false;
    this.#idleTimer.restart();
    this.#socket.send(message, () => this.#wakeAll());
    return this.#socket.bufferedAmount <= MAX_BACKLOG_BYTES;
  }

  async drained(): Promise<void> {
    while (this.#isOpen() && this.#socket.bufferedAmount > MAX_BACKLOG_BYTES) await this.#nextWake();
  }

  close(code: number = CLOSED_NORMALLY, reason = ''): void {
    // Its answer is read even where the session reads no more.
    this.#socket.resume();
    this.#socket.close(code, reason);
    const timer = setTimer(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS);
    this.#abort.signal.addEventListener('abort', () => timer.cancel(), { once: true });
    if (this.#abort.signal.aborted) timer.cancel();
  }

  /** Resolves when the connection is over. */
  async ended(): Promise<void> {
    while (this.#isOpen()) await this.#nextWake();
  }

  async *#read(): AsyncGenerator<string | Buffer> {
    for (;;) {
      const message = this.#unread.shift();
      if (message !== undefined) {
        if (this.#unread.length === 0) this.#socket.resume();
        yield message;
      } else if (this.#isOpen()) await this.#nextWake();
      else return;
    }
  }

  #receive(data: RawData, isBinary: boolean): void {
    this.#isAlive = true;
    this.#idleTimer.restart();
    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
    this.#unread.push(isBinary ? bytes : bytes.toString('utf8'));
    if (this.#unread.length >= MAX_UNREAD_MESSAGES) this.#socket.pause();
    this.#wakeAll();
  }

  #ping(): void {
    // Held back by ourselves: its answer may lie behind what is not read.
    if (this.#socket.isPaused) return;
    if (this.#isAlive) this.#socket.ping();
    else this.#socket.terminate();
    this.#isAlive = false;
  }

  #isOpen(): boolean {
    return !this.#abort.signal.aborted;
  }

  #nextWake(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  #wakeAll(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}
