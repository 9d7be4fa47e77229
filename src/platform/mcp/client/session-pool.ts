/**
 * Connections that wait for the next call: one for each smith and registration, so that smiths never share a session, and
 * calls that are made together do not either. What nobody took for a minute is closed, and so is the one that waited longest
 * where too many wait.
 */
import { setTimer, type Timer } from '../../../kernel/clock/timers.ts';
import type { McpConnection } from './connection.ts';

const MAX_IDLE = 256;
const IDLE_MS = 60_000;

export interface SessionPool {
  /** The connection that waits under this key; it is the caller's then. Undefined: there is none. */
  take(key: string): McpConnection | undefined;
  /** Lets the connection wait for the next call, unless it is closed or another waits already. */
  giveBack(key: string, connection: McpConnection): void;
  close(): Promise<void>;
}

interface Idle {
  readonly connection: McpConnection;
  readonly timer: Timer;
}

export function createSessionPool({ maxIdle = MAX_IDLE, idleMs = IDLE_MS } = {}): SessionPool {
  /** In the order in which they came back. */
  const idle = new Map<string, Idle>();
  let isClosed = false;

  function take(key: string): McpConnection | undefined {
    const found = idle.get(key);
    if (found === undefined) return undefined;
    idle.delete(key);
    found.timer.cancel();
    return found.connection.closed.aborted ? undefined : found.connection;
  }

  return {
    take,
    giveBack(key, connection) {
      if (connection.closed.aborted) return;
      if (isClosed || idle.has(key)) {
        void connection.close();
        return;
      }
      const [oldest] = idle.keys();
      if (idle.size >= maxIdle && oldest !== undefined) void take(oldest)?.close();
      const timer = setTimer(() => void take(key)?.close(), idleMs);
      idle.set(key, { connection, timer });
    },
    async close() {
      isClosed = true;
      await Promise.all([...idle.keys()].map((key) => take(key)?.close()));
    },
  };
}
