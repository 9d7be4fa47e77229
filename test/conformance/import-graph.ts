/** The imports of src/, and the rules that they must keep. Pure: sources in, broken rules out. */
import { dirname, posix } from 'node:path';

/** Sources by path from the root of the repository, with forward slashes: `src/kernel/ids/ids.ts`. */
export type Sources = ReadonlyMap<string, string>;

/** What the command line may know of the domain service. */
const DOMAINS = ['domains app', 'domains spending', 'domains registries', 'domains parts', 'domains ground'];

/**
 * The layers, by the folders or files that they are, and what each may import besides itself and the kernel. An arrow
 * that is not here is wrong; a folder that is not here needs a place in the plan first.
 */
const layers: Readonly<Record<string, { readonly paths: readonly string[]; readonly may: readonly string[] }>> = {
  'command-line': {
    paths: ['src/command-line/'],
    may: [
      'app',
      'boot',
      'operator',
      'resources',
      'engine',
      'models',
      'webhooks',
      'channels',
      'connections',
      'sandbox',
      'mcp',
      'access',
      'tables',
      ...DOMAINS,
    ],
  },
  kernel: { paths: ['src/kernel/'], may: [] },
  app: {
    paths: ['src/platform/app.ts', 'src/platform/reference.ts'],
    may: [
      'resources',
      'engine',
      'models',
      'schemas',
      'tools',
      'mcp',
      'knowledge',
      'configuration',
      'usage',
      'budgets',
      'feed',
      'access',
      'maintenance',
      'traces',
      'schedules',
      'channels',
      'connections',
      'hosted',
      'mcp-surface',
      'authorization-server',
      'webhooks',
      'sandbox',
      'billing',
      'tables',
    ],
  },
  webhooks: { paths: ['src/platform/webhooks/'], may: ['feed', 'tables'] },
  // The box that commands run in.
  sandbox: { paths: ['src/platform/sandbox/'], may: ['tools', 'usage', 'feed', 'tables'] },
  billing: { paths: ['src/platform/billing/'], may: ['feed', 'tables'] },
  traces: { paths: ['src/platform/traces/'], may: ['engine', 'usage', 'tools', 'models', 'tables'] },
  // The kinds of channels, what deployments of each are made of, and how messages come and go.
  channels: {
    paths: ['src/platform/channels/'],
    may: ['surfaces', 'turn-queues', 'smiths', 'engine', 'feed', 'tables'],
  },
  // The client side of OAuth.
  connections: { paths: ['src/platform/connections/'], may: ['mcp', 'smiths', 'access', 'tables'] },
  // A surface for people without an account.
  hosted: {
    paths: ['src/platform/hosted/'],
    may: ['channels', 'surfaces', 'smiths', 'engine', 'tables'],
  },
  // A surface for MCP clients.
  'mcp-surface': {
    paths: ['src/platform/mcp-surface/'],
    may: ['surfaces', 'engine', 'schemas', 'access', 'tables'],
  },
  // Programs that ask people for tokens.
  'authorization-server': { paths: ['src/platform/authorization-server/'], may: ['access', 'tables'] },
  schedules: { paths: ['src/platform/schedules/'], may: ['surfaces', 'turn-queues', 'engine', 'tables'] },
  // Turns that begin on their own account.
  'turn-queues': { paths: ['src/platform/turn-queues/'], may: ['tables'] },
  maintenance: { paths: ['src/platform/maintenance/'], may: ['feed', 'access', 'tables'] },
  boot: { paths: ['src/platform/boot/'], may: ['resources', 'access', 'tables'] },
  operator: { paths: ['src/platform/operator/'], may: ['resources', 'billing', 'feed', 'access', 'tables'] },
  resources: {
    paths: ['src/platform/resources/'],
    may: [
      'authorization-server',
      'billing',
      'channels',
      'connections',
      'hosted',
      'mcp-surface',
      'traces',
      'schedules',
      'webhooks',
      'sandbox',
      'surfaces',
      'smiths',
      'engine',
      'models',
      'schemas',
      'tools',
      'mcp',
      'knowledge',
      'configuration',
      'usage',
      'budgets',
      'feed',
      'threads',
      'access',
      'tables',
    ],
  },
  // Whoever starts, follows, pauses, resumes and answers turns.
  surfaces: {
    paths: ['src/platform/surfaces/'],
    may: ['smiths', 'engine', 'models', 'schemas', 'tools', 'knowledge', 'feed', 'threads', 'access', 'tables'],
  },
  smiths: { paths: ['src/platform/smiths/'], may: ['configuration', 'feed', 'threads', 'access', 'tables'] },
  engine: {
    paths: ['src/platform/engine/'],
    may: [
      'billing',
      'models',
      'schemas',
      'tools',
      'knowledge',
      'configuration',
      'usage',
      'budgets',
      'feed',
      'threads',
      'access',
      'tables',
    ],
  },
  configuration: { paths: ['src/platform/configuration/'], may: ['models', 'tools', 'tables'] },
  tools: { paths: ['src/platform/tools/'], may: ['knowledge', 'models', 'tables'] },
  mcp: { paths: ['src/platform/mcp/'], may: ['tools', 'schemas', 'tables'] },
  knowledge: {
    paths: ['src/platform/knowledge/'],
    may: ['models', 'usage', 'budgets', 'billing', 'feed', 'threads', 'tables'],
  },
  models: { paths: ['src/platform/models/'], may: ['schemas', 'tables'] },
  schemas: { paths: ['src/platform/schemas/'], may: ['tables'] },
  access: {
    paths: ['src/platform/access/'],
    may: ['feed', 'tables'],
  },
  // What was used, and what it may cost.
  usage: { paths: ['src/platform/usage/'], may: ['budgets', 'billing', 'tables'] },
  budgets: { paths: ['src/platform/budgets/'], may: ['feed', 'models', 'tables'] },
  feed: { paths: ['src/platform/feed/'], may: ['tables'] },
  threads: { paths: ['src/platform/threads/'], may: ['tables'] },
  tables: {
    paths: [
      'src/platform/tables.ts',
      'src/platform/tables/',
      'src/platform/store/',
      'src/platform/errors.ts',
      'src/platform/errors/',
    ],
    may: [],
  },
  // The domain service, which knows nothing of the platform, from its top down.
  'domains app': {
    paths: [
      'src/domains/app.ts',
      'src/domains/reference.ts',
      'src/domains/workers.ts',
      'src/domains/dependencies.ts',
      'src/domains/boot/',
      'src/domains/operator/',
    ],
    may: ['domains resources', 'domains spending', 'domains parts', 'domains registries', 'domains ground'],
  },
  'domains resources': {
    paths: ['src/domains/resources/'],
    may: ['domains spending', 'domains parts', 'domains ground'],
  },
  'domains spending': {
    paths: [
      'src/domains/auth-codes/',
      'src/domains/changes/',
      'src/domains/daily-look/',
      'src/domains/deletions/',
      'src/domains/holds/',
      'src/domains/orders/',
      'src/domains/notices/',
      'src/domains/renewals/',
      'src/domains/play-money/',
      'src/domains/portfolio/',
      'src/domains/receipts/',
      'src/domains/registrant-changes/',
      'src/domains/restorations/',
      'src/domains/trades/',
      'src/domains/transfers-out/',
      'src/domains/verifications/',
    ],
    may: ['domains parts', 'domains ground'],
  },
  'domains parts': {
    paths: [
      'src/domains/balances/',
      'src/domains/claims/',
      'src/domains/dns/',
      'src/domains/wallet/',
      'src/domains/mail/',
    ],
    may: ['domains ground'],
  },
  'domains registries': {
    paths: ['src/domains/registry/simulated/', 'src/domains/registry/epp/', 'src/domains/registry/notice-service/'],
    may: ['domains ground'],
  },
  'domains ground': {
    paths: [
      'src/domains/registry/claims-notices.ts',
      'src/domains/registry/dns-key.ts',
      'src/domains/registry/duties.ts',
      'src/domains/registry/explain-refusal.ts',
      'src/domains/registry/host-steps.ts',
      'src/domains/registry/registry.ts',
      'src/domains/registry/result-codes.ts',
      'src/domains/registry/routing-registry.ts',
      'src/domains/registry/same-holder.ts',
      'src/domains/registry/watch-registries.ts',
      'src/domains/registry/take-steps.ts',
      'src/domains/registry/term.ts',
      'src/domains/events/',
      'src/domains/registry/turns/',
      'src/domains/prices/',
      'src/domains/names/',
      'src/domains/access/',
      'src/domains/answer-once.ts',
      'src/domains/background-work.ts',
      'src/domains/deadline.ts',
      'src/domains/errors.ts',
      'src/domains/idempotency-store.ts',
      'src/domains/lapsed-leases.ts',
      'src/domains/list-page.ts',
      'src/domains/operation.ts',
      'src/domains/registrant.ts',
      'src/domains/tables.ts',
      'src/domains/workspace-scope.ts',
      'src/domains/zone-of-name.ts',
    ],
    may: [],
  },
};

