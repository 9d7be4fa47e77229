/** What goes into a box and what comes out of it: the workspace as an archive, and the files of its output folder. */
import { pipeline, type Readable } from 'node:stream';
import { createZstdCompress, createZstdDecompress, constants as zlib } from 'node:zlib';
import type { InputFile, SandboxFiles, StoredOutput } from './sandbox-files.ts';
import { type ByteReader, readTarStream, TAR_END, tarFileHeader, tarPadding, WorkspaceError } from './tar-stream.ts';

const OUTPUT = 'workspace/output/';
/** A command may leave so many new files. */
const MAX_OUTPUTS = 100;
const MAX_ENTRIES = 100_000;
/** What every box has: an archive with nothing else is none. */
const OWN_FOLDERS: ReadonlySet<string> = new Set(['workspace/', 'workspace/input/', OUTPUT]);

/** The tar that a run's first box starts with. */
export async function* fillFromInputs(inputs: readonly InputFile[]): AsyncGenerator<Uint8Array> {
  const taken = new Set<string>();
  for (const { filename, bytes, open } of inputs) {
    yield tarFileHeader(`workspace/input/${nameFor(filename, taken)}`, bytes);
    let given = 0;
    for await (const chunk of (await open()) as AsyncIterable<Buffer>) {
      given += chunk.length;
      yield chunk;
    }
    if (given !== bytes) throw new Error(`${filename} has ${given} bytes in place of ${bytes}`);
    yield tarPadding(bytes);
  }
  yield TAR_END;
}

/** The tar that a command left. */
export async function* fillFromArchive(archive: Readable): AsyncGenerator<Uint8Array> {
  // What fails on the way fails the stream that is read.
  yield* pipeline(archive, createZstdDecompress(), () => undefined) as AsyncIterable<Buffer>;
}

function nameFor(filename: string, taken: Set<string>): string {
  const clean = filename.replaceAll(/[/\0]/g, '_');
  const base = clean === '' || clean === '.' || clean === '..' ? 'file' : clean;
  let name = base;
  for (let copy = 2; taken.has(name); copy += 1) name = `${copy}-${base}`;
  taken.add(name);
  return name;
}

export interface TakenWorkspace {
  readonly archive: { readonly id: string; readonly bytes: number } | null;
  /** New ones, with their paths below the output folder. */
  readonly outputs: readonly (StoredOutput & { readonly path: string })[];
  /** Of all files of the output folder. */
  readonly hashes: Readonly<Record<string, string>>;
}

export interface TakeOptions {
  readonly files: Pick<SandboxFiles, 'storeArchive' | 'storeOutput'>;
  readonly projectId: string;
  readonly archiveId: string;
  readonly maxBytes: number;
  /** What was made a file of already, by its path. */
  readonly known: Readonly<Record<string, string>>;
  /** Is told of everything that was stored, so that it can be discarded. */
  readonly stored: (id: string) => void;
}

/**
 * Stores the workspace, and what is new or has changed in its output folder. Only plain files are outputs. Throws
 * WorkspaceError and what `files` throws.
 */
export async function takeWorkspace(tar: ByteReader, options: TakeOptions): Promise<TakenWorkspace> {
  const { files, projectId, archiveId, maxBytes, known } = options;
  const archive = new ArchiveWriter(() => {
    options.stored(archiveId);
    return (content) => files.storeArchive(projectId, archiveId, content);
  });
  const outputs: (StoredOutput & { path: string })[] = [];
  const hashes = new Map<string, string>();
  try {
    for await (const entry of readTarStream(tar, { maxBytes, maxEntries: MAX_ENTRIES })) {
      if (!OWN_FOLDERS.has(entry.path)) archive.begin();
      await archive.write(entry.header);
      if (entry.kind !== 'file' || !entry.path.startsWith(OUTPUT)) {
        for await (const chunk of entry.content()) await archive.write(chunk);
        continue;
      }
      const path = entry.path.slice(OUTPUT.length);
      const isLast = outputs.length >= MAX_OUTPUTS;
      if (isLast) throw new WorkspaceError(`the output folder has more than ${MAX_OUTPUTS} new files`);
      const stored = await files.storeOutput(projectId, path.split('/').at(-1) ?? path, both(entry, archive));
      options.stored(stored.id);
      hashes.set(path, stored.sha256);
      if (!Object.hasOwn(known, path) || known[path] !== stored.sha256) outputs.push({ ...stored, path });
    }
    return { archive: await archive.end(archiveId), outputs, hashes: Object.fromEntries(hashes) };
  } catch (error) {
    await archive.fail(error);
    throw error;
  }
}

/** The content of a file, which goes into the archive, too. */
async function* both(
  entry: { readonly bytes: number; content(): AsyncGenerator<Buffer> },
  archive: ArchiveWriter,
): AsyncGenerator<Buffer> {
  let left = entry.bytes;
  for await (const chunk of entry.content()) {
    await archive.write(chunk);
    const own = chunk.subarray(0, left);
    left -= own.length;
    if (own.length > 0) yield own;
  }
  if (left > 0) throw new WorkspaceError('the workspace came out of the box incomplete');
}

type Store = (content: AsyncIterable<Uint8Array>) => Promise<{ bytes: number }>;

/** Packs and stores what is written, from `begin` on; before that it is only remembered. */
class ArchiveWriter {
  readonly #open: () => Store;
  #before: Buffer[] = [];
  #compress: ReturnType<typeof createZstdCompress> | undefined;
  #stored: Promise<{ bytes: number }> | undefined;

  constructor(open: () => Store) {
    this.#open = open;
  }

  begin(): void {
    if (this.#compress !== undefined) return;
    const compress = createZstdCompress({ params: { [zlib.ZSTD_c_compressionLevel]: 1 } });
    // It is read once there is a place for it, and may fail before: with no listener that would end the process.
    compress.on('error', () => undefined);
    this.#compress = compress;
    this.#stored = this.#open()(compress as AsyncIterable<Uint8Array>);
    // It is awaited at the end; until then a failure is seen by whoever writes.
    this.#stored.catch((error: unknown) => compress.destroy(error as Error));
    for (const chunk of this.#before) compress.write(chunk);
    this.#before = [];
  }

  async write(chunk: Buffer): Promise<void> {
    const compress = this.#compress;
    if (compress === undefined) {
      this.#before.push(chunk);
      return;
    }
    if (compress.destroyed) await this.#stored;
    if (!compress.write(chunk)) await this.#drained(compress);
  }

  /** What was stored; null where nothing was begun. */
  async end(id: string): Promise<{ id: string; bytes: number } | null> {
    if (this.#compress === undefined || this.#stored === undefined) return null;
    this.#compress.end(TAR_END);
    return { id, bytes: (await this.#stored).bytes };
  }

  async fail(error: unknown): Promise<void> {
    this.#compress?.destroy(error as Error);
    await this.#stored?.catch(() => undefined);
  }

  async #drained(compress: NodeJS.WritableStream): Promise<void> {
    const room = new Promise<void>((resolve) => {
      compress.once('drain', resolve);
      compress.once('close', resolve);
    });
    await Promise.race([room, this.#stored]);
  }
}
