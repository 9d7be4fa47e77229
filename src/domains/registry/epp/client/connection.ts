/**
 * One connection to a registry (RFC 5734), logged in:
 *
 *   TLS handshake ─▶ greeting ─▶ login ─▶ open ⇄ one command in flight ─▶ logout ─▶ closed
 *                                           └── cut, timed out, out of step ──────────▲
 *
 * It is never repaired: any violation of the protocol ends it, and the command in flight is then `AnswerLost`.
 */
import { once } from 'node:events';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { setTimer } from '../../../../kernel/clock/timers.ts';
import { mintId } from '../../../../kernel/ids/ids.ts';
import { endsSession, isSuccess } from '../../result-codes.ts';
import { commandElement, type EppCommand, helloElement } from '../commands/command.ts';
import { type Greeting, LANGUAGE, PROTOCOL_VERSION, readGreeting } from '../commands/login.ts';
import { describeLoginEvents, LONGEST_PLAIN_PASSWORD } from '../commands/login-security.ts';
import { requireOwnCode } from '../commands/own-code.ts';
import { type Response, readResponse } from '../commands/response.ts';
import { requireSameObject } from '../commands/same-object.ts';
import { requireChild } from '../commands/values.ts';
import { EppFault } from '../epp-fault.ts';
import { encodeFrame, FrameError, FrameReader } from '../frames.ts';
import { ACCOUNT_URIS, EXTENSION_URIS, LOGIN_SEC, OBJECT_URIS, withOneFee } from '../namespaces.ts';
import { parseXml, XmlError } from '../xml/parse-xml.ts';
import { writeXml } from '../xml/write-xml.ts';
import { AnswerLost, CommandNotSent, UnreadableAnswer } from './errors.ts';

export interface EppEndpoint {
  readonly host: string;
  /** Default 700. */
  readonly port?: number;
  readonly clientId: string;
  /** Read anew at each login where it is a function: it may have been changed. A secret. */
  readonly password: string | (() => Promise<string>);
  /** Extensions to use where the server has them. Default: all that there are codecs for. */
  readonly extensionUris?: readonly string[] | undefined;
  /** The server's certificate is verified, against `ca` where it is given; `key` and `cert` are the client's own. PEM. */
  readonly tls?: Pick<ConnectionOptions, 'ca' | 'key' | 'cert' | 'passphrase' | 'servername'>;
  /** Until the login is done. Default 15,000. */
  readonly connectTimeoutMs?: number;
  /** From a command to its answer. Default 30,000. */
  readonly commandTimeoutMs?: number;
}

/** What both sides understand. */
export interface AgreedServices {
  readonly objectUris: ReadonlySet<string>;
  readonly extensionUris: ReadonlySet<string>;
}

interface Waiting {
  /** With the bytes of a frame. */
  readonly resolve: (frame: Buffer) => void;
  readonly reject: (error: Error) => void;
}

const NOTHING: Buffer = Buffer.alloc(0);

function isUnreadable(error: unknown): error is Error {
  return [EppFault, FrameError, XmlError].some((kind) => error instanceof kind);
}

export class EppConnection {
  readonly #socket: TLSSocket;
  readonly #reader = new FrameReader();
  readonly #commandTimeoutMs: number;
  readonly #closing = new AbortController();
  #waiting: Waiting | undefined;
  #loginEvents: readonly string[] = [];
  #services: AgreedServices = { objectUris: new Set(), extensionUris: new Set() };