const STORE = /^src\/(?:platform|domains)\/(?:resources\/[^/]+|smiths)\/(?:[\w-]+-)?store\.ts$/;
/** What a store may import besides the kernel and its own folder. */
const STORE_MAY = [
  'src/platform/tables.ts',
  'src/platform/store/tenant-db.ts',
  'src/platform/threads/index.ts',
  'src/platform/store/expiry.ts',
  // The size at which pages of large rows end.
  'src/platform/store/fit-page.ts',
  // The rule by which lists that are numbered rather than timed are paged.
  'src/platform/configuration/page-by-version.ts',
  // The row as the engine's statements read and write it.
  'src/platform/engine/index.ts',
  'src/domains/tables.ts',
  'src/domains/workspace-scope.ts',
];

/** Folders with rooms inside: whoever is outside knows their `index.ts` alone. An inner door stands behind its outer one. */
const FRONT_DOORS = [
  'src/platform/engine/',
  'src/platform/mcp/',
  'src/platform/schedules/',
  'src/platform/channels/',
  'src/platform/connections/',
  'src/platform/turn-queues/',
  'src/platform/hosted/',
  'src/platform/mcp-surface/',
  'src/platform/authorization-server/',
  'src/platform/schemas/',
  'src/platform/surfaces/',
  'src/platform/surfaces/openai/',
  'src/platform/threads/',
  'src/platform/traces/',
  'src/platform/usage/',
  'src/platform/budgets/',
  'src/platform/webhooks/',
  'src/platform/sandbox/',
  'src/platform/billing/',
];

