/**
 * The embedded store: PGlite in a worker thread, spoken to over PostgreSQL's wire protocol, so that statements, values and
 * errors are the very same as the server's. It has one connection: statements run one after the other, and a
 * transaction holds it alone. A statement that runs for long cannot be cancelled, only waited for.
 */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { ConnectionLock } from './connection-lock.ts';
import type { Database, Rows, Statement, Transaction } from './database.ts';
import { holdsStore, initialiseFolder } from './embedded-folder.ts';
import { createEmbeddedMaintenance, type EmbeddedMaintenance } from './embedded-maintenance.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';
import { isUse } from './looks.ts';
import { forgetEmptyTables } from './maintenance-tasks.ts';
import {
  checkChannel,
  isScript,
  notifyAloneStatement,
  refuseInsideTransaction,
  runScript,
  runStatement,
  runTransaction,
  type StoreLogger,
} from './session.ts';
import { StoreUnreachableError } from './sql-errors.ts';
import { StoreUse } from './store-use.ts';
import { WakeUps } from './wake-ups.ts';
import { connectClient, startWorker, type WorkerStream } from './worker-stream.ts';

export interface EmbeddedOptions {
  /** Where the store lives; made if missing. Undefined: in memory, gone at close. */
  readonly folder: string | undefined;
  /** What `dump()` returned: the content to start with. Only in memory. */
  readonly dump?: Uint8Array;
  /**
   * Wait for the disk at each commit, as a server does (default true). Without it a commit survives the death of the
   * process, but perhaps not the loss of power.
   */
  readonly flush?: boolean;
  /** A transaction that sends nothing for so long is rolled back. Default 60,000; 0: never. */
  readonly idleTransactionTimeoutMs?: number;
  /** A file that fills a new folder, of this version of PGlite. Where it is missing, PostgreSQL initialises the folder. */
  readonly template?: string;
  readonly logger?: StoreLogger;
  /** PGlite as `compileEngine` compiled it, for a process that opens one store after the other. */
  readonly engine?: WebAssembly.Module;
}

export interface EmbeddedDatabase extends Database {
  readonly kind: 'embedded';
  /** Everything in the store, to start another one in memory with. */
  dump(): Promise<Uint8Array>;
}

const bufferMb = { folder: 32, memory: 16 } as const;

/** Rejects with FolderInUseError when another process has the folder. */
export async function connectEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  if (options.folder === undefined) return open({}, options);
  const folder = resolve(options.folder);
  const lock = lockFolder(folder);
  try {
    const data = join(folder, 'data');
    const isNew = !holdsStore(data);
    const template =
      isNew && options.template !== undefined && existsSync(options.template) ? options.template : undefined;
    if (isNew && template === undefined) await initialiseFolder(data);
    return await open({ data, template, lock }, options);
  } catch (error) {
    lock.release();
    throw error;
  }
}

interface Folder {
  readonly data?: string;
  /** Fills `data` first. */
  readonly template?: string | undefined;
  readonly lock?: FolderLock;
}

async function open({ data, template, lock }: Folder, options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const stream = await startWorker({
    folder: data,
    template,
    dump: options.dump,
    flush: data !== undefined && options.flush !== false,
    sharedBuffersMb: data === undefined ? bufferMb.memory : bufferMb.folder,
    engine: options.engine,
  });
  const client = await connectClient(stream);
  const database = new EmbeddedConnection(client, stream, lock, options);
  // The template's tables are packed, so that most of them are known to be empty.
  if (data !== undefined) await forgetEmptyTables(database);
  return database;
}

