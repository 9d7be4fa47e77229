/** Which test files belong to which run, and which of them get a process of their own. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { UsageError } from './usage-error.ts';

export const root = resolve(import.meta.dirname, '../..');

/**
 * The gate asks whether a change broke something: `*.test.ts`, short and the same each time. The soak asks whether the product is still
 * as strong as it was: `*.soak.ts`, long, timed and random, and all of the gate with other seeds and on both stores.
 */
export type Ring = 'gate' | 'soak';

export const RINGS: readonly Ring[] = ['gate', 'soak'];

/** Which store the tests of a file have: the embedded one, or the server of IRONCRAFT_TEST_DATABASE_URL. */
export type Store = 'embedded' | 'server';

export const STORES: readonly Store[] = ['embedded', 'server'];

export interface Task {
  readonly file: string;
  readonly store: Store;
}

const FILES: Readonly<Record<Ring, string>> = {
  gate: '{src,test,bench}/**/*.test.ts',
  soak: '{src,test,bench}/**/*.{test,soak}.ts',
};
const TEST_FILE = /\.(?:test|soak)\.ts$/;

/** The ring that a file belongs to by its name, also where it is named to run alone. */
export function ringOf(file: string): Ring {
  return file.endsWith('.soak.ts') ? 'soak' : 'gate';
}

/**
 * Where the gate has a server, files that it runs on the embedded store too: the main flows of both services. So are all files
 * that compare the stores (`describeOnEachStore`). The soak runs everything on both.
 */
