/**
 * The platform in a simulation: replicas on one database, each with a clock of its own; what they call and what they store outlives them.
 *
 * The replica that is to crash is made and not started: it has no heartbeat, no sweep and no wake-up, and no time passes for it. It does what a
 * scenario asks it for, and starts a worker where the scenario is about that one. The other is started whole, and looks for what is due as time passes.
 */
import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { runWithClock, systemClock } from '../../src/kernel/clock/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';
import { createMetrics } from '../../src/kernel/metrics/metrics.ts';
import { createOutbound } from '../../src/kernel/outbound/outbound.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { addSigningKey, makeSigningPair, type SigningPair } from '../../src/platform/access/signing-keys.ts';
import { createPlatform, type GivenDependencies, type Platform } from '../../src/platform/app.ts';
import { auditWallets } from '../../src/platform/billing/index.ts';
import { verifyEvents } from '../../src/platform/operator/verify-events.ts';
import { createOrganization, createProject } from '../../src/platform/resources/projects/provision-project.ts';
import { TenantTransaction } from '../../src/platform/store/tenant-db.ts';
import type { ToolSource } from '../../src/platform/tools/tool.ts';
import { type OpenAiUpstream, startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { type FakeStripe, startStripe } from '../fakes/stripe-server.ts';
import { auditTurns, findBreaches, type TurnAuditOptions } from '../faults/audit-turns.ts';
import { type HookReceiver, openHookReceiver } from '../faults/hook-receiver.ts';
import { createRandom } from '../faults/seeded-random.ts';
import { borrowChildren } from '../support/children.ts';
import { openTestDatabase } from '../support/database.ts';
import { type Client, createClient } from '../support/http-client.ts';
import { SANDBOX_SETTINGS } from '../support/sandbox.ts';
import { seedFor } from '../support/seed.ts';
import { createTestChannel, openTestProvider, type TestProvider } from '../support/test-channel.ts';
import { openTestLogger } from '../support/test-log.ts';
import { countDatabase } from './counted-database.ts';
import { countChannel, countOutbound, noteTransit } from './counted-ports.ts';
import { countReader } from './counted-reader.ts';
import { Effects } from './effects.ts';
import { openHttpGateway } from './http-gateway.ts';
import { countBlobs, createMemoryBlobs } from './memory-blobs.ts';
import { createMortalClock, type MortalClock } from './mortal-clock.ts';
import { type CalledTool, createNotedTools, PLAIN_TOOLS } from './noted-tools.ts';
import type { SimulatedReplica, SimulatedWorld } from './run-scenario.ts';
import { createJobTable, createSteppedJobs, type SteppedJobs } from './stepped-jobs.ts';

export interface PlatformReplica extends SimulatedReplica {
  readonly url: string;
  readonly platform: Platform;
  readonly jobs: SteppedJobs;
  readonly effects: Effects;
  readonly given: GivenDependencies;
  readonly clock: MortalClock;
  /** Of the world's project. */
  readonly client: Client;
  /** On the replica's clock. */
  work<Result>(work: () => Result): Result;
}

export interface PlatformWorldOptions {
  readonly config?: Partial<GivenDependencies['config']>;
  readonly audits?: TurnAuditOptions;
  /** What has not ended yet besides turns and jobs: a query whose rows say so. */
  readonly open?: string;
  /** Organizations have wallets, which are audited. */
  readonly takesCards?: boolean;
  /** Further rules: queries for the runs, or whatever it is, that break them. */
  readonly rules?: Readonly<Record<string, string>>;
  /** What is wrong besides, a sentence each. */
  readonly audit?: (db: Database) => Promise<readonly string[]>;
  /** Jobs that have a time of their own and bring things to their end. */
  readonly scheduled?: readonly string[];
}

export interface SimulatedProject {
  readonly projectId: string;
  /** At a replica. */
  at(replica: Pick<PlatformReplica, 'url'>): Client;
}

export interface SimulatedOrganization {
  readonly organizationId: string;
  /** At a replica. */
  at(replica: Pick<PlatformReplica, 'url'>): Client;
}

export interface PlatformWorld extends SimulatedWorld<PlatformReplica> {
  readonly organizationId: string;
  /** Whatever a scenario does not make for itself is in it. */
  readonly project: SimulatedProject;
  readonly receiver: HookReceiver;
  /** Of a messaging channel, which can say what has arrived. */
  readonly provider: TestProvider;
  /** Takes the cards of organizations. */
  readonly stripe: FakeStripe;
  createOrganization(): Promise<SimulatedOrganization>;
  /** Serves models that have a price. */
  readonly upstream: OpenAiUpstream;
  createProject(): Promise<SimulatedProject>;
  /** The other replica, which takes over. */
  readonly other: PlatformReplica;
  /** Calls of tools, in their order. */
  readonly calls: readonly CalledTool[];
  /** The time of the database and of the other replica. */
  now(): Date;
  /** Moves both, has the other replica do what is due then, and waits until it is quiet. */
  pass(ms: number): Promise<void>;
  /** Waits for what the other replica answers once time has passed. */
  waitFor<Value>(answer: Promise<Value>): Promise<Value>;
}

/** Longer than every lease. */
const LEASE_OVER_MS = 61_000;
/** After other tests' transactions, by the real clock. */
const LOOK_AGAIN_MS = 10;
const LONGEST_LEAP_MS = 3_600_000;
const STEP_MS = 1_100;
const ROUNDS_MAX = 8;
const STEPS_A_ROUND = 12;
/** Half an hour: what is still without an answer then waits for what never comes. */
const ANSWER_PASSES_MAX = 1_600;
/** Far longer than a busy machine takes for one run: while the replica that is to crash acts, no time passes for its lease. */
const LEASE_SLACK = '10 minutes';
export const STARTER_CENTS = 500;
export const PUBLIC_URL = 'https://platform.example';
const TIMEOUT_MS = 60_000;
const CONNECTIONS = 30;
const UNLIMITED = 1_000_000;
const MAX_BYTES = 1024 ** 3;
const KEY = createSecretKey(Buffer.alloc(32, 7));

/** What scenarios call at the replica that is to crash: it serves these alone, as there is one for each crash. */
const CALLED_OPERATIONS = new Set([
  ...['agents.list', 'smiths.runs.create', 'smiths.runs.get', 'smiths.runs.submit'],
  ...['organization.billing.setup', 'organization.billing.checkout', 'organization.billing.confirm'],
  ...['organization.billing.reload', 'oauth.token'],
  ...['files.create', 'vector_stores.files.create'],
]);

const config: GivenDependencies['config'] = {
  projectRequestsPerMinute: UNLIMITED,
  projectRunsInFlight: UNLIMITED,
  addressRequestsPerMinute: UNLIMITED,
  bodyLimitBytes: 10 * 1024 * 1024,
  fileLimitBytes: MAX_BYTES,
  projectStorageBytes: MAX_BYTES,
  usageDays: 0,
  trustProxy: false,
  connections: { perAddress: UNLIMITED, total: UNLIMITED },
  stallMs: TIMEOUT_MS,
  readProcessorMs: TIMEOUT_MS,
  modelPrivateAddresses: 'allow',
  otlp: undefined,
  catalogFile: undefined,
  mailPort: undefined,
  dnsServers: ['127.0.0.1'],
  mailDomainProof: 'none',
  consentUrl: undefined,
  sandbox: SANDBOX_SETTINGS,
  billing: {
    mode: 'off',
    currency: 'eur',
    usdRateMillionths: 1_000_000,
    markupPercent: 0,
    starterCents: 0,
    stripeKey: undefined,
    stripeUrl: undefined,
    stripeWebhookSecret: undefined,
  },
};

/** Rules of what is beside turns. */
const rules = {
  'a decision is not on the feed exactly once': `
    select a.run_id from approvals a
    left join events e on e.project_id = a.project_id and e.type = 'approval.resolved' and e.data ->> 'approval_id' = a.id
    group by a.project_id, a.id having count(e.id) <> case a.status when 'pending' then 0 else 1 end`,
  'a decision is not in the timeline exactly once': `
    select a.run_id from approvals a
    left join run_events e on e.project_id = a.project_id and e.run_id = a.run_id and e.type = 'approval.resolved'
      and e.data ->> 'approval_id' = a.id
    group by a.project_id, a.id having count(e.seq) <> case a.status when 'pending' then 0 else 1 end`,
  'a run that has ended waits for a decision': `
    select r.id as run_id from approvals a join runs r on r.project_id = a.project_id and r.id = a.run_id
    where a.status = 'pending' and r.status in ('completed', 'failed', 'cancelled')`,
};

/** Of all replicas: each page of metrics observes the process for as long as that lives. */
const metrics = createMetrics();

let signingPair: Promise<SigningPair> | undefined;

export async function openPlatformWorld(options: PlatformWorldOptions = {}): Promise<PlatformWorld> {
  const { audits = {}, scheduled = [], takesCards = false } = options;
  const { db, shiftTime, close: closeDatabase } = await openTestDatabase({ poolSize: CONNECTIONS });
  await createJobTable(db);
  const vault = createVault([KEY]);
  signingPair ??= makeSigningPair();
  await addSigningKey(db, vault, await signingPair);
  const logger = openTestLogger();
  const blobs = createMemoryBlobs();
  const outbound = createOutbound({ allow: ['127.0.0.1'] });
  const calls: CalledTool[] = [];
  let shiftMs = 0;
  const now = () => new Date(Date.now() + shiftMs);
  let project: SimulatedProject | undefined;
  const ends: (() => unknown)[] = [];
  const cleanup = { after: (end: () => unknown) => void ends.push(end) };
  const receiver = await openHookReceiver(cleanup, createRandom(seedFor('simulation')));
  receiver.beKind();
  const upstream = await startOpenAiUpstream();
  cleanup.after(() => upstream.close());
  const { value: children, release: releaseChildren } = await borrowChildren();
  cleanup.after(releaseChildren);
  const provider = await openTestProvider();
  cleanup.after(() => provider.close());
  const stripe = await startStripe();
  cleanup.after(stripe.close);

  async function openReplica(
    effects: Effects,
    servesOperation: (id: string) => boolean = () => true,
  ): Promise<PlatformReplica> {
    const clock = createMortalClock(now());
    const work = <Result>(act: () => Result): Result => runWithClock(clock, act);
    const counted = countDatabase(db, effects, { hearsWakeUps: false });
    const jobs = createSteppedJobs(counted);
    const gateway = await openHttpGateway(
      stripe.url,
      effects,
      (method, path) => `Stripe: ${method} ${plainPath(path)}`,
    );
    const cards = {
      stripeKey: stripe.secretKey,
      stripeUrl: gateway.url,
      stripeWebhookSecret: stripe.webhookSecret,
      starterCents: STARTER_CENTS,
    };
    const given: GivenDependencies = {
      config: {
        ...config,
        ...options.config,
        billing: { ...config.billing, ...(takesCards ? cards : {}) },
      },
      publicUrl: PUBLIC_URL,
      db: counted,
      blobs: countBlobs(blobs, effects),
      vault,
      outbound: countOutbound(outbound, effects),
      clock: systemClock,
      logger,
      metrics,
      jobs,
      children: {
        reader: countReader(children.reader, effects),
        schemas: noteTransit(children.schemas, effects, ['findProblem', 'findAnswerProblem']),
        embedder: noteTransit(children.embedder, effects, ['embed']),
      },
      channels: [
        countChannel(
          createTestChannel(() => counted, { findsSent: true }),
          effects,
        ),
      ],
      toolSources: [createNotedTools(calls, effects)] satisfies ToolSource[],
      overloadDelayMs: TIMEOUT_MS,
      servesOperation,
    };
    const platform = await work(() => createPlatform(given));
    const url = await work(() => platform.app.listen({ host: '127.0.0.1', port: 0 }));
    effects.onCrash(() => {
      clock.end();
      // Whoever waits for an answer loses its connection.
      platform.app.server.closeAllConnections();
    });
    return {
      ...{ url, platform, jobs, effects, given, clock, work },
      get client() {
        return project?.at({ url }) ?? assert.fail('there is no project yet');
      },
      async close() {
        platform.app.server.closeAllConnections();
        await work(() => platform.app.close());
        await gateway.close();
      },
    };
  }

  const other = await openReplica(new Effects());
  await other.work(() => other.platform.start());
  const { id: organizationId } = await db.transaction((tx) => createOrganization(tx, { name: 'Test' }));
  const newOrganization = () => makeOrganization(db, other.platform);
  const newProject = () => makeProject(db, other.platform, organizationId);
  const own = await newProject();
  project = own;

  let passing: Promise<void> = Promise.resolve();
  const passOnce = async (ms: number): Promise<void> => {
    // What is under way is not late.
    await other.effects.idle();
    shiftMs += ms;
    await shiftTime(shiftMs);
    other.clock.set(now());
    await other.effects.idle();
  };
  const pass = (ms: number): Promise<void> => {
    passing = passing.then(() => passOnce(ms));
    return passing;
  };

  const isOpen = async (): Promise<boolean> => {
    const { rows } = await db.query<{ is_open: boolean }>({
      text: `select exists (select from runs where status = 'in_progress') or exists (select from public.simulated_jobs)
        or exists (${options.open ?? 'select where false'}) as is_open`,
      values: [],
    });
    return rows[0]?.is_open === true;
  };

  /**
   * The feed shows what no open transaction of the whole server is older than, and other tests have theirs there, in databases of their own: those that
   * are older than the last event are waited for.
   */
  async function untilFeedIsFree(): Promise<void> {
    for (;;) {
      const { rowCount } = await db.query({
        text: `select from pg_stat_activity where datname <> current_database() and backend_xid is not null
          and age(backend_xid) > (select age(max(written_by)::xid) from events) limit 1`,
        values: [],
      });
      if (rowCount === 0) return;
      await wait(LOOK_AGAIN_MS);
    }
  }

  async function waitFor<Value>(answer: Promise<Value>): Promise<Value> {
    let isOver = false;
    const over = answer.finally(() => {
      isOver = true;
    });
    over.catch(() => undefined);
    for (let passes = 0; passes < ANSWER_PASSES_MAX; passes += 1) {
      await other.effects.idle();
      await nextTurn();
      if (isOver) return over;
      await pass(STEP_MS);
    }
    throw new Error('the other replica does not answer');
  }

  async function passLeases(): Promise<void> {
    await db.query({ text: 'update replicas set heartbeat_at = least(heartbeat_at, now())', values: [] });
    await pass(LEASE_OVER_MS);
  }

  return {
    ...{
      db,
      organizationId,
      project: own,
      createProject: newProject,
      createOrganization: newOrganization,
      stripe,
      provider,
      receiver,
      upstream,
      other,
      calls,
      now,
      pass,
      passLeases,
    },
    async startReplica(effects) {
      await other.effects.idle();
      await untilFeedIsFree();
      const replica = await openReplica(effects, (id) => CALLED_OPERATIONS.has(id));
      // Its clock stands still, so that this heartbeat is the last that it sends.
      await replica.work(() => replica.platform.engine.heartbeat.during(async () => undefined));
      await db.query({
        text: `update replicas set heartbeat_at = now() + interval '${LEASE_SLACK}' where id = $1`,
        values: [replica.platform.engine.replicaId],
      });
      // What it reads once and keeps is read by then.
      await replica.client.get('/v1/agents?limit=1');
      await effects.idle();
      return replica;
    },
    async settle() {
      await passLeases();
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        for (let step = 0; step < STEPS_A_ROUND; step += 1) {
          await untilFeedIsFree();
          await other.jobs.runQueued();
          if (!(await isOpen())) return;
          await pass(STEP_MS);
        }
        for (const name of scheduled) await other.jobs.runScheduled(name);
        await pass(Math.min(LEASE_OVER_MS * 2 ** round, LONGEST_LEAP_MS));
      }
      throw new Error('what is open does not end');
    },
    waitFor,
    async audit() {
      const { booking, order } = await auditTurns(db, { serverTools: PLAIN_TOOLS, ...audits });
      const found = [...booking, ...order, ...(await findBreaches(db, { ...rules, ...options.rules }))];
      const problems = found.map(({ what, run_id }) => `${what}: ${run_id}`);
      for (let after: string | null = own.projectId; after !== null; ) {
        const proven: Awaited<ReturnType<typeof verifyEvents>> = await verifyEvents(db, { project_id: after });
        if (proven.broken !== null)
          problems.push(`the event log of ${after} is broken: ${JSON.stringify(proven.broken)}`);
        after = proven.next_project_id;
      }
      problems.push(...receiver.wrong, ...(await auditWallets(db)), ...((await options.audit?.(db)) ?? []));
      if (await isOpen()) problems.push('it has not ended');
      return problems;
    },
    async close() {
      // It has folders and processes of its own.
      await waitFor(other.work(() => other.platform.stop()));
      other.effects.crash();
      await other.close();
      for (const end of ends) await end();
      await outbound.close();
      await closeDatabase();
    },
  };
}

async function makeProject(db: Database, { issuer }: Platform, organizationId: string): Promise<SimulatedProject> {
  const { projectId, token } = await db.transaction(async (tx) => {
    const { project } = await createProject(tx, { organizationId, name: mintId('test') });
    const minted = await issuer.issueProjectToken(new TenantTransaction(tx, project.id), { actor: null });
    return { projectId: project.id, token: minted.token };
  });
  return { projectId, at: ({ url }) => createClient(url, token) };
}

async function makeOrganization(db: Database, { issuer }: Platform): Promise<SimulatedOrganization> {
  const { organizationId, token } = await db.transaction(async (tx) => {
    const { id } = await createOrganization(tx, { name: 'Test' });
    return { organizationId: id, token: (await issuer.issueOrganizationKey(tx, { organizationId: id })).token };
  });
  return { organizationId, at: ({ url }) => createClient(url, token) };
}

/** Ids of Stripe are made anew in each run. */
function plainPath(path: string): string {
  const [plain = ''] = path.split('?');
  return plain.replace(/(pi|cs|re|pm|cus|du|seti)_\w+/g, '$1_…');
}
