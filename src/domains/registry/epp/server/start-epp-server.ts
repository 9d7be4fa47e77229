/** An EPP server over TLS (RFC 5734) in front of the simulated registry: for tests, and for trying a client. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type TLSSocket } from 'node:tls';
import { type Clock, systemClock } from '../../../../kernel/clock/clock.ts';
import type { Logger } from '../../../../kernel/log/log.ts';
import type { RegistryCore } from '../../simulated/index.ts';
import { serveConnection } from './connection.ts';
import type { ChooseDelivery } from './deliveries.ts';
import { DEFAULT_HABITS, type ServerHabits } from './habits.ts';
import type { Manners, SessionCounter } from './session.ts';

export interface EppServerOptions {
  readonly core: RegistryCore;
  /** Paths of PEM files. `clientCaFile`: who signs the certificates that clients then have to show. */
  readonly tls: { readonly keyFile: string; readonly certificateFile: string; readonly clientCaFile?: string };
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 700; 0: any that is free. */
  readonly port?: number;
  /** Made, or given these passwords, before the first connection. */
  readonly registrars: readonly { readonly id: string; readonly name: string; readonly password: string }[];
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly limits?: Partial<EppServerLimits>;
  /** Default: contact objects that may be hidden, and host objects. */
  readonly habits?: Partial<ServerHabits>;
  /** What becomes of commands and their answers. Default: nothing is lost. */
  readonly deliver?: ChooseDelivery | undefined;
}

type ChangeableOptions = Pick<EppServerOptions, 'core' | 'habits' | 'deliver' | 'limits'>;

export interface EppServerLimits {
  /** Further ones are dropped. Default 200. */
  readonly maxConnections: number;
  /** Further logins are answered with 2502. Default 10. */
  readonly maxSessionsPerRegistrar: number;
  /** From the first byte of a frame to its last. Default 30,000. */
  readonly frameTimeoutMs: number;
  /** Without a frame. Default 600,000. */
  readonly idleTimeoutMs: number;
  /** From the connection to the login. Default 60,000. */
  readonly loginTimeoutMs: number;
}

export interface EppServer {
  readonly host: string;
  readonly port: number;
  /** From the next command on, in open sessions too. What is not given is the default. */
  change(habits: ChangeableOptions): void;
  /** Takes no more connections and cuts those there are; commands that run are carried out. */
  stop(): Promise<void>;
}

const defaultLimits: EppServerLimits = {
  maxConnections: 200,
  maxSessionsPerRegistrar: 10,
  frameTimeoutMs: 30_000,
  idleTimeoutMs: 600_000,
  loginTimeoutMs: 60_000,
};

/** Resolves when it listens. Throws what reading the files, the store or listening throws. */
export async function startEppServer(options: EppServerOptions): Promise<EppServer> {
  const { logger, clock = systemClock, host = '127.0.0.1', port = 700, tls } = options;
  let { limits, manners } = withDefaults(options);
  const [key, cert, ca] = await Promise.all([
    readFile(tls.keyFile),
    readFile(tls.certificateFile),
    tls.clientCaFile === undefined ? undefined : readFile(tls.clientCaFile),
  ]);
  for (const registrar of options.registrars) await options.core.ensureRegistrar(registrar);

  const sockets = new Map<TLSSocket, Promise<void>>();
  const sessions = countSessions(() => limits.maxSessionsPerRegistrar);
  const server = createServer({
    key,
    cert,
    minVersion: 'TLSv1.2',
    handshakeTimeout: limits.frameTimeoutMs,
    ...(ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true }),
  });
  server.maxConnections = limits.maxConnections;
  server.on('tlsClientError', (error) => logger.debug({ err: error }, 'a TLS handshake failed'));
  server.on('secureConnection', (socket) => {
    const served = serveConnection(socket, {
      manners: () => manners,
      clock,
      logger,
      sessions,
      limits: () => limits,
      serverName: 'Ironcraft EPP',
    });
    sockets.set(socket, served);
    void served.finally(() => sockets.delete(socket));
  });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  const listensOn = typeof address === 'object' && address !== null ? address.port : port;
  logger.info({ host, port: listensOn }, 'the EPP server listens');

  return {
    host,
    port: listensOn,
    change(changed) {
      ({ limits, manners } = withDefaults(changed));
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      const served = [...sockets.values()];
      for (const socket of sockets.keys()) socket.destroy();
      await Promise.all([closed, ...served]);
    },
  };
}

function withDefaults({ core, deliver, habits, limits }: ChangeableOptions): {
  readonly limits: EppServerLimits;
  readonly manners: Manners;
} {
  return {
    limits: { ...defaultLimits, ...limits },
    manners: { core, deliver, habits: { ...DEFAULT_HABITS, ...habits } },
  };
}

function countSessions(most: () => number): SessionCounter {
  const counts = new Map<string, number>();
  return {
    enter(registrarId) {
      const count = counts.get(registrarId) ?? 0;
      if (count >= most()) return false;
      counts.set(registrarId, count + 1);
      return true;
    },
    release(registrarId) {
      const left = (counts.get(registrarId) ?? 0) - 1;
      if (left > 0) counts.set(registrarId, left);
      else counts.delete(registrarId);
    },
  };
}
