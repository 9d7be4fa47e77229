/** Files that take their name once they are whole and on the disk, in place of what was there. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CommandError } from '../../command-error.ts';

/** Nobody else may read who the registrants are. */
const MODE = 0o600;

export async function writeWhole<Result>(file: string, fill: (part: FileHandle) => Promise<Result>): Promise<Result> {
  const part = `${file}.part`;
  let handle: FileHandle;
  try {
    handle = await open(part, 'w', MODE);
  } catch (error) {
    throw new CommandError(`${part} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
  let result: Result;
  try {
    result = await fill(handle);
    await handle.sync();
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  await rename(part, file);
  return result;
}

export async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** As `sha256sum --check` reads it. */
export async function writeHashes(
  hashFile: string,
  files: readonly { readonly file: string; readonly sha256: string }[],
): Promise<void> {
  const lines = files.map(({ file, sha256 }) => `${sha256}  ${basename(file)}\n`);
  await writeWhole(hashFile, (part) => part.appendFile(lines.join('')));
}
