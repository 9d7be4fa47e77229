/** Which test files a change reaches, by the imports between it and them: the nearer, the sooner a defect of it shows there. */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { importsOf } from '../conformance/import-graph.ts';

/** Commits of a clean checkout belong to its change if they are at most this much older than the last. */
const CHANGE_AGE_S = 24 * 3_600;

/** A migration has no imports; what applies it in tests does. */
const MIGRATION = { folder: 'migrations/', importer: 'test/support/database.ts' };

/**
 * Files that differ from where the change began, committed or not, relative to `root`. It began at IRONCRAFT_CHANGED_SINCE (a
 * commit), or where the upstream branch stands, or, on a branch that is not ahead of one, a day before the last commit. Empty without git.
 */
export function findChangedFiles(root: string, since = process.env.IRONCRAFT_CHANGED_SINCE): string[] {
  const git = (...args: string[]): string => {
    const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
    return status === 0 ? stdout.trim() : '';
  };
  const head = git('rev-parse', 'HEAD');
  const upstream = git('merge-base', 'HEAD', '@{upstream}');
  const dayBefore = () =>
    git('rev-list', '-1', `--before=${Number(git('log', '-1', '--format=%ct')) - CHANGE_AGE_S}`, 'HEAD');
  const base = since || (upstream !== head && upstream) || dayBefore() || head;
  const lines = [git('diff', '--name-only', base), git('ls-files', '--others', '--exclude-standard')];
  return lines.flatMap((text) => text.split('\n')).filter((line) => line !== '');
}

/** Imports from each file of the changed ones to each that it imports are walked backwards. 0 for a changed file itself. */
export function measureDistances(root: string, changed: readonly string[]): ReadonlyMap<string, number> {
  const importers = readImporters(root);
  const distances = new Map<string, number>();
  let reached = changed.map((file) => (file.startsWith(MIGRATION.folder) ? MIGRATION.importer : file));
  for (let distance = 0; reached.length > 0; distance += 1) {
    const isNew = (file: string) => !distances.has(file);
    const fresh = [...new Set(reached)].filter(isNew);
    for (const file of fresh) distances.set(file, distance);
    reached = fresh.flatMap((file) => importers.get(file) ?? []).filter(isNew);
  }
  return distances;
}

function readImporters(root: string): Map<string, string[]> {
  const importers = new Map<string, string[]>();
  for (const found of globSync('{src,test,bench}/**/*.ts', { cwd: root, exclude: ['**/node_modules/**'] })) {
    const path = found.replaceAll(sep, '/');
    for (const target of importsOf(path, readFileSync(join(root, path), 'utf8'))) {
      importers.set(target, [...(importers.get(target) ?? []), path]);
    }
  }
  return importers;
}
