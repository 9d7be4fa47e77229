/**
 * A worker process of the test runner: runs the files it is told to, one after the other, each inside a suite of its own, so
 * that hooks at the top of a file are that file's. What the files share is closed at the end.
 */
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { suite } from 'node:test';
import { pathToFileURL } from 'node:url';
import { closeShared, endFile, keepShared } from '../support/shared.ts';
import type { FileReport, Order, Outcome, RunFile, WorkerMessage } from './messages.ts';
import { compareProcessState, type ProcessState, readProcessState } from './process-state.ts';
import { processorMs } from './processor-time.ts';
import { nextSuite } from './report-events.ts';
import { seedProperties } from './seed-properties.ts';

const root = resolve(import.meta.dirname, '../..');
/** Closed connections and ended threads may take a moment. */
const END_MS = 10_000;

/** New names in the scratch folder, and the file during which each came. */
const scratch = new Map<string, string>();

async function runFile({ file, limitMs }: RunFile): Promise<FileReport> {
  let state: ProcessState = new Map();
  const startMs = performance.now();
  const startProcessorMs = processorMs();
  const ended = nextSuite();
  suite(file, { timeout: limitMs }, async () => {
    // Here, because node:test itself listens from its first suite on.
    state = readProcessState();
    await import(pathToFileURL(join(root, file)).href);
  });
  const { outcomes, diagnostics } = await ended;
  await endFile();
  for (const name of listScratch()) if (!scratch.has(name)) scratch.set(name, file);
  return {
    file,
    outcomes: [...outcomes, ...judgeWhole(outcomes, compareProcessState(state, readProcessState()))],
    diagnostics,
    durationMs: performance.now() - startMs,
    processorMs: processorMs() - startProcessorMs,
    residentBytes: process.memoryUsage.rss(),
  };
}

function judgeWhole(outcomes: readonly Outcome[], changes: readonly string[]): Outcome[] {
  const failed = (error: string): Outcome => ({ state: 'failed', path: [], error });
  const whole: Outcome[] = [];
  if (outcomes.length === 0) whole.push(failed('The file declares no test.'));
  if (changes.length > 0)
    whole.push(failed(`The file changed what all files of a process share: ${changes.join(', ')}.`));
  return whole;
}

function listScratch(): string[] {
  return readdirSync(tmpdir());
}

async function end(): Promise<void> {
  await closeShared();
  for (const name of listScratch()) {
    tell({ type: 'trouble', text: `${scratch.get(name) ?? 'what files share'} left ${name} in the scratch folder` });
  }
  process.off('disconnect', exitAlone);
  process.disconnect();
  const late = setTimeout(() => {
    console.error(`Still open after the last test: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit(1);
  }, END_MS);
  late.unref();
}

/** The runner was killed: nobody waits for the files any more. */
function exitAlone(): void {
  process.exit(1);
}

function tell(message: WorkerMessage): void {
  process.send?.(message);
}

seedProperties();
// Held until the end: what one file gives back the next one uses.
keepShared();
process.on('disconnect', exitAlone);
process.on('message', async (order: Order) => {
  if (order.type === 'end') return end();
  tell({ type: 'finished', report: await runFile(order) });
});
tell({ type: 'ready' });
