/** The longest files first, so that no process is left with one of them at the end. */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheFolder } from '../support/cache-folder.ts';
import type { TaskReport } from './report.ts';
import { isHeavy, root, STORES, type Task } from './select-files.ts';

const durationsFile = join(cacheFolder, 'test-durations.json');
/**
 * About what the longest files take, for where nothing has run yet, as in CI. Those not named here are short, and the longer
 * ones of them tend to be long to read too.
 */
const USUAL_SECONDS: Readonly<Record<string, number>> = {
  'test/hostile/every-case.test.ts': 150,
  'src/platform/knowledge/read/document-reader.test.ts': 140,
  'test/faults/questions-kill.test.ts': 90,
  'test/faults/ingest-kill.test.ts': 70,
  'test/faults/channels-kill.test.ts': 65,
  'test/faults/poison.test.ts': 60,
  'test/conformance/fuzz.test.ts': 60,
  'test/readme/readme.test.ts': 60,
  'test/faults/kill-nine.test.ts': 55,
  'test/faults/mcp-kill.test.ts': 50,
  'test/boot/command-line.test.ts': 45,
  'test/boot/stop-while-starting.test.ts': 45,
  'test/conformance/access.test.ts': 44,
  'test/faults/drain.test.ts': 43,
  'test/faults/store-loss.test.ts': 41,
  'test/faults/uploads.test.ts': 40,
  'test/faults/oauth-kill.test.ts': 40,
  'test/faults/orders-kill.test.ts': 38,
  'test/faults/two-replicas.test.ts': 45,
  'test/faults/wallet-kill.test.ts': 33,
  'test/faults/webhooks-kill.test.ts': 33,
  'test/faults/schedules-kill.test.ts': 33,
  'src/platform/channels/outbound/live.test.ts': 30,
  'src/platform/mcp/protocol-conformance.test.ts': 26,
  'src/platform/mcp/hostile-servers.test.ts': 24,
  'src/platform/resources/vector-stores/vector-stores.test.ts': 24,
  'src/platform/schedules/firing.test.ts': 24,
  'src/kernel/jobs/jobs.test.ts': 22,
  'src/kernel/http/lateness.test.ts': 21,
  'src/kernel/child-process/child-pool.test.ts': 20,
  'test/conformance/large-pages.test.ts': 20,
  'test/hostile/long-work.test.ts': 19,
  'src/platform/knowledge/embed/builtin-embedder.test.ts': 18,
  'test/boot/end-of-server.test.ts': 17,
  'test/conformance/references.test.ts': 17,
  'src/kernel/db/connect-embedded.test.ts': 15,
  'src/kernel/http/watch-connections.test.ts': 15,
  'test/boot/operating-guide.test.ts': 14,
  'test/faults/hosted-kill.test.ts': 14,
  'src/platform/resources/hosted/browser-client.test.ts': 14,
  'src/platform/engine/hand-over.test.ts': 13,
};
const MS_PER_BYTE = 0.2;

type Durations = Readonly<Record<string, number>>;

/**
 * Of those that keep more than their own process busy only so many may be under way, so they come first. Then all of one store,
 * so that its processes can end, and of one service in it, so that what they share of the other can be closed.
 */
export function orderTasks(tasks: readonly Task[]): Task[] {
  const durations = readDurations();
  const duration = (task: Task) => durations[nameTask(task)] ?? estimateMs(task);
  const turn = ({ file, store }: Task) =>
    isHeavy(file) ? -1 : 2 * STORES.indexOf(store) + (isOfDomains(file) ? 1 : 0);
  return tasks.toSorted((a, b) => turn(a) - turn(b) || duration(b) - duration(a));
}

function isOfDomains(file: string): boolean {
  return /\bdomains\b|^test\/epp\//.test(file);
}

function nameTask({ file, store }: Task): string {
  return store === 'server' ? `${file} on the server` : file;
}

function estimateMs(task: Task): number {
  const usualSeconds = USUAL_SECONDS[nameTask(task)] ?? USUAL_SECONDS[task.file];
  return usualSeconds === undefined ? statSync(join(root, task.file)).size * MS_PER_BYTE : usualSeconds * 1_000;
}

/** Keeps what was measured for the next run. */
export function keepDurations(reports: readonly TaskReport[]): void {
  const measured = reports.map((report) => [nameTask(report), Math.round(report.durationMs)]);
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
