/** Which source this process runs: the commit of the checkout, or the package's version where there is no checkout. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json, wherever the process was started. */
export const sourceRoot = fileURLToPath(new URL('../../', import.meta.url));

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** Reads the files of the repository itself: no `git` is needed. `root` is the folder of package.json. */
export function readSourceCommit(root: string): string {
  return readCheckoutCommit(root) ?? readPackageVersion(root);
}

export function readPackageVersion(root: string): string {
  const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const version =
    manifest !== null && typeof manifest === 'object' && 'version' in manifest ? manifest.version : undefined;
  return typeof version === 'string' ? version : 'unknown';
}

function readCheckoutCommit(root: string): string | undefined {
  const folder = findRepository(root);
  const head = readLine(join(folder, 'HEAD'));
  if (head === undefined || COMMIT.test(head)) return head;
  const ref = /^ref: (\S+)$/.exec(head)?.[1];
  if (ref === undefined) return undefined;
  // A linked work tree keeps its own HEAD and shares the refs.
  const shared = resolve(folder, readLine(join(folder, 'commondir')) ?? '.');
  const loose = readLine(join(folder, ref)) ?? readLine(join(shared, ref));
  return loose !== undefined && COMMIT.test(loose) ? loose : readPackedRef(shared, ref);
}

/** `.git` is a folder, or in a linked work tree a file that names one. */
function findRepository(root: string): string {
  const pointer = /^gitdir: (.+)$/.exec(readLine(join(root, '.git')) ?? '')?.[1];
  return pointer === undefined ? join(root, '.git') : resolve(root, pointer);
}

function readPackedRef(folder: string, ref: string): string | undefined {
  for (const line of readText(join(folder, 'packed-refs'))?.split('\n') ?? []) {
    const [commit, name] = line.split(' ');
    if (name === ref && commit !== undefined && COMMIT.test(commit)) return commit;
  }
  return undefined;
}

function readLine(path: string): string | undefined {
  return readText(path)?.split('\n', 1)[0]?.trim();
}

/** Undefined where there is no such file: the caller has another place to look. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
