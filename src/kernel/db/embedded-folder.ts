/**
 * Makes the embedded store's folder. PostgreSQL's initialisation takes seconds, so its result is kept as a template and
 * copied from then on. Both the template and the copy appear under their name in one rename: a process that is killed
 * half-way leaves nothing that looks complete.
 */
import { cpSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectClient, startWorker } from './worker-stream.ts';

/** Deletable at any time. Shared by every checkout's process and by the tests. */
export const defaultCacheFolder = fileURLToPath(new URL('../../../node_modules/.cache/ironcraft/', import.meta.url));

const initialisingBuffersMb = 16;
/** Raise it when what a template holds changes. */
const templateRevision = 1;

/** The databases that CREATE DATABASE copies, two thirds of a new store: nothing here creates databases. */
export const dropTemplates = [
  `update pg_database set datistemplate = false where datname like 'template%'`,
  'drop database template0',
  'drop database template1',
  'checkpoint',
] as const;

/** The version of PGlite: what it stores is only ever opened by the same one. */
export function engineVersion(): string {
  // Its package.json is not among its exports, so it is found from its entry file, `dist/index.js`.
  const manifestFile = new URL('../package.json', import.meta.resolve('@electric-sql/pglite'));
  const manifest: unknown = JSON.parse(readFileSync(manifestFile, 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  throw new Error('@electric-sql/pglite is not installed: run npm ci');
}

/** Fills `folder`, unless it holds a store already. The caller holds the lock of the folder around it. */
export async function prepareFolder(folder: string, cacheFolder: string): Promise<void> {
  if (await exists(join(folder, 'PG_VERSION'))) return;
  await removeLeftovers(folder);
  const partial = `${folder}.partial-${process.pid}`;
  const template = await findOrMakeTemplate(cacheFolder);
  if (template === undefined) await initialise(partial);
  // Half the time of the asynchronous copy, and nothing is served yet.
  else cpSync(template, partial, { recursive: true });
  await rm(folder, { recursive: true, force: true });
  await rename(partial, folder);
}

/** Undefined where the cache cannot be written, as in a read-only container: the template only saves time. */
async function findOrMakeTemplate(cacheFolder: string): Promise<string | undefined> {
  const template = join(cacheFolder, `store-${engineVersion()}-${templateRevision}`);
  if (await exists(template)) return template;
  const partial = `${template}.partial-${process.pid}`;
  try {
    await mkdir(cacheFolder, { recursive: true });
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial);
  } catch {
    return undefined;
  }
  await initialise(partial);
  try {
    await rename(partial, template);
  } catch {
    // Another process was first with the same content.
    await rm(partial, { recursive: true, force: true });
  }
  return (await exists(template)) ? template : undefined;
}

async function initialise(folder: string): Promise<void> {
  const store = await startWorker({ folder, dump: undefined, flush: false, sharedBuffersMb: initialisingBuffersMb });
  const client = await connectClient(store);
  // The thread's end also ends the client.
  client.on('error', () => undefined);
  for (const statement of dropTemplates) await client.query(statement);
  await store.shutDown();
}

async function removeLeftovers(folder: string): Promise<void> {
  const parent = join(folder, '..');
  for (const name of await readdir(parent)) {
    if (name.includes('.partial-')) await rm(join(parent, name), { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
