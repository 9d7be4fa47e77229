/**
 * One connection that does nothing but LISTEN, for every channel of this process. It is re-made when it is lost, with
 * waits that grow from 100 ms to 5 s, and each listener's `onGap` is then called, as wake-ups may have been missed.
 *
 *   idle ──first listen──▶ connecting ──▶ listening ──lost──▶ waiting ──▶ connecting …
 */
import pg from 'pg';
import { setTicker, setTimer, type Timer } from '../clock/timers.ts';
import { backoffMs } from '../retry/backoff.ts';
import { checkChannel, type StoreLogger } from './session.ts';

const reconnectBackoff = { firstMs: 100, longestMs: 5_000 } as const;
/** A query now and then finds a connection that was lost without an error. Workers find by themselves what its wake-ups were about (share-use.ts). */
const heartbeatIntervalMs = 30_000;
const heartbeatTimeoutMs = 5_000;

interface Listener {
  readonly onMessage: (payload: string) => void;
  readonly onGap: (() => void) | undefined;
}

export class NotificationListener {
  readonly #config: pg.ClientConfig;
  readonly #logger: StoreLogger | undefined;
  readonly #listeners = new Map<string, Set<Listener>>();
  #client: pg.Client | undefined;
  #connecting: Promise<pg.Client> | undefined;
  #retry: Timer | undefined;
  #heartbeat: Timer | undefined;
  #attempts = 0;
  #closed = false;

  constructor(config: pg.ClientConfig, logger?: StoreLogger) {
    this.#config = config;
    this.#logger = logger;
  }

  /** Resolves once wake-ups sent from now on will arrive. */
  async listen(
    channel: string,
    onMessage: (payload: string) => void,
    onGap?: () => void,
  ): Promise<() => Promise<void>> {
    if (this.#closed) throw new Error('the database is closed');
    checkChannel(channel);
    const listener: Listener = { onMessage, onGap };
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    const stop = () => this.#stop(channel, listener);
    try {
      const client = await this.#connect();
      await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    } catch (error) {
      await stop();
      throw error;
    }
    return stop;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    this.#retry?.cancel();
    this.#heartbeat?.cancel();
    const client = await this.#connecting?.catch(() => undefined);
    this.#client = undefined;
    await client?.end();
  }

  async #stop(channel: string, listener: Listener): Promise<void> {
    const listeners = this.#listeners.get(channel);
    if (listeners?.delete(listener) !== true || listeners.size > 0) return;
    this.#listeners.delete(channel);
    // A connection that is lost right now listens to nothing, which is what was asked for.
    await this.#client?.query(`unlisten ${pg.escapeIdentifier(channel)}`).catch(() => undefined);
  }

  #connect(): Promise<pg.Client> {
    this.#connecting ??= this.#open().catch((error: unknown) => {
      this.#connecting = undefined;
      throw error;
    });
    return this.#connecting;
  }

  async #open(): Promise<pg.Client> {
    const client = new pg.Client({ ...this.#config, keepAlive: true, pipeline: true });
    // Without a listener the loss of the connection would end the process.
    client.on('error', (error) => this.#handleLoss(client, error));
    client.on('end', () => this.#handleLoss(client, new Error('the connection ended')));
    client.on('notification', ({ channel, payload }) => {
      for (const listener of this.#listeners.get(channel) ?? [])
        this.#callListener(() => listener.onMessage(payload ?? ''));
    });
    await client.connect();
    await Promise.all(
      [...this.#listeners.keys()].map((channel) => client.query(`listen ${pg.escapeIdentifier(channel)}`)),
    );
    this.#client = client;
    this.#attempts = 0;
    this.#heartbeat = setTicker(() => this.#sendHeartbeat(client), heartbeatIntervalMs);
    return client;
  }

  #handleLoss(client: pg.Client, error: Error): void {
    if (this.#client !== client || this.#closed) return;
    this.#logger?.warn({ err: error }, 'the connection for wake-ups was lost; making it again');
    this.#client = undefined;
    this.#connecting = undefined;
    this.#heartbeat?.cancel();
    client.end().catch(() => undefined);
    this.#scheduleReconnect();
  }

  #scheduleReconnect(): void {
    if (this.#closed) return;
    this.#attempts += 1;
    this.#retry = setTimer(
      () => {
        this.#connect().then(
          () => {
            for (const listeners of this.#listeners.values()) {
              for (const { onGap } of listeners) if (onGap !== undefined) this.#callListener(onGap);
            }
          },
          () => this.#scheduleReconnect(),
        );
      },
      backoffMs(this.#attempts, reconnectBackoff),
      { keepsProcess: true },
    );
  }

  #sendHeartbeat(client: pg.Client): void {
    const timer = setTimer(
      () => this.#handleLoss(client, new Error('the heartbeat was not answered')),
      heartbeatTimeoutMs,
      { keepsProcess: true },
    );
    client.query('select 1').then(
      () => timer.cancel(),
      () => timer.cancel(),
    );
  }

  #callListener(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#logger?.error({ err: error }, 'a listener for wake-ups threw');
    }
  }
}