class EmbeddedConnection implements EmbeddedDatabase {
  readonly kind = 'embedded';
  readonly use = new StoreUse();
  readonly #client: pg.Client;
  readonly #stream: WorkerStream;
  readonly #lock: FolderLock | undefined;
  readonly #connectionLock = new ConnectionLock();
  readonly #maintenance: EmbeddedMaintenance | undefined;
  readonly #logger: StoreLogger | undefined;
  readonly #wakeUps = new WakeUps((channel) =>
    this.notify(channel, '').catch((error: unknown) => {
      this.#logger?.warn({ err: error, channel }, 'a wake-up was not sent; listeners look by themselves');
    }),
  );
  readonly #idleTimeoutMs: number;
  readonly #listeners = new Map<string, Set<(payload: string) => void>>();
  #closing: Promise<void> | undefined;

  constructor(client: pg.Client, stream: WorkerStream, lock: FolderLock | undefined, options: EmbeddedOptions) {
    this.#client = client;
    this.#stream = stream;
    this.#lock = lock;
    this.#logger = options.logger;
    this.#idleTimeoutMs = options.idleTransactionTimeoutMs ?? 60_000;
    client.on('error', (error) => {
      if (this.#closing === undefined) this.#logger?.error({ err: error }, 'the embedded store stopped: restart');
    });
    client.on('notification', ({ channel, payload }) => this.#deliver(channel, payload ?? ''));
    if (lock === undefined) return;
    this.#maintenance = createEmbeddedMaintenance(this, options.logger);
  }

  async query<Row = Record<string, unknown>>(statement: Statement): Promise<Rows<Row>> {
    this.#requireOpen();
    refuseInsideTransaction(this, 'Database.query');
    this.#maintenance?.noteStatement();
    let answer: Rows<Row> | undefined;
    try {
      answer = await this.#run<Row>(statement);
      return answer;
    } finally {
      if (isUse(statement, answer)) this.use.note();
    }
  }

  #run<Row>(statement: Statement): Promise<Rows<Row>> {
    if (!isScript(statement)) return this.#connectionLock.runShared(() => runStatement<Row>(this.#client, statement));
    return this.#connectionLock.runExclusive(async (release) => {
      try {
        return await runScript<Row>(this.#client, statement);
      } finally {
        release();
      }
    });
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    this.#requireOpen();
    refuseInsideTransaction(this, 'Database.transaction');
    this.#maintenance?.noteStatement();
    return this.#connectionLock.runExclusive((onEnding) =>
      runTransaction(this.#client, work, {
        owner: this,
        logger: this.#logger,
        wake: (channel) => this.wake(channel),
        onUsed: () => this.use.note(),
        onEnding,
        idleTimeoutMs: this.#idleTimeoutMs,
      }),
    );
  }

  wake(channel: string): void {
    this.#wakeUps.wake(channel);
  }

  async notify(channel: string, payload: string): Promise<void> {
    await this.query(notifyAloneStatement(channel, payload));
  }

  /** `onGap` is never called: the one connection is not lost while the store lives. */
  async listen(channel: string, onMessage: (payload: string) => void): Promise<() => Promise<void>> {
    checkChannel(channel);
    const listeners = this.#listeners.get(channel) ?? new Set();
    // Each call is a listener of its own, also with a function that listens already.
    const listener = (payload: string): void => onMessage(payload);
    this.#listeners.set(channel, listeners.add(listener));
    await this.query({ text: `listen ${pg.escapeIdentifier(channel)}`, values: [] });
    return async () => {
      if (!listeners.delete(listener) || listeners.size > 0 || this.#closing !== undefined) return;
      this.#listeners.delete(channel);
      await this.query({ text: `unlisten ${pg.escapeIdentifier(channel)}`, values: [] });
    };
  }

  async ping(): Promise<void> {
    await this.query({ text: 'select 1', values: [] });
  }

  async dump(): Promise<Uint8Array> {
    this.#requireOpen();
    return this.#connectionLock.runExclusive(async (release) => {
      try {
        await runStatement(this.#client, { text: 'checkpoint' });
        return await this.#stream.dump();
      } finally {
        release();
      }
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#wakeUps.close();
    this.use.close();
    await this.#maintenance?.stop();
    // Waits for what was asked before, so that nothing that was accepted is lost.
    await this.#connectionLock.runExclusive(async (release) => {
      await this.#stream.shutDown();
      release();
    });
    this.#lock?.release();
  }

  #deliver(channel: string, payload: string): void {
    for (const listener of this.#listeners.get(channel) ?? []) {
      try {
        listener(payload);
      } catch (error) {
        this.#logger?.error({ err: error }, 'a listener for wake-ups threw');
      }
    }
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new StoreUnreachableError('the embedded store is closed');
  }
}