/** What a tenant's handle stands on, which sees every tenant's rows. */
const UNSCOPED = 'src/platform/store/executor-of.ts';

const FORBIDDEN_NAMES = ['util', 'utils', 'helper', 'helpers', 'common', 'misc', 'manager', 'managers'];

/**
 * Where src/ waits otherwise than by `kernel/clock/timers.ts`, and why. A test that turns the clock of a replica has no hold on these.
 */
export const OWN_TIMERS: Readonly<Record<string, string>> = {
  'src/kernel/clock/timers.ts': 'it is what the others wait with',
  'src/kernel/jobs/boss-clock.ts': 'it gives that clock to pg-boss, whose port has these names',
  'src/kernel/child-process/spawner-program.ts': 'the program of a child process, which loads next to nothing',
  'src/kernel/child-process/watch-parent.js': 'a thread of a child process, which loads nothing',
  'src/kernel/event-loop/activity.ts': 'it measures what the event loop has computed since it last looked',
  'src/kernel/event-loop/watch-thread.ts': 'a thread of its own, which gets its source as text',
  'src/kernel/event-loop/watch-event-loop.ts': 'it measures how late the event loop itself is',
  'src/kernel/metrics/event-loop-lag.ts': 'it measures how late the event loop itself is',
  'src/kernel/http/lateness.ts': 'it measures how late the event loop itself is',
  'src/command-line/release-memory.ts': 'it measures what the process has used since it last looked',
  'src/platform/hosted/page/page.js': 'it runs in a browser',
};

