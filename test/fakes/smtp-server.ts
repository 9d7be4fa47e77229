/** A mail server on loopback (RFC 5321) that keeps what it is sent. Plain sockets; what goes wrong is scripted. */
import { createServer, type Server, type Socket } from 'node:net';

export interface ReceivedMessage {
  readonly from: string;
  readonly to: readonly string[];
  /** As it was sent, dots unstuffed, lines ended by `\r\n`. */
  readonly content: string;
  /** Of AUTH PLAIN; undefined: the client did not log in. */
  readonly login: { readonly user: string; readonly password: string } | undefined;
}

/**
 * `refuse login`: 535. `refuse recipient`: 550. `later`: 451 for it. `refuse message`: 554 after its content. `cut`: the connection ends
 * instead of an answer to it. `garbage`: no SMTP instead of that answer.
 */
export type SmtpFault = 'refuse login' | 'refuse recipient' | 'later' | 'refuse message' | 'cut' | 'garbage';

export interface SmtpServer {
  readonly port: number;
  readonly messages: readonly ReceivedMessage[];
  /** Those whose sender was told nothing: `cut`. */
  readonly cut: readonly ReceivedMessage[];
  /** What goes wrong with the next message. */
  fail(fault: SmtpFault): void;
  /** What goes wrong with each message that `fail` says nothing of. */
  misbehave(how: () => Exclude<SmtpFault, 'refuse login'> | undefined): void;
  close(): Promise<void>;
}

export interface SmtpServerOptions {
  /** Takes mail only after AUTH PLAIN. */
  readonly requireLogin?: boolean;
}

export async function startSmtpServer(options: SmtpServerOptions = {}): Promise<SmtpServer> {
  const messages: ReceivedMessage[] = [];
  const cut: ReceivedMessage[] = [];
  const sockets = new Set<Socket>();
  let fault: SmtpFault | undefined;
  let misbehaviour: Parameters<SmtpServer['misbehave']>[0] = () => undefined;
  const takeFault = (isLogin: boolean): SmtpFault | undefined => {
    if (fault === undefined && !isLogin) return misbehaviour();
    if (isLogin !== (fault === 'refuse login')) return undefined;
    const taken = fault;
    fault = undefined;
    return taken;
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    new Conversation(socket, options, { messages, cut }, takeFault);
  });
  const port = await listen(server);
  return {
    port,
    messages,
    cut,
    fail(next) {
      fault = next;
    },
    misbehave(how) {
      misbehaviour = how;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

class Conversation {
  readonly #socket: Socket;
  readonly #options: SmtpServerOptions;
  readonly #taken: { readonly messages: ReceivedMessage[]; readonly cut: ReceivedMessage[] };
  readonly #takeFault: (isLogin: boolean) => SmtpFault | undefined;
  #buffer = '';
  #login: ReceivedMessage['login'];
  #from = '';
  #to: string[] = [];
  /** Lines of the message that is being sent; undefined outside of DATA. */
  #content: string[] | undefined;
  #fault: SmtpFault | undefined;

  constructor(
    socket: Socket,
    options: SmtpServerOptions,
    taken: { readonly messages: ReceivedMessage[]; readonly cut: ReceivedMessage[] },
    takeFault: (isLogin: boolean) => SmtpFault | undefined,
  ) {
    this.#socket = socket;
    this.#options = options;
    this.#taken = taken;
    this.#takeFault = takeFault;
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => this.#read(text));
    this.#say('220 fake.test ESMTP');
  }

  #read(text: string): void {
    this.#buffer += text;
    for (let end = this.#buffer.indexOf('\r\n'); end >= 0; end = this.#buffer.indexOf('\r\n')) {
      const line = this.#buffer.slice(0, end);
      this.#buffer = this.#buffer.slice(end + 2);
      this.#say(...(this.#content === undefined ? this.#command(line) : this.#contentLine(line, this.#content)));
    }
  }

  /** What is answered. */
  #command(line: string): string[] {
    const verb = line.split(' ', 1)[0]?.toUpperCase();
    switch (verb) {
      case 'EHLO':
        return ['250-fake.test', '250-AUTH PLAIN', '250 8BITMIME'];
      case 'AUTH':
        if (this.#takeFault(true) !== undefined) return ['535 who are you?'];
        this.#login = loginIn(line);
        return ['235 welcome'];
      case 'MAIL':
        if (this.#options.requireLogin === true && this.#login === undefined) return ['530 log in first'];
        this.#fault = this.#takeFault(false);
        this.#from = addressIn(line);
        this.#to = [];
        return ['250 ok'];
      case 'RCPT':
        if (this.#fault === 'refuse recipient') return ['550 no such mailbox'];
        if (this.#fault === 'later') return ['451 not now'];
        this.#to.push(addressIn(line));
        return ['250 ok'];
      case 'DATA':
        this.#content = [];
        return ['354 go on'];
      case 'QUIT':
        setImmediate(() => this.#socket.end());
        return ['221 bye'];
      default:
        return ['502 what?'];
    }
  }

  #contentLine(line: string, content: string[]): string[] {
    if (line !== '.') {
      content.push(line.replace(/^\.\./, '.'));
      return [];
    }
    this.#content = undefined;
    const [from, to, login] = [this.#from, this.#to, this.#login];
    const message = { from, to, login, content: content.map((each) => `${each}\r\n`).join('') };
    if (this.#fault === 'cut') {
      this.#taken.cut.push(message);
      this.#socket.destroy();
      return [];
    }
    if (this.#fault === 'garbage') return ['<!doctype html><p>Hello'];
    if (this.#fault === 'refuse message') return ['554 not this one'];
    this.#taken.messages.push(message);
    return ['250 taken'];
  }

  #say(...lines: string[]): void {
    if (lines.length > 0) this.#socket.write(lines.map((line) => `${line}\r\n`).join(''));
  }
}

function loginIn(line: string): ReceivedMessage['login'] {
  const [, user = '', password = ''] = Buffer.from(line.split(' ')[2] ?? '', 'base64')
    .toString()
    .split('\0');
  return { user, password };
}

function addressIn(line: string): string {
  return /<([^>]*)>/.exec(line)?.[1] ?? '';
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the fake mail server listens on no port');
  return address.port;
}
