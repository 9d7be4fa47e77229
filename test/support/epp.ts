/** What tests of the EPP server and client keep needing: a server in front of a registry, and a wire that can be cut. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { encodeFrame, FrameReader } from '../../src/domains/registry/epp/frames.ts';
import {
  type ChooseDelivery,
  createEppRegistry,
  type EppRegistryOptions,
  type EppServer,
  type EppServerLimits,
  type ServerHabits,
  startEppServer,
} from '../../src/domains/registry/epp/index.ts';
import type { MutationOutcome, SingleRegistry } from '../../src/domains/registry/registry.ts';
import {
  answerWrongly,
  type ChooseWrongAnswer,
  type CreditOf,
  type MessageHabits,
  type PriceList,
  type RegistryDelays,
  type SpecialNames,
} from '../../src/domains/registry/simulated/index.ts';
import type { ManualClock } from '../../src/kernel/clock/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { openTestRegistry, type TestRegistry } from './simulated-registry.ts';
import { openTestLogger } from './test-log.ts';

const pathOf = (file: string) => fileURLToPath(new URL(`../epp/tls/${file}`, import.meta.url));

/** For tests only: the key is public. */
export const testTls = {
  keyFile: pathOf('test-only-localhost.key'),
  certificateFile: pathOf('test-only-localhost.crt'),
};
export const testCa = readFileSync(testTls.certificateFile);
export const silent = openTestLogger();

export const PASSWORD = 'ours-password';
export const THEIR_PASSWORD = 'their-password';

export const testRegistrant = {
  name: 'Zoë Ångström',
  email: 'zoe@example.net',
  street: '5 Kungsgatan',
  city: 'Göteborg',
  country: 'se',
  phone: '+46.31123456',
};
export const testNameservers = ['ns1.ironcraft.example', 'ns2.ironcraft.example'];

/** A command of the port to register that name for a year. */
export function testCreation(name: string) {
  const [registrant, nameservers] = [testRegistrant, testNameservers];
  return { name, transactionId: `ord_${name}`, years: 1, registrant, nameservers, isPrivate: true };
}

/** The code of an outcome that must be a refusal. */
export function rejectionOf(outcome: MutationOutcome): string {
  assert.equal(outcome.kind, 'rejected', JSON.stringify(outcome));
  return outcome.kind === 'rejected' ? outcome.code : '';
}

export interface TestEpp extends TestRegistry {
  readonly server: EppServer;
  /** An adapter that is connected, as the registrar `ours`. Ended by `close`. */
  connect(options?: Partial<EppRegistryOptions>): Promise<SingleRegistry>;
  close(): Promise<void>;
}

export async function openTestEpp(
  db: Database,
  options: {
    readonly delays?: Partial<RegistryDelays>;
    readonly autoRenewGraceDays?: number | undefined;
    readonly restoreReports?: boolean | undefined;
    readonly messages?: MessageHabits | undefined;
    readonly limits?: Partial<EppServerLimits>;
    /** What clients are answered wrongly; `core` answers rightly. */
    readonly wrongAnswers?: ChooseWrongAnswer;
    readonly special?: SpecialNames;
    readonly habits?: Partial<ServerHabits>;
    readonly prices?: PriceList;
    readonly credit?: CreditOf;
    readonly clock?: ManualClock;
    /** What becomes of clients' commands and their answers. */
    readonly deliver?: ChooseDelivery;
  } = {},
): Promise<TestEpp> {
  const { deliver, habits = {}, limits, wrongAnswers, ...rules } = options;
  const registry = await openTestRegistry(db, rules);
  const { core, clock, ours, theirs } = registry;
  const server = await startEppServer({
    core: wrongAnswers === undefined ? core : answerWrongly(core, wrongAnswers),
    clock,
    tls: testTls,
    port: 0,
    registrars: [
      { id: ours.registrarId, name: 'Ours', password: PASSWORD },
      { id: theirs.registrarId, name: 'Theirs', password: THEIR_PASSWORD },
    ],
    logger: silent,
    habits,
    deliver,
    ...(limits === undefined ? {} : { limits }),
  });
  const adapters: SingleRegistry[] = [];
  return {
    ...registry,
    server,
    async connect(overrides = {}) {
      const adapter = createEppRegistry({
        host: '127.0.0.1',
        port: server.port,
        clientId: ours.registrarId,
        password: PASSWORD,
        tls: { ca: testCa },
        clock,
        logger: silent,
        reconnectDelayMs: 1,
        reconnectDelayMaxMs: 20,
        limitDelayMs: 1,
        termsTimeoutMs: 60_000,
        ...overrides,
      });
      adapters.push(adapter);
      await adapter.start();
      return adapter;
    },
    async close() {
      await Promise.all(adapters.map((adapter) => adapter.stop()));
      await server.stop();
    },
  };
}

export interface Wire {
  readonly port: number;
  /** Connections made so far. */
  readonly connections: number;
  /** The next bytes that come back from the server are dropped, and the connection with them. */
  cutNextAnswer(): void;
  /** Cuts what there is and refuses what comes, until it is reset. */
  setDown(isDown: boolean): void;
  close(): Promise<void>;
}

/** A wire to the server on that port, which carries bytes as they are until it is cut. */
export async function openWire(targetPort: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let isDown = false;
  let cutsNext = false;
  const wire = createServer((near) => {
    connections += 1;
    if (isDown) return void near.destroy();
    const far = connect(targetPort, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.on('data', (piece) => {
      if (!cutsNext) return void near.write(piece);
      cutsNext = false;
      near.destroy();
    });
  });
  await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve));
  const address = wire.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    get connections() {
      return connections;
    },
    cutNextAnswer() {
      cutsNext = true;
    },
    setDown(value) {
      isDown = value;
      if (value) for (const socket of sockets) socket.destroy();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => wire.close(() => resolve()));
    },
  };
}

/** A client without manners: sends any bytes, and gives what comes back frame by frame. */
export interface RawClient {
  readonly socket: TLSSocket;
  send(xml: string): void;
  /** The next frame; undefined when the server has closed the connection. */
  next(): Promise<string | undefined>;
  /** Sends and waits. */
  ask(xml: string): Promise<string>;
}

export function openRawClient(port: number, options: ConnectionOptions = {}): RawClient {
  const socket = tlsConnect({ port, host: '127.0.0.1', ca: testCa, ...options });
  const frames: string[] = [];
  const waiting: ((frame: string | undefined) => void)[] = [];
  const reader = new FrameReader();
  let isClosed = false;
  socket.on('error', () => undefined);
  socket.on('data', (piece: Buffer) => {
    for (const frame of reader.push(piece)) {
      const waiter = waiting.shift();
      if (waiter === undefined) frames.push(frame.toString());
      else waiter(frame.toString());
    }
  });
  socket.on('close', () => {
    isClosed = true;
    for (const waiter of waiting.splice(0)) waiter(undefined);
  });
  const next = () =>
    new Promise<string | undefined>((resolve) => {
      if (frames.length > 0 || isClosed) resolve(frames.shift());
      else waiting.push(resolve);
    });
  return {
    socket,
    send: (xml) => void socket.write(encodeFrame(xml)),
    next,
    async ask(xml) {
      socket.write(encodeFrame(xml));
      const frame = await next();
      if (frame === undefined) throw new Error('the server closed the connection');
      return frame;
    },
  };
}
