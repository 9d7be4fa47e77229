/** Where a change shows comes first, then the longest files, so that no process is left with one of them at the end. */
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
  'test/faults/ingest-kill.soak.ts': 80,
  'test/faults/poison.soak.ts': 61,
  'test/faults/orders-kill.soak.ts': 57,
  'test/faults/kill-nine.soak.ts': 43,
  'test/faults/oauth-kill.soak.ts': 41,
  'test/faults/channels-kill.soak.ts': 40,
  'test/faults/mcp-kill.soak.ts': 39,
  'test/faults/store-loss.soak.ts': 36,
  'test/faults/till-kill.soak.ts': 36,
  'src/platform/knowledge/read/document-reader.test.ts': 30,
  'test/faults/live-kill.soak.ts': 25,
  'test/faults/questions-kill.soak.ts': 25,
  'test/faults/schedules-kill.soak.ts': 22,
  'test/faults/wallet-kill.soak.ts': 18,
  'test/conformance/access.test.ts': 17,
  'test/faults/store-unavailable.test.ts': 17,
  'test/hostile/some-cases.test.ts': 17,
  'test/simulation/domains-orders.test.ts': 17,
  'src/domains/registry/epp/client/epp-client.test.ts': 16,
  'src/platform/resources/hosted/browser-client.test.ts': 16,
  'src/platform/mcp/suspended-calls.test.ts': 15,
  'test/boot/processes.test.ts': 14,
  'test/boot/serve.test.ts': 14,
  'test/faults/hosted-kill.soak.ts': 14,
  'test/simulation/platform-files.test.ts': 14,
  'test/simulation/platform-turns.test.ts': 14,
  'src/platform/engine/timeline/run-signals.test.ts': 13,
  'test/conformance/openai-walks.test.ts': 13,
  'test/faults/kill-at-barrier.test.ts': 13,
  'src/platform/sandbox/box-limits.test.ts': 12,
  'test/boot/one-start.test.ts': 12,
  'test/conformance/fuzz.test.ts': 12,
  'test/simulation/platform-work.test.ts': 12,
  'src/kernel/child-process/child-pool.test.ts': 11,
  'src/platform/channels/outbound/sending.test.ts': 11,
  'src/platform/engine/replica/takeover.test.ts': 11,
  'src/platform/resources/channel-webhooks/slack.test.ts': 11,
  'src/domains/notices/notices.test.ts': 10,
  'src/platform/knowledge/embed/builtin-embedder.test.ts': 10,
  'src/platform/resources/runs/answer-question.test.ts': 10,
  'src/platform/resources/runs/run-failures.test.ts': 10,
  'src/platform/resources/vector-stores/store-contract.test.ts': 10,
  'test/hostile/legitimate-documents.test.ts': 10,
  'src/platform/connections/provider-quirks.test.ts': 9,
  'src/platform/resources/memory/memory.test.ts': 9,
  'src/platform/resources/oauth-server/mutated-requests.test.ts': 9,
  'test/conformance/lists.test.ts': 9,
  'test/runner/runner.test.ts': 9,
  'test/simulation/platform-money.test.ts': 9,
  'src/domains/dns/dnssec/dnssec-faults.test.ts': 8,
  'src/domains/events/events-of-names.test.ts': 8,
  'src/platform/engine/hand-over.test.ts': 8,
  'src/platform/mcp/hostile-servers.test.ts': 8,
  'src/platform/mcp/protocol-conformance.test.ts': 8,
  'src/platform/resources/oauth-server/consent-page.test.ts': 8,
  'src/platform/schedules/firing.test.ts': 8,
  'test/conformance/references.test.ts': 8,
  'test/simulation/domains-names.test.ts': 8,
  'test/simulation/domains-wallet.test.ts': 8,
  'src/domains/orders/shared-limits.test.ts': 7,
  'src/domains/registry/routing-registry.test.ts': 7,
  'src/domains/resources/settings/glue.test.ts': 7,
  'src/kernel/jobs/jobs.test.ts': 7,
  'src/platform/resources/channel-webhooks/discord.test.ts': 7,
  'src/platform/resources/responses/request-mcp.test.ts': 7,
  'test/conformance/idempotency.test.ts': 7,
  'test/conformance/rate-limits.test.ts': 7,
  'test/faults/drain.test.ts': 7,
};
const MS_PER_BYTE = 0.2;
/** Imports between a change and a test from which on the test says little of the change. */
const FAR = 3;
/** Files of a large change that come first: with all of them the longest would come last, and keep one process busy while others idle. */
const MAX_NEAR = 40;

type Durations = Readonly<Record<string, number>>;

/**
 * Of the files that a change reaches by at most two imports some come first, the nearest and shortest: most defects of the change
 * show there. Then heavy files, as only so many of them may be under way; then all of one store, so that its processes can
 * end, and of one service in it, so that what they share of the other can be closed; the longest first.
 */
export function orderTasks(tasks: readonly Task[], distances: ReadonlyMap<string, number> = new Map()): Task[] {
  const durations = readDurations();
  const duration = (task: Task) => durations[nameTask(task)] ?? estimateMs(task);
  const distance = ({ file }: Task) => Math.min(distances.get(file) ?? Number.POSITIVE_INFINITY, FAR);
  const turn = ({ file, store }: Task) =>
    isHeavy(file) ? -1 : 2 * STORES.indexOf(store) + (isOfDomains(file) ? 1 : 0);
  const compareNear = (a: Task, b: Task) => distance(a) - distance(b) || duration(a) - duration(b);
  const compareFar = (a: Task, b: Task) => turn(a) - turn(b) || duration(b) - duration(a);
  const reached = tasks.filter((task) => distance(task) < FAR);
  const near = new Set(reached.toSorted(compareNear).slice(0, MAX_NEAR));
  return [...near, ...tasks.filter((task) => !near.has(task)).toSorted(compareFar)];
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