/** One sentence for each rule that these sources break. */
export function findViolations(sources: Sources, dependencies: ReadonlySet<string>): string[] {
  const problems: string[] = [];
  const arrows = new Map<string, string[]>();
  for (const [path, source] of sources) {
    problems.push(
      ...checkName(path),
      ...checkEnvironment(path, source),
      ...checkTimers(path, source),
      ...checkTimeOfDay(path, source),
    );
    const imports = importsOf(path, source);
    arrows.set(
      path,
      imports.filter((target) => sources.has(target)),
    );
    for (const target of imports) problems.push(...checkImport(path, target, sources, dependencies));
  }
  return [...problems, ...findCircles(arrows)];
}

/** What a file imports: paths of files of the repository, and names of packages. */
export function importsOf(path: string, source: string): string[] {
  const specifiers = patterns.flatMap((pattern) => [...source.matchAll(pattern)].map((match) => match[1] ?? ''));
  return specifiers.map((specifier) => (specifier.startsWith('.') ? posix.join(dirname(path), specifier) : specifier));
}

const patterns = [
  /^\s*(?:import|export)\s[^;'"]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g,
  // Workers.
  /\bnew URL\(\s*['"]([^'"]+\.ts)['"]/g,
];

function checkName(path: string): string[] {
  const words = path.split(/[/.-]/);
  const bad = words.find((word) => FORBIDDEN_NAMES.includes(word));
  const problems = bad === undefined ? [] : [`${path}: "${bad}" names no concern`];
  if (!/^(?:[a-z0-9]+(?:-[a-z0-9]+)*[/.])+ts$/.test(path)) problems.push(`${path}: not in kebab-case`);
  return problems;
}

function checkEnvironment(path: string, source: string): string[] {
  const reads =
    /\bprocess\s*(?:\.\s*env\b|\[\s*['"]env['"])|\bimport\s*\{[^}]*\benv\b[^}]*\}\s*from\s*['"](?:node:)?process['"]/;
  const allowed = path.startsWith('src/kernel/config/') || isTest(path);
  return !allowed && reads.test(source) ? [`${path}: reads the environment, which is src/kernel/config's`] : [];
}

/** What a program waits with must be what a test can turn. `setImmediate` takes no time. */
export function checkTimers(path: string, source: string): string[] {
  if (!path.startsWith('src/') || isTest(path) || path in OWN_TIMERS) return [];
  const waits = [
    // A method of that name is another's: `server.setTimeout` is about its sockets.
    /(?<![.\w$#])set(?:Timeout|Interval)\b/,
    /\b(?:globalThis|global|window)\s*(?:\.\s*|\[\s*['"])set(?:Timeout|Interval)\b/,
    /\bAbortSignal\s*(?:\.\s*timeout\b|\[)/,
    // By another name, or whole: what is taken of it cannot be seen.
    /\bfrom\s*['"](?:node:)?timers['"]/,
    /\bimport\s+(?!\{\s*setImmediate\b[^,}]*\})[^;'"]*\bfrom\s*['"](?:node:)?timers\/promises['"]/,
    /\b(?:import|require)\(\s*['"](?:node:)?timers\b/,
  ];
  const isWaiting = waits.some((pattern) => pattern.test(source));
  return isWaiting ? [`${path}: waits by itself, which is src/kernel/clock/timers.ts's`] : [];
}

/** Where a service reads the time otherwise than by a `Clock`, and why. */
export const OWN_TIMES: Readonly<Record<string, string>> = {
  'src/platform/sandbox/host-folder.ts': 'it compares with times that the file system has written',
};

/** The services read the time of day from a clock, which a test can turn. The kernel measures, logs and keeps files as well: there it is left to the author. */
export function checkTimeOfDay(path: string, source: string): string[] {
  if (!/^src\/(?:platform|domains)\//.test(path) || isTest(path) || path in OWN_TIMES) return [];
  const isReading = /\bDate\.now\b|\bnew Date\(\)|(?<!new )\bDate\(\)/.test(source);
  return isReading ? [`${path}: reads the time by itself, which is src/kernel/clock/clock.ts's`] : [];
}

function checkImport(from: string, to: string, sources: Sources, dependencies: ReadonlySet<string>): string[] {
  if (isTest(from)) return [];
  if (!to.includes('/') || !to.startsWith('src/')) return checkOutside(from, to, dependencies);
  if (!sources.has(to)) return [`${from} imports ${to}, which does not exist`];
  if (isTest(to)) return [`${from} imports the test ${to}`];
  const [own, other] = [layerOf(from), layerOf(to)];
  if (own === undefined) return [`${from} is in no layer: give its folder a place in test/conformance/import-graph.ts`];
  if (other === undefined) return [`${to} is in no layer: give its folder a place in test/conformance/import-graph.ts`];
  if (STORE.test(from)) return checkStore(from, to);
  if (to === UNSCOPED && ['resources', 'surfaces', 'smiths'].includes(own)) {
    return [`${from} imports ${to}: what serves callers works on the scoped handle that it is given`];
  }
  const [ownFolder, otherFolder] = [resourceOf(from), resourceOf(to)];
  const toResource = otherFolder !== undefined && ownFolder !== otherFolder && own !== 'app' && own !== 'domains app';
  if (toResource && !to.endsWith('/index.ts')) return [`${from} imports ${to} past that folder's index.ts`];
  const door = FRONT_DOORS.findLast((folder) => to.startsWith(folder));
  if (door !== undefined && !from.startsWith(door) && to !== `${door}index.ts`) {
    return [`${from} imports ${to} past ${door}index.ts`];
  }
  const allowed = own === other || other === 'kernel' || layers[own]?.may.includes(other) === true;
  return allowed ? [] : [`${from} imports ${to}: no arrow leads from ${own} to ${other}`];
}

function checkOutside(from: string, to: string, dependencies: ReadonlySet<string>): string[] {
  if (to.startsWith('node:')) return [];
  if (/^(?:test|bench|\.\.)\//.test(to)) return [`${from} imports ${to}, which is not part of the product`];
  const name = to
    .split('/')
    .slice(0, to.startsWith('@') ? 2 : 1)
    .join('/');
  return dependencies.has(name) ? [] : [`${from} imports ${name}, which is no dependency of the package`];
}

function checkStore(from: string, to: string): string[] {
  const allowed = to.startsWith('src/kernel/') || dirname(to) === dirname(from) || STORE_MAY.includes(to);
  return allowed ? [] : [`${from} imports ${to}: a store knows the kernel and its tables`];
}

function layerOf(path: string): string | undefined {
  const belongs = ({ paths }: { readonly paths: readonly string[] }) =>
    paths.some((place) => (place.endsWith('/') ? path.startsWith(place) : path === place));
  return Object.entries(layers).find(([, layer]) => belongs(layer))?.[0];
}

function resourceOf(path: string): string | undefined {
  return /^src\/\w+\/resources\/([^/]+)\//.exec(path)?.[1];
}

function isTest(path: string): boolean {
  return /\.(?:test|soak)\.ts$/.test(path);
}

/** Each circle once, from the file that the walk entered it by. */
function findCircles(arrows: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): void => {
    if (done.has(path)) return;
    const at = trail.indexOf(path);
    if (at >= 0) {
      circles.push(`a circle: ${[...trail.slice(at), path].join(' → ')}`);
      return;
    }
    trail.push(path);
    for (const target of arrows.get(path) ?? []) visit(target);
    trail.pop();
    done.add(path);
  };
  for (const path of arrows.keys()) visit(path);
  return circles;
}
