/** Which test files belong to which run, and which of them get a process of their own. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

/**
 * `all` is every file that starts no server process, `process` is the others, `embedded` is both together; `server` is what
 * tests what the stores do. `stores` is `embedded` on the embedded store and `server` on the server, from one queue.
 */
export type Selection = 'all' | 'process' | 'embedded' | 'server' | 'stores';

export const SELECTIONS: readonly Selection[] = ['all', 'process', 'embedded', 'server', 'stores'];

/** Which store the tests of a file have: the embedded one, or the server of IRONCRAFT_TEST_DATABASE_URL. */
export type Store = 'embedded' | 'server';

export const STORES: readonly Store[] = ['embedded', 'server'];

export interface Task {
  readonly file: string;
  readonly store: Store;
}

const EVERYWHERE = '{src,test,bench}/**/*.test.ts';
/** Real processes of the program, as an operator runs, kills and scripts them. */
const PROCESS_FOLDERS = /^test\/(?:boot|faults|hostile|readme)\//;

/**
 * Files of `all` and `process` that have a store only because what they test comes with one: which it is makes no difference
 * to them, so that `server` leaves them out. Whatever looks at rows, races, locks, or who may see what is not among them.
 */
const NOT_OF_STORES: ReadonlyMap<RegExp, string> = new Map([
  [
    /^src\/kernel\/http\/(?!storage-faults)/,
    'sockets, bodies and answers; what a transaction undoes is tested by itself',
  ],
  [/^src\/kernel\/blobs\//, 'files'],
  [/^src\/domains\/registry\/epp\//, 'a wire format; the registry behind it is tested on each store by itself'],
  [/^src\/domains\/dns\/embedded\/(?:hostile-clients|cookies-and-rates)\./, 'packets'],
  [/^src\/platform\/(?:mcp|mcp-surface)\/(?:protocol|server)-conformance\./, 'a wire protocol'],
  [/^src\/platform\/mcp\/real-servers\./, 'what servers of others answer'],
  [/^src\/platform\/mcp-surface\/mcp-clients\./, 'what clients of others make of the answers'],
  [
    /^src\/platform\/mcp\/hostile-/,
    'addresses and answers that are refused; handler-server and suspended-calls store calls that fail',
  ],
  [
    /^src\/platform\/channels\/[\w-]+\/(?:telegram-test-api|emulate)\./,
    'what emulators of others make of the requests',
  ],
  [
    /^src\/platform\/resources\/channel-webhooks\/(?:discord|slack|sms|whatsapp)\./,
    'signatures and shapes of requests; channels-kill stores messages of each of these',
  ],
  [/^src\/platform\/channels\/outbound\/live\./, 'what providers are asked; live-kill stores what is shown'],
  [/^src\/platform\/channels\/email\/mail-port\./, 'a wire protocol'],
  [/^src\/platform\/connections\/hostile-issuers\./, 'addresses that are refused'],
  [
    /^src\/platform\/resources\/(?:responses\/stream-response|chat-completions\/stream-chat-completion)\./,
    'frames of other shapes; stream-run reads the same rows',
  ],
  [/^src\/platform\/resources\/[\w-]+\/[\w-]+-clients?\.test\.ts$/, 'what clients of others make of the answers'],
  [/^src\/platform\/resources\/model-keys\/private-addresses\./, 'addresses'],
  [
    /^src\/platform\/resources\/oauth-server\/consent-page\./,
    'pages in a browser; connectors and oauth-kill store what is consented to',
  ],
  [/^test\/conformance\/(?:bodies|compiled-schemas|openapi|operations|protocol|rate-limits|stream-frames)\./, 'HTTP'],
  [/^test\/hostile\/(?!replicas)/, 'texts and files that are refused, most of them by child processes'],
  [/^test\/epp\//, 'a wire format'],
  [/^test\/faults\/(?:drain|full-disk|slow-reader|uploads)\./, 'one process, those who call it, and its own disk'],
  [/^test\/store-template\//, 'the embedded store alone'],
  [/^test\/knowledge\//, 'how good the vectors of the built-in embedder are'],
]);

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
 * Files that wait for most of their time: for what comes by the clock, or for children that leave the processors to whoever wants them.
 * Where there are three workers or more one of these is under way beside what those compute.
 */
const WAITING =
  /^src\/(?:kernel\/jobs\/jobs|platform\/(?:channels\/outbound\/live|knowledge\/read\/(?:document-reader|read-formats)|mcp\/suspended-calls|schedules\/firing))\.test\.ts$/;

export function isWaiting(file: string): boolean {
  return WAITING.test(file);
}

/** What to run; with `patterns` those files alone, whatever selection they belong to. */
export function selectTasks(selection: Selection, patterns: readonly string[]): Task[] {
  const hasServer = (process.env.IRONCRAFT_TEST_DATABASE_URL ?? '') !== '';
  const on = (store: Store, files: readonly string[]): Task[] => files.map((file) => ({ file, store }));
  if (selection === 'stores') {
    if (!hasServer) throw new Error('set IRONCRAFT_TEST_DATABASE_URL to test on both stores');
    return [...on('embedded', selectFiles('embedded', patterns)), ...on('server', selectFiles('server', patterns))];
  }
  return on(hasServer ? 'server' : 'embedded', selectFiles(selection, patterns));
}

/** Repository paths in the order of the file system. */
function selectFiles(selection: Exclude<Selection, 'stores'>, patterns: readonly string[]): string[] {
  if (patterns.length > 0) return [...new Set(patterns.flatMap(findPattern))].sort();
  const files = globSync(EVERYWHERE, { cwd: root, exclude: ['**/node_modules/**'] }).sort();
  if (selection === 'server') return files.filter((file) => reachesStore(join(root, file)) && isOfStores(file));
  if (selection === 'embedded') return files;
  return files.filter((file) => PROCESS_FOLDERS.test(file) === (selection === 'process'));
}

function isOfStores(file: string): boolean {
  return ![...NOT_OF_STORES.keys()].some((pattern) => pattern.test(file));
}

function findPattern(pattern: string): string[] {
  const relative = pattern.startsWith(root) ? pattern.slice(root.length + 1) : pattern;
  if (/\.ts$/.test(relative) && existsSync(join(root, relative))) return [relative];
  const found = globSync([relative, `${relative}/**`], { cwd: root }).filter((file) => file.endsWith('.test.ts'));
  if (found.length === 0) throw new Error(`no test file is named ${pattern}`);
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