const MAIN_FLOWS: readonly string[] = [
  'src/domains/resources/domains/register.test.ts',
  'src/domains/resources/top-ups/top-ups.test.ts',
  'src/domains/resources/zones/zones.test.ts',
  'src/platform/resources/approvals/approvals.test.ts',
  'src/platform/resources/responses/responses.test.ts',
];
const COMPARES_STORES = /\bdescribeOnEachStore\(/;

/** What a file holds that cannot share its process with what other files have started, and why. */
const ALONE: ReadonlyMap<RegExp, string> = new Map([
  [/\bmock\.timers\b|mock\.method\(performance\b/, 'turns the clock of the whole process'],
  [/\bcreateLatenessMonitor\b|\boverloadDelayMs: \d/, 'holds the event loop up and measures it'],
  [/\bwatchServer\b/, 'measures a server with the whole machine'],
  [/\bwatchEventLoop\b/, 'holds the event loop up and watches it from a thread'],
  [/'connectionAttempt'/, 'counts the connections of the whole process'],
  [/\bmemoryUsage\b/, 'measures the memory of the whole process'],
  [/process\.on\('(?:uncaughtException|unhandledRejection)'/, 'takes what nothing in the process catches'],
  [/\brunVerbInProcess\b/, 'changes the environment and the working folder'],
  [/\bfindOwnStarter\b/, 'kills what starts the children of the whole process'],
  [/\bprepareCgroups\('auto'\)/, 'moves the whole process to another cgroup'],
  [/process\.env(?:\.\w+|\[\w+\]) = /, 'changes the environment'],
]);

/** Why this file gets a process of its own; undefined where it needs none. */
export function reasonToRunAlone(file: string): string | undefined {
  const text = readFileSync(join(root, file), 'utf8');
  return [...ALONE].find(([pattern]) => pattern.test(text))?.[1];
}

/**
 * Whether this file has several servers work at once. What they owe to each other in time, such as a heartbeat or a lease, they
 * owe on a busy machine too: the runner has only as many of such files under way as there are cores.
 */
export function isHeavy(file: string): boolean {
  return /^test\/(?:faults|hostile)\//.test(file);
}

/**
 * Files that wait for most of their time: for what comes by the clock, or for children that leave the processors to others.
 * Where there are three workers or more one of these is under way beside what those compute.
 */
const WAITING: ReadonlySet<string> = new Set([
  'src/domains/events/events-of-names.test.ts',
  'src/domains/orders/shared-limits.test.ts',
  'src/domains/registry/epp/client/epp-client.test.ts',
  'src/domains/registry/routing-registry.test.ts',
  'src/kernel/jobs/jobs.test.ts',
  'src/platform/channels/outbound/live.test.ts',
  'src/platform/channels/outbound/sending.test.ts',
  'src/platform/connections/provider-quirks.test.ts',
  'src/platform/engine/replica/takeover.test.ts',
  'src/platform/knowledge/embed/builtin-embedder.test.ts',
  'src/platform/knowledge/read/document-reader.test.ts',
  'src/platform/knowledge/read/read-formats.test.ts',
  'src/platform/mcp/suspended-calls.test.ts',
  'src/platform/resources/channel-webhooks/discord.test.ts',
  'src/platform/resources/channel-webhooks/slack.test.ts',
  'src/platform/resources/channel-webhooks/sms.test.ts',
  'src/platform/resources/chat-completions/failed-turns.test.ts',
  'src/platform/resources/oauth-server/metadata-documents.test.ts',
  'src/platform/resources/runs/answer-question.test.ts',
  'src/platform/resources/runs/run-failures.test.ts',
  'src/platform/sandbox/box-limits.test.ts',
  'src/platform/schedules/firing.test.ts',
]);

export function isWaiting(file: string): boolean {
  return WAITING.has(file);
}

/** What to run; with `patterns` those files alone, whatever ring they belong to. Each on the server where there is one. */
export function selectTasks(ring: Ring, patterns: readonly string[]): Task[] {
  const hasServer = (process.env.IRONCRAFT_TEST_DATABASE_URL ?? '') !== '';
  const files = patterns.length > 0 ? [...new Set(patterns.flatMap(findPattern))] : findFiles(FILES[ring]);
  const on = (store: Store, chosen: readonly string[]): Task[] => chosen.map((file) => ({ file, store }));
  if (!hasServer) return on('embedded', files);
  const isOnBoth = (file: string) => (ring === 'soak' ? reachesStore(join(root, file)) : belongsToEmbedded(file));
  return [...on('server', files), ...on('embedded', files.filter(isOnBoth))];
}

function findFiles(pattern: string): string[] {
  return globSync(pattern, { cwd: root, exclude: ['**/node_modules/**', 'test/runner/fixtures/**'] })
    .map((file) => file.replaceAll(sep, '/'))
    .sort();
}

function belongsToEmbedded(file: string): boolean {
  return MAIN_FLOWS.includes(file) || COMPARES_STORES.test(readFileSync(join(root, file), 'utf8'));
}

function findPattern(pattern: string): string[] {
  const relative = pattern.startsWith(root) ? pattern.slice(root.length + 1) : pattern;
  const isFile = /\.ts$/.test(relative) && existsSync(join(root, relative));
  const beside = relative.replace(/\.ts$/, '.test.ts');
  if (isFile && !TEST_FILE.test(relative) && existsSync(join(root, beside)))
    throw new UsageError(`${relative} is no test: its tests are in ${beside}`);
  if (isFile) return [relative];
  const found = [...findFiles(relative), ...findFiles(`${relative}/**`)].filter((file) => TEST_FILE.test(file));
  if (found.length === 0) throw new UsageError(`no test file is named ${pattern}`);
  return found;
}

/** From which imports lead to a database: what else there is does the same on every store. */
const STORE_MODULES = ['test/support/database.ts', 'test/faults/fleet.ts'].map((path) => join(root, path));
/** At the beginning of a line, where the formatter puts them; a type alone loads nothing. */
const IMPORT = /^(?:import|export)\b(?! type\b)[^;']*'(?<path>\.[^']+\.ts)'/gm;

const known = new Map<string, boolean>(STORE_MODULES.map((path) => [path, true]));

function reachesStore(path: string): boolean {
  const found = known.get(path);
  if (found !== undefined) return found;
  // A circle leads nowhere new.
  known.set(path, false);
  if (!existsSync(path)) return false;
  const imports = [...readFileSync(path, 'utf8').matchAll(IMPORT)];
  const reaches = imports.some(({ groups }) => reachesStore(join(dirname(path), groups?.path ?? '')));
  known.set(path, reaches);
  return reaches;
}
