/** Writes the template that a new embedded store starts from: `npm run build:store-template`. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { storeTemplate } from '../../src/command-line/migrations.ts';
import { connectEmbedded } from '../../src/kernel/db/connect-embedded.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { shortenLog } from '../../src/kernel/db/embedded-folder.ts';
import { type TarEntry, writeTar } from '../../src/kernel/db/tar.ts';
import { setUpSchemas } from '../support/database.ts';

/** What PostgreSQL makes again by itself. */
const omitted = new Set(['pg_internal.init', 'postmaster.pid', 'postmaster.opts']);

const folder = await mkdtemp(join(tmpdir(), 'ironcraft-store-template-'));
try {
  const db = await connectEmbedded({ folder });
  await setUpSchemas(db);
  const walFile = await compact(db);
  await db.close();
  const entries = (await listEntries(join(folder, 'data'), '')).filter(
    ({ path }) => !/^pg_wal\/\w{24}$/.test(path) || path === `pg_wal/${walFile}`,
  );
  const tar = writeTar(entries);
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: tar.length };
  const template = brotliCompressSync(tar, { params });
  await writeFile(storeTemplate, template);
  const [files, kb] = [entries.length, Math.ceil(template.length / 1024)];
  process.stdout.write(`${storeTemplate}: ${files} files, ${Math.ceil(tar.length / 1024)} KB, compressed ${kb} KB\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Leaves nothing unused in the tables, and a log of one empty file, whose name it gives. */
async function compact(db: Database): Promise<string> {
  for (const text of ['vacuum (full, freeze, analyze)', ...shortenLog]) await db.query({ text });
  const { rows } = await db.query<{ file: string }>({
    text: 'select pg_walfile_name(pg_current_wal_lsn()) as file',
    values: [],
  });
  return rows[0]?.file ?? '';
}

async function listEntries(root: string, path: string): Promise<TarEntry[]> {
  const found: TarEntry[] = [];
  const names = await readdir(join(root, path), { withFileTypes: true });
  for (const entry of names.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const inner = path === '' ? entry.name : `${path}/${entry.name}`;
    if (omitted.has(entry.name)) continue;
    if (entry.isDirectory()) found.push({ path: inner, content: undefined }, ...(await listEntries(root, inner)));
    else found.push({ path: inner, content: await readFile(join(root, inner)) });
  }
  return found;
}
