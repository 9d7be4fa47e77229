/**
 * The thread that owns PGlite. It understands no SQL: bytes of PostgreSQL's wire protocol come in, the answer's bytes go
 * out, one message each way per batch. A slow query stalls this thread and never the event loop of the process.
 */
import { fsyncSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { parentPort, type Transferable, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { RestoredFiles } from './restored-files.ts';
import { unpackTemplate } from './store-template.ts';

export interface WorkerOptions {
  /** An initialised folder, or one to initialise; undefined keeps everything in memory. */
  readonly folder: string | undefined;
  /** Fills the folder, before it is opened. */
  readonly template: string | undefined;
  /** A tar made by `dump`, loaded into a store in memory. */
  readonly dump: Uint8Array | undefined;
  /** Wait for the disk at each commit. */
  readonly flush: boolean;
  readonly sharedBuffersMb: number;
  /** What `compileEngine` returned; undefined: the thread compiles it. */
  readonly engine?: WebAssembly.Module | undefined;
}

export type WorkerRequest = Uint8Array | 'dump' | 'close';
export type WorkerReply =
  | Uint8Array
  | { readonly kind: 'ready' | 'closed' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'dumped'; readonly dump: Uint8Array };

/** Small WAL segments: 1 MB instead of 16 MB to create, copy and keep. No sync: nothing to lose while initialising. */
const initialiseWith = ['--wal-segsize=1', '--no-sync'];

const fsyncOff = '-F';

async function serve(options: WorkerOptions): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('embedded-worker.ts runs as a worker thread only');
  const reply = (message: WorkerReply, transfer: Transferable[] = []): void => port.postMessage(message, transfer);
  try {
    if (options.folder !== undefined && options.template !== undefined) {
      unpackTemplate(options.template, options.folder);
    }
    const store = await open(options);
    port.on('message', (request: WorkerRequest) => {
      handle(store, request, reply).catch((error: unknown) => {
        // The engine itself aborted: its memory cannot be trusted, so the thread ends, which the owner notices.
        setImmediate(() => {
          throw error;
        });
      });
    });
    reply({ kind: 'ready' });
  } catch (error) {
    reply({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) });
  }
}

async function open(options: WorkerOptions): Promise<Engine> {
  const parameters = PGlite.defaultStartParams.filter((parameter) => !options.flush || parameter !== fsyncOff);
  const store = new Engine({
    ...(options.folder !== undefined && { dataDir: `file://${options.folder}` }),
    // A copy: what was passed may be shared with other threads.
    ...(options.dump !== undefined && { fs: new RestoredFiles(new Uint8Array(options.dump)) }),
    ...(options.engine !== undefined && { pgliteWasmModule: options.engine }),
    extensions: { vector },
    relaxedDurability: false,
    initDbStartParams: initialiseWith,
    startParams: [
      ...parameters,
      ...['-c', `shared_buffers=${options.sharedBuffersMb}MB`],
      // The only method that reaches the file system here: the WebAssembly build answers fdatasync without doing it.
      ...['-c', 'wal_sync_method=fsync'],
    ],
  });
  await store.waitReady;
  if (options.flush) flushFilesOnRequest(store);
  return store;
}

/**
 * PGlite whose SQL parser is not optimised. V8 takes the parser, one function of 100 KB, for hot after a dozen statements, and to optimise it takes
 * 600 MB and a second of a core for nothing that can be measured. A function that V8 compiles first while a filter lets none be
 * optimised stays so: therefore the first text that is parsed is empty, behind such a filter. All other functions are optimised once they are hot.
 */
class Engine extends PGlite {
  #hasParsed = false;

  override execProtocolRawSync(batch: Uint8Array): Uint8Array {
    if (!this.#hasParsed && (batch[0] === SIMPLE_QUERY || batch[0] === PARSE)) {
      this.#hasParsed = true;
      withoutOptimizing(() => super.execProtocolRawSync(PARSE_NOTHING));
    }
    return super.execProtocolRawSync(batch);
  }
}

const SIMPLE_QUERY = 'Q'.charCodeAt(0);
const PARSE = 'P'.charCodeAt(0);
/** A Parse of '' without a name and without parameters, and a Sync. */
const PARSE_NOTHING = new Uint8Array([PARSE, 0, 0, 0, 8, 0, 0, 0, 0, 'S'.charCodeAt(0), 0, 0, 0, 4]);

/** The flag is one of the process: what other threads run for the first time in that millisecond stays unoptimised too. */
function withoutOptimizing(work: () => void): void {
  setFlagsFromString(`--wasm-tier-up-filter=${NO_FUNCTION}`);
  try {
    work();
  } finally {
    setFlagsFromString('--wasm-tier-up-filter=-1');
  }
}

/** An imported function, which is never compiled. */
const NO_FUNCTION = 0;

/** The WebAssembly build's file system over Node's ignores fsync unless it is given one. */
function flushFilesOnRequest(store: PGlite): void {
  const fileSystem: object = store.Module.FS.filesystems.NODEFS;
  if (!('stream_ops' in fileSystem) || typeof fileSystem.stream_ops !== 'object' || fileSystem.stream_ops === null) {
    throw new Error('this PGlite has another file system inside: commits could not be flushed to the disk');
  }
  Object.assign(fileSystem.stream_ops, {
    fsync(stream: { readonly nfd?: number }): number {
      if (stream.nfd !== undefined) fsyncSync(stream.nfd);
      return 0;
    },
  });
}

async function handle(
  store: PGlite,
  request: WorkerRequest,
  reply: (message: WorkerReply, transfer?: Transferable[]) => void,
): Promise<void> {
  if (request === 'close') {
    await store.close();
    reply({ kind: 'closed' });
    parentPort?.close();
    return;
  }
  if (request === 'dump') {
    const file = await store.dumpDataDir('none');
    const dump = new Uint8Array(await file.arrayBuffer());
    reply({ kind: 'dumped', dump }, [dump.buffer]);
    return;
  }
  const answer = await exchange(store, request);
  if (answer.length > 0) reply(answer, [answer.buffer]);
}

/** Runs one batch of protocol messages. It is synchronous inside, so batches never interleave. */
async function exchange(store: PGlite, batch: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  await store.execProtocolRawStream(batch, {
    syncToFs: false,
    onRawData: (bytes) => {
      // A view of the engine's memory, which the next statement overwrites.
      chunks.push(bytes.slice());
      length += bytes.length;
    },
  });
  const answer = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    answer.set(chunk, offset);
    offset += chunk.length;
  }
  return answer;
}

await serve(workerData as WorkerOptions);
