/** The embedded store's folder, made by PostgreSQL's own initialisation, which takes seconds. */
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finishPartial, startPartial } from './store-template.ts';
import { connectClient, startWorker } from './worker-stream.ts';

const initialisingBuffersMb = 16;

/** The databases that CREATE DATABASE copies, two thirds of a new store: nothing here creates databases. */
export const dropTemplates = [
  `update pg_database set datistemplate = false where datname like 'template%'`,
  'drop database template0',
  'drop database template1',
  'checkpoint',
] as const;

/** What leaves one empty file of the log, as small as the store that it is copied with may be. */
export const shortenLog = ['set wal_recycle = off', 'select pg_switch_wal()', 'checkpoint'] as const;

/** The version of PGlite: what it stores is only ever opened by the same one. */
export function engineVersion(): string {
  // Its package.json is not among its exports, so it is found from its entry file, `dist/index.js`.
  const manifestFile = new URL('../package.json', import.meta.resolve('@electric-sql/pglite'));
  const manifest: unknown = JSON.parse(readFileSync(manifestFile, 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  throw new Error('@electric-sql/pglite is not installed: run npm ci');
}

/**
 * Compiles PGlite for every store that the process opens: they share the code, also what V8 optimises on the way, which
 * halves what a store costs from the second one on. Each store's memory stays its own.
 */
export async function compileEngine(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFile(new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite'))));
}

/** Whether the folder holds a store. */
export function holdsStore(folder: string): boolean {
  return existsSync(join(folder, 'PG_VERSION'));
}

/** Makes an empty store, in a thread of its own, whose memory ends with it. The caller holds the folder's lock around it. */
export async function initialiseFolder(folder: string): Promise<void> {
  const partial = startPartial(folder);
  const store = await startWorker({
    folder: partial,
    template: undefined,
    dump: undefined,
    flush: false,
    sharedBuffersMb: initialisingBuffersMb,
  });
  const client = await connectClient(store);
  // The thread's end also ends the client.
  client.on('error', () => undefined);
  for (const statement of dropTemplates) await client.query(statement);
  await store.shutDown();
  finishPartial(partial, folder);
}
