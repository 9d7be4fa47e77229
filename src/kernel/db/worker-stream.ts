/** A worker thread that owns PGlite, seen as the socket that a `pg` client speaks PostgreSQL's wire protocol over. */
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Duplex } from 'node:stream';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import type { WorkerOptions, WorkerReply, WorkerRequest } from './embedded-worker.ts';
import { columnTypes } from './values.ts';

/**
 * Of the thread's JavaScript, which does little but pass bytes on: without a limit it takes three times the program's semi-space, for ever,
 * after the first large statements.
 */
const MAX_YOUNG_MEBIBYTES = 8;

/** Starts the thread; resolves when the store inside is open, rejects with the reason why it cannot be opened. */
export async function startWorker(options: WorkerOptions): Promise<WorkerStream> {
  // Node names the folder of its own version within the one that the program chose.
  const compiled = getCompileCacheDir();
  const worker = new Worker(new URL('./start-embedded-worker.js', import.meta.url), {
    workerData: { ...options, compiledFolder: compiled === undefined ? undefined : dirname(compiled) },
    // Flags such as --input-type, which only fit the main program, would stop the thread.
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_MEBIBYTES },
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  worker.once('error', reject);
  worker.once('message', (reply: WorkerReply) => {
    if ('kind' in reply && reply.kind === 'ready') resolve();
    else reject(new Error('kind' in reply && reply.kind === 'failed' ? reply.reason : 'unexpected first message'));
  });
  try {
    await promise;
  } catch (error) {
    await worker.terminate();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the embedded store cannot be opened${options.folder ? ` in ${options.folder}` : ''}: ${reason}`, {
      cause: error,
    });
  }
  return new WorkerStream(worker);
}

/** A `pg` client whose server is the thread. */
export async function connectClient(stream: WorkerStream): Promise<pg.Client> {
  const client = new pg.Client({
    stream: () => stream,
    ssl: false,
    host: 'embedded',
    user: 'postgres',
    password: '',
    database: 'postgres',
    pipeline: true,
    types: columnTypes,
  });
  await client.connect();
  return client;
}

export class WorkerStream extends Duplex {
  readonly #worker: Worker;
  readonly #pending: Uint8Array[] = [];
  #dumping: PromiseWithResolvers<Uint8Array> | undefined;
  readonly #exited: Promise<void>;

  constructor(worker: Worker) {
    super();
    this.#worker = worker;
    worker.on('message', (reply: WorkerReply) => this.#receive(reply));
    worker.on('error', (error) => this.destroy(error));
    this.#exited = new Promise((resolve) => {
      worker.once('exit', (code) => {
        this.destroy(code === 0 ? undefined : new Error(`the embedded store's thread ended with code ${code}`));
        resolve();
      });
    });
  }

  /** Everything that the store holds, as a tar. Nothing else may be in flight. */
  dump(): Promise<Uint8Array> {
    this.#dumping = Promise.withResolvers<Uint8Array>();
    this.#flush();
    this.#send('dump');
    return this.#dumping.promise;
  }

  /** Writes everything out and ends the thread. */
  async shutDown(): Promise<void> {
    if (!this.destroyed) {
      this.#flush();
      this.#send('close');
    }
    await this.#exited;
  }

  // What `pg` calls on a socket.
  connect(): this {
    process.nextTick(() => this.emit('connect'));
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    this.#worker.ref();
    return this;
  }
  unref(): this {
    this.#worker.unref();
    return this;
  }

  override _read(): void {
    // Answers are pushed as they come: each belongs to a statement that is awaited.
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    this.#enqueue(chunk);
    done();
  }

  override _writev(chunks: ReadonlyArray<{ chunk: Uint8Array }>, done: () => void): void {
    for (const { chunk } of chunks) this.#enqueue(chunk);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#dumping?.reject(error ?? new Error('the embedded store is closed'));
    done(error);
  }

  /** Statements of one tick leave as one message: a message costs about as much as a small statement. */
  #enqueue(chunk: Uint8Array): void {
    if (this.#pending.length === 0) process.nextTick(() => this.#flush());
    this.#pending.push(chunk);
  }

  #flush(): void {
    if (this.destroyed || this.#pending.length === 0) return;
    let length = 0;
    for (const chunk of this.#pending) length += chunk.length;
    const batch = new Uint8Array(length);
    let offset = 0;
    for (const chunk of this.#pending) {
      batch.set(chunk, offset);
      offset += chunk.length;
    }
    this.#pending.length = 0;
    this.#send(batch);
  }

  #send(request: WorkerRequest): void {
    this.#worker.postMessage(request, typeof request === 'string' ? [] : [request.buffer as ArrayBuffer]);
  }

  #receive(reply: WorkerReply): void {
    if (reply instanceof Uint8Array) this.push(Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength));
    else if (reply.kind === 'dumped') this.#dumping?.resolve(reply.dump);
    else if (reply.kind === 'failed') this.destroy(new Error(reply.reason));
  }
}
