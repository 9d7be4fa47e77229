/** Server processes over one store, as an operator runs them: started, killed and started again by the tests of this folder. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Database } from '../../src/kernel/db/database.ts';
import {
  makeFolder,
  outwaitLoad,
  outwaitLoadOf,
  runVerb,
  type ServerProcess,
  startServer,
  type Variables,
  waitFor,
} from '../boot/server-process.ts';
import { openTestDatabase, testServerUrl } from '../support/database.ts';
import { type Answer, type Client, createClient, type TestProject } from '../support/platform.ts';

/** The reason that tests of several processes give where they are skipped. */
export const NEEDS_SERVER =
  testServerUrl() === undefined && 'needs a PostgreSQL server: set IRONCRAFT_TEST_DATABASE_URL to run it';

/** `npm test` has run it: the embedded store is the same where a server is tested. */
export const NEEDS_NO_SERVER = testServerUrl() === undefined ? false : 'runs where no server is named';

const PATIENCE_MS = 60_000;
const NODE_OPTIONS = '--max-semi-space-size=16';

/** As `npm start` runs it, with no limit in the way. */
const ENVIRONMENT: Variables = {
  NODE_OPTIONS,
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
  IRONCRAFT_LOG_LEVEL: 'warn',
  // Model servers of tests are on loopback.
  IRONCRAFT_OUTBOUND_ALLOW: '127.0.0.1',
  IRONCRAFT_PROJECT_REQUESTS_PER_MINUTE: '1000000',
  IRONCRAFT_ADDRESS_REQUESTS_PER_MINUTE: '1000000',
  IRONCRAFT_PROJECT_RUNS_IN_FLIGHT: '1000',
};

/** The variables of a process that runs this module before the program. */
export function preload(module: URL): Variables {
  return { NODE_OPTIONS: `${NODE_OPTIONS} --import=${module.href}` };
}

export interface Cleanup {
  after(work: () => Promise<void>): void;
}

export interface FleetOptions {
  readonly store: 'embedded' | 'server';
  /** A PostgreSQL database to use instead of one of the fleet's own. */
  readonly databaseUrl?: string;
  readonly variables?: Variables;
  /** Default: every service. */
  readonly only?: 'platform' | 'domains';
  /** A file to run in place of the program's own. */
  readonly program?: string;
}

export interface Fleet {
  /** The database that the processes share; undefined where it is embedded in the one process, or not the fleet's own. */
  readonly db: Database | undefined;
  /** Where a process of the embedded store keeps everything. */
  readonly dataDir: string;
  /** Starts one more process, or the only one of the embedded store. */
  start(variables?: Variables): Promise<ServerProcess>;
  /** By which its connections are known in `pg_stat_activity`. */
  applicationOf(server: ServerProcess): string | undefined;
  /** Runs one command line beside the processes, to its end. */
  runVerb(...args: string[]): ReturnType<typeof runVerb>;
  /** A client of the first project, at this process. */
  project(server: ServerProcess): TestProject;
  /** A client with the organization's key. */
  organization(server: ServerProcess): Client;
}

/** Nothing runs yet. Everything that is started is gone with the test. */
export async function openFleet(t: Cleanup, options: FleetOptions): Promise<Fleet> {
  const cleanup = lastInFirstOut(t);
  const shared = await openStore(cleanup, options);
  const folder = await makeFolder(cleanup);
  const variables: Variables = { ...ENVIRONMENT, ...shared.variables, ...options.variables };
  const applications = new Map<ServerProcess, string>();
  let started = 0;
  let credentials: ServerProcess['credentials'] | undefined;
  const known = () => {
    if (credentials === undefined) throw new Error('start a server of the fleet first');
    return credentials;
  };
  return {
    db: shared.db,
    dataDir: `${folder}/.ironcraft`,
    async start(more = {}) {
      const home = options.store === 'embedded' ? folder : await makeFolder(cleanup);
      started += 1;
      const application = `replica ${started}`;
      const server = await startServer(
        cleanup,
        home,
        { ...variables, PGAPPNAME: application, ...more },
        {
          only: options.only,
          program: options.program,
        },
      );
      applications.set(server, application);
      // The process that finds an empty store writes them.
      credentials ??= server.credentials;
      return server;
    },
    applicationOf: (server) => applications.get(server),
    runVerb: (...args) => runVerb(args, folder, variables),
    project: (server) => projectAt(server.url, known().project_id, known().tenant_token),
    organization: (server) => createPatientClient(server.url, known().organization_key),
  };
}