  private constructor(socket: TLSSocket, commandTimeoutMs: number) {
    this.#socket = socket;
    this.#commandTimeoutMs = commandTimeoutMs;
    socket.on('data', (piece: Buffer) => this.#receive(piece));
    socket.on('error', (error) => this.cut(error));
    socket.on('close', () => this.cut(new Error('the server closed the connection')));
  }

  /** Connects and logs in, unless aborted, and changes the password where one is given. Throws the obstacle: no command was sent then. */
  static async open(endpoint: EppEndpoint, signal: AbortSignal, newPassword?: string): Promise<EppConnection> {
    const { host, port = 700, tls = {}, connectTimeoutMs = 15_000, commandTimeoutMs = 30_000 } = endpoint;
    const socket = connect({ host, port, minVersion: 'TLSv1.2', ...tls });
    const connection = new EppConnection(socket, commandTimeoutMs);
    // The greeting may come with the last bytes of the handshake, so it is awaited before.
    const greeted = connection.#nextFrame();
    greeted.catch(() => undefined);
    const timer = setTimer(
      () => connection.cut(new Error(`no session within ${connectTimeoutMs} ms`)),
      connectTimeoutMs,
    );
    const abort = () => connection.cut(new Error('the client is stopping'));
    signal.addEventListener('abort', abort);
    try {
      const greeting = readGreeting(requireChild(parseXml(await greeted), 'greeting'));
      await connection.#logIn(endpoint, greeting, newPassword);
      return connection;
    } catch (error) {
      connection.cut(error instanceof Error ? error : new Error(String(error)));
      throw error;
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', abort);
    }
  }

  /** What the server said at login that an operator should know. */
  get loginEvents(): readonly string[] {
    return this.#loginEvents;
  }

  get services(): AgreedServices {
    return this.#services;
  }

  /** Aborted when the connection is over. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** One at a time. Throws `CommandNotSent` or `AnswerLost`; the connection is over after the latter. */
  async exchange(command: EppCommand, clTRID: string): Promise<Response> {
    const frame = encodeFrame(writeXml(commandElement(command, clTRID)));
    if (this.closed.aborted) throw new CommandNotSent('the connection is closed', this.closed.reason);
    let bytes = NOTHING;
    try {
      bytes = await this.#send(frame);
      const response = readResponse(parseXml(bytes));
      // A server that could not read the id leaves it out.
      if (response.clTRID !== undefined && response.clTRID !== clTRID) {
        throw new Error(`the answer is to ${response.clTRID}`);
      }
      requireOwnCode(command, response.code);
      requireSameObject(command, response);
      if (endsSession(response.code)) this.cut(new Error(`the server ended the session with ${response.code}`));
      return response;
    } catch (error) {
      this.cut(error instanceof Error ? error : new Error(String(error)));
      if (isUnreadable(error)) throw new UnreadableAnswer(clTRID, error, bytes);
      throw new AnswerLost(clTRID, error instanceof Error ? error.message : String(error), error);
    }
  }

  /** Keeps an idle connection from being cut. Ends the connection when there is no answer. */
  async hello(): Promise<void> {
    try {
      requireChild(parseXml(await this.#send(encodeFrame(writeXml(helloElement())))), 'greeting');
    } catch (error) {
      this.cut(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Logs out if the connection is open, and closes it. Never throws. */
  async close(): Promise<void> {
    if (!this.closed.aborted) await this.exchange({ kind: 'logout' }, mintId('epp')).catch(() => undefined);
    this.cut(new Error('closed'));
    if (!this.#socket.closed) await once(this.#socket, 'close');
  }

  async #logIn(endpoint: EppEndpoint, greeting: Greeting, newPassword: string | undefined): Promise<void> {
    const { clientId } = endpoint;
    const password = typeof endpoint.password === 'string' ? endpoint.password : await endpoint.password();
    if (!greeting.versions.includes(PROTOCOL_VERSION)) throw new Error('the server does not speak EPP 1.0');
    const objectUris = [...OBJECT_URIS, ...ACCOUNT_URIS].filter((uri) => greeting.objectUris.includes(uri));
    const extensionUris = withOneFee(
      (endpoint.extensionUris ?? EXTENSION_URIS).filter((uri) => greeting.extensionUris.includes(uri)),
    );
    const isLong = [password, newPassword ?? ''].some((each) => each.length > LONGEST_PLAIN_PASSWORD);
    if (isLong && !extensionUris.includes(LOGIN_SEC)) {
      throw new Error(
        `a password has more than ${LONGEST_PLAIN_PASSWORD} characters, and the server does not take such (RFC 8807)`,
      );
    }
    const language = greeting.languages.includes(LANGUAGE) ? LANGUAGE : (greeting.languages[0] ?? LANGUAGE);
    const response = await this.exchange(
      {
        kind: 'login',
        clientId,
        password,
        newPassword,
        version: PROTOCOL_VERSION,
        language,
        objectUris,
        extensionUris,
      },
      mintId('epp'),
    );
    if (!isSuccess(response.code)) {
      const reason = response.reason === undefined ? '' : ` (${response.reason})`;
      throw new Error(`the login was refused with ${response.code}: ${response.message}${reason}`);
    }
    this.#loginEvents = describeLoginEvents(response.extensions);
    this.#services = { objectUris: new Set(objectUris), extensionUris: new Set(extensionUris) };
  }

  async #send(frame: Buffer): Promise<Buffer> {
    const answer = this.#nextFrame();
    const timer = setTimer(() => {
      this.cut(new Error(`nothing came within ${this.#commandTimeoutMs} ms`));
    }, this.#commandTimeoutMs);
    this.#socket.write(frame);
    try {
      return await answer;
    } finally {
      timer.cancel();
    }
  }

  #nextFrame(): Promise<Buffer> {
    if (this.#waiting !== undefined) throw new Error('a command is in flight already');
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  #receive(piece: Buffer): void {
    try {
      for (const frame of this.#reader.push(piece)) {
        if (this.#waiting === undefined) throw new Error('the server sent an answer without a command');
        this.#waiting.resolve(frame);
        this.#waiting = undefined;
      }
    } catch (error) {
      this.cut(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Ends the connection here and now: the command in flight is `AnswerLost`. */
  cut(reason: Error): void {
    if (this.closed.aborted) return;
    this.#closing.abort(reason);
    this.#waiting?.reject(reason);
    this.#waiting = undefined;
    this.#socket.destroy();
  }
}
