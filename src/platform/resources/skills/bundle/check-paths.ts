/** The paths of a bundle's files: safe to unpack anywhere, and each but once. */
import { invalidBundle } from './bundle-file.ts';

const MAX_PATH_BYTES = 512;
const MAX_NAME_BYTES = 255;
const MAX_DEPTH = 16;
export const MANIFEST = 'SKILL.md';
/** What archives of macOS hold beside the files. */
const LITTER = /^__MACOSX\/|(?:^|\/)\.DS_Store$/;

/** False for what an operating system put into the bundle. */
export function isOwnFile(path: string): boolean {
  return !LITTER.test(path);
}

/** Throws `invalid_bundle` for a path that leads out of the bundle, or that a file system could not hold. */
export function checkPath(path: string): void {
  const shown = JSON.stringify(path.slice(0, 100));
  if (path === '' || Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw invalidBundle(`A path must have 1 to ${MAX_PATH_BYTES} bytes: ${shown}.`);
  }
  if (!path.isWellFormed() || /[\p{Cc}\\\ufffd]/u.test(path)) {
    throw invalidBundle(`A path has characters that are not allowed (control characters, backslashes): ${shown}.`);
  }
  const names = path.split('/');
  if (names.length > MAX_DEPTH) throw invalidBundle(`A path is deeper than ${MAX_DEPTH} folders: ${shown}.`);
  for (const name of names) {
    if (name === '' || name === '.' || name === '..' || /^[A-Za-z]:$/.test(name)) {
      throw invalidBundle(`A path must be relative, without empty names, \`.\` and \`..\`: ${shown}.`);
    }
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
      throw invalidBundle(`A name in a path must have at most ${MAX_NAME_BYTES} bytes: ${shown}.`);
    }
  }
}

/** Throws `invalid_bundle` where two files have one path, or a file has that of a folder. */
export function checkDistinct(paths: readonly string[]): void {
  const files = new Set<string>();
  for (const path of paths) {
    if (files.has(path)) throw invalidBundle(`Two files have one path: ${JSON.stringify(path)}.`);
    files.add(path);
  }
  for (const path of paths) {
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
      if (!files.has(path.slice(0, slash))) continue;
      throw invalidBundle(`A file and a folder have one path: ${JSON.stringify(path.slice(0, slash))}.`);
    }
  }
}

/**
 * The folder that all files lie in, with its slash, where SKILL.md lies in it; '' where SKILL.md lies at the top. Throws
 * `invalid_bundle` without either.
 */
export function findRoot(paths: readonly string[]): string {
  if (paths.includes(MANIFEST)) return '';
  const [first = ''] = paths;
  const root = first.slice(0, first.indexOf('/') + 1);
  if (root !== '' && paths.every((path) => path.startsWith(root)) && paths.includes(root + MANIFEST)) return root;
  throw invalidBundle(`The bundle has no \`${MANIFEST}\` at its top, or in the one folder that everything lies in.`);
}