/**
 * Waits for the end of a server that drains. False: it came at the deadline, as on a busy machine it may, and has cut off whoever was left.
 */
export async function endsInOrder(server: ServerProcess): Promise<boolean> {
  const { code, signal } = await server.ended;
  if (code === 1 && server.stderr().includes('did not close in time')) return false;
  assert.deepEqual([code, signal], [0, null]);
  return true;
}

/**
 * The time that its drain gives to turns passes when `passDrainTime` says so, and not by the clock: a server that is not told and
 * ends has waited for nothing but its turns. Its log tells of the drain.
 */
export const DRAIN_ON_REQUEST: Variables = {
  // The longest that it can be given: `drain-on-request.js` holds this one.
  IRONCRAFT_DRAIN_SECONDS: '60',
  IRONCRAFT_LOG_LEVEL: 'info',
  ...preload(new URL('./drain-on-request.js', import.meta.url)),
};

/** Sends the signal and waits until it is heard. */
export async function beginDraining(server: ServerProcess, signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM'): Promise<void> {
  server.kill(signal);
  await waitFor('drain', PATIENCE_MS, async () => (server.stderr().includes('"draining"') ? true : undefined));
}

export function passDrainTime(server: ServerProcess): void {
  server.kill('SIGUSR2');
}

/** Waits for the end of a server that drains, which comes only when all it waits for has. */
export async function assertEndsInOrder(server: ServerProcess): Promise<void> {
  const ended = await waitFor('end of a server that drains', 2 * PATIENCE_MS, () =>
    Promise.race([server.ended, Promise.resolve(undefined)]),
  );
  assert.deepEqual(ended, { code: 0, signal: null }, server.stderr());
}

/** Asks again while the server sheds load, as the clients of a fleet do by themselves. */
export function patiently(ask: () => Promise<Answer>): Promise<Answer> {
  return outwaitLoad(ask, ({ status, text }) => (status === 503 ? text : ''));
}

/** One that asks again while the server sheds load. */
export function createPatientClient(url: string, token: string): Client {
  const client = createClient(url, token);
  return {
    token,
    get: (...request) => patiently(() => client.get(...request)),
    delete: (...request) => patiently(() => client.delete(...request)),
    post: (...request) => patiently(() => client.post(...request)),
    put: (...request) => patiently(() => client.put(...request)),
    patch: (...request) => patiently(() => client.patch(...request)),
    open: (...request) => outwaitLoadOf(() => client.open(...request)),
    as: (other) => createPatientClient(url, other),
  };
}

/** Work is undone in the reverse order: processes end before their folders and databases go. */
function lastInFirstOut(t: Cleanup): Cleanup {
  const works: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const work of works.reverse()) await work();
  });
  return { after: (work) => void works.push(work) };
}

async function openStore(
  cleanup: Cleanup,
  { store, databaseUrl }: FleetOptions,
): Promise<{ db: Database | undefined; variables: Variables }> {
  if (store === 'embedded') return { db: undefined, variables: {} };
  const IRONCRAFT_MASTER_KEY = randomBytes(32).toString('base64');
  if (databaseUrl !== undefined) {
    return { db: undefined, variables: { IRONCRAFT_MASTER_KEY, IRONCRAFT_DATABASE_URL: databaseUrl } };
  }
  const { db, url = '', close } = await openTestDatabase({ store: 'server', poolSize: 2 });
  cleanup.after(close);
  return { db, variables: { IRONCRAFT_MASTER_KEY, IRONCRAFT_DATABASE_URL: url } };
}

function projectAt(url: string, projectId: string, token: string): TestProject {
  const client = createPatientClient(url, token);
  return {
    ...client,
    projectId,
    async smithToken(smithId, permissions) {
      const asked = { scope: 'smith', smith_id: smithId, permissions };
      const answer = await client.post('/v1/tenant/tokens', asked);
      if (answer.status !== 201) throw new Error(`no smith token: ${answer.text}`);
      return answer.body.token;
    },
    async createSmith(body = {}) {
      const answer = await client.post('/v1/smiths', { model: 'builtin/demo', ...body });
      if (answer.status !== 201) throw new Error(`no smith: ${answer.text}`);
      return answer.body.id;
    },
  };
}
