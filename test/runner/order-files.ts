/** The longest files first, so that no process is left with one of them at the end. */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheFolder } from '../support/cache-folder.ts';
import type { FileReport } from './messages.ts';
import { root } from './select-files.ts';

const durationsFile = join(cacheFolder, 'test-durations.json');
/** What a file takes that has never run here: long ones tend to be long to read too. */
const MS_PER_BYTE = 0.2;

type Durations = Readonly<Record<string, number>>;

export function orderFiles(files: readonly string[]): string[] {
  const durations = readDurations();
  const duration = (file: string) => durations[file] ?? statSync(join(root, file)).size * MS_PER_BYTE;
  return files.toSorted((a, b) => duration(b) - duration(a));
}

/** Keeps what was measured for the next run. */
export function keepDurations(reports: readonly FileReport[]): void {
  const measured = reports.map(({ file, durationMs }) => [file, Math.round(durationMs)]);
  const partial = `${durationsFile}.partial-${process.pid}`;
  mkdirSync(dirname(durationsFile), { recursive: true });
  writeFileSync(partial, JSON.stringify({ ...readDurations(), ...Object.fromEntries(measured) }));
  renameSync(partial, durationsFile);
}

function readDurations(): Durations {
  try {
    return JSON.parse(readFileSync(durationsFile, 'utf8'));
  } catch {
    return {};
  }
}
