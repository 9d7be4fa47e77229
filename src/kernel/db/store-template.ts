/**
 * A new embedded store's folder, filled from a template: a tar of another store's folder, compressed with Brotli. It takes a
 * tenth of a second, where PostgreSQL's initialisation and every migration take several.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { readTar } from './tar.ts';

/** Fills `folder`, which appears complete or not at all. The caller holds the lock around it. */
export function unpackTemplate(template: string, folder: string): void {
  const partial = startPartial(folder);
  mkdirSync(partial, { mode: 0o700 });
  for (const { path, content } of readTar(brotliDecompressSync(readFileSync(template)))) {
    if (content === undefined) mkdirSync(join(partial, path), { recursive: true, mode: 0o700 });
    else writeFileSync(join(partial, path), content, { mode: 0o600 });
  }
  finishPartial(partial, folder);
}

/** Removes what starts that were cut off left behind, and names the folder to fill. */
export function startPartial(folder: string): string {
  const prefix = `${basename(folder)}.partial-`;
  for (const name of readdirSync(dirname(folder))) {
    if (name.startsWith(prefix)) rmSync(join(dirname(folder), name), { recursive: true, force: true });
  }
  return join(dirname(folder), `${prefix}${process.pid}`);
}

/** In one rename: a process that is killed half-way leaves nothing that looks complete. */
export function finishPartial(partial: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  renameSync(partial, folder);
}
