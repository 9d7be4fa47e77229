/** The domain service in a simulation: replicas on one database, whose registry, payment provider, mail server and webhook receivers outlive them. */
import { createSecretKey } from 'node:crypto';
import { issueToken } from '../../src/domains/access/tokens.ts';
import { createDomains, type Domains } from '../../src/domains/app.ts';
import type { GivenDependencies } from '../../src/domains/dependencies.ts';
import { createWebhookDeliveries } from '../../src/domains/events/index.ts';
import type { Message } from '../../src/domains/mail/index.ts';
import { BASE_PATH } from '../../src/domains/operation.ts';
import type { SingleRegistry } from '../../src/domains/registry/registry.ts';
import { createSimulatedRegistry, type SimulatedRegistryOptions } from '../../src/domains/registry/simulated/index.ts';
import { credit } from '../../src/domains/wallet/index.ts';
import { createStripePayments } from '../../src/domains/wallet/payments/stripe-payments.ts';
import { systemDb, workspaceDb } from '../../src/domains/workspace-scope.ts';
import { createManualClock, type ManualClock } from '../../src/kernel/clock/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';
import { createMetrics } from '../../src/kernel/metrics/metrics.ts';
import { createOutbound } from '../../src/kernel/outbound/outbound.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { type FakeStripe, startStripe } from '../fakes/stripe-server.ts';
import { auditOrders, countOpen as countOpenOrders } from '../faults/audit-orders.ts';
import { auditTill, countOpen as countOpenAtTill } from '../faults/audit-till.ts';
import { type HookReceiver, openHookReceiver } from '../faults/hook-receiver.ts';
import type { Call } from '../faults/order-driver.ts';
import { createRandom } from '../faults/seeded-random.ts';
import { openTestDatabase } from '../support/database.ts';
import { NAMESERVERS } from '../support/domains.ts';
import { type Client, createClient } from '../support/http-client.ts';
import { standardPrices } from '../support/prices.ts';
import { seedFor } from '../support/seed.ts';
import { takingPublisher } from '../support/taking-publisher.ts';
import { openTestLogger } from '../support/test-log.ts';
import { countDatabase } from './counted-database.ts';
import { countOutbound, countPort, noteTransit } from './counted-ports.ts';
import { Effects } from './effects.ts';
import { openHttpGateway } from './http-gateway.ts';
import type { SimulatedReplica, SimulatedWorld } from './run-scenario.ts';
import { createJobTable, createSteppedJobs, type SteppedJobs } from './stepped-jobs.ts';

export interface DomainsReplica extends SimulatedReplica {
  /** Ends with the base path. */
  readonly url: string;
  readonly domains: Domains;
  readonly jobs: SteppedJobs;
  readonly effects: Effects;
  /** Sends webhooks that are due, as many as one pass takes up. */
  deliverWebhooks(): Promise<void>;
}

export interface SimulatedWorkspace {
  readonly workspaceId: string;
  readonly token: string;
  readonly email: string;
  fund(cents: number): Promise<void>;
  /** At a replica. */
  at(replica: Pick<DomainsReplica, 'url'>): Client;
}

export interface DomainsWorldOptions {
  readonly simulated?: Partial<SimulatedRegistryOptions>;
  readonly parts?: Partial<GivenDependencies>;
  /** What every wallet begins with. Default: nothing. */
  readonly creditCents?: number;
  /** What is sold is held against what is registered. Default true; names that a scenario has in another way than by orders fail that. */
  readonly auditsOrders?: boolean;
  /** Payments, receipts, events, webhooks and mails are held against each other. Default true. */
  readonly auditsTill?: boolean;
}

export interface DomainsWorld extends SimulatedWorld<DomainsReplica> {
  readonly clock: ManualClock;
  readonly stripe: FakeStripe;
  readonly registry: SingleRegistry;
  readonly receiver: HookReceiver;
  readonly mails: readonly Message[];
  /** The other replica, which takes over. */
  readonly other: DomainsReplica;
  readonly calls: Call[];
  createWorkspace(): Promise<SimulatedWorkspace>;
}

/** Longer than every lease. */
const LEASE_OVER_MS = 61_000;
const LONGEST_STEP_MS = 86_400_000;
const ROUNDS_MAX = 24;
/** About a day after the first. */
const PAGES_EXPIRE_ROUND = 10;
/** Far longer than a busy machine takes for an answer of a process on it. */
const TIMEOUT_MS = 60_000;
/** More than transactions can be open at once: none waits for a connection, which is no effect. */
const CONNECTIONS = 30;
const UNLIMITED = 1_000_000;
/** What a test puts into wallets is paid by nobody. */
const FUNDS_PREFIX = 'test_';
const KEY = createSecretKey(Buffer.alloc(32, 7));
const MAIL_HOST = 'example.com';

/** Of all replicas: each page of metrics observes the process for as long as that lives. */
const metrics = createMetrics();

/** What scenarios call at the replica that is to crash: it serves these alone, as there is one for each crash. */
const CALLED_OPERATIONS = new Set([
  ...['domains.register', 'domains.transfer', 'domains.restore', 'domains.delete'],
  ...['registrant.change', 'top_ups.create', 'payment_events.receive', 'sign_ins.request', 'sign_ins.complete'],
]);

const config: GivenDependencies['config'] = {
  projectRequestsPerMinute: UNLIMITED,
  addressRequestsPerMinute: UNLIMITED,
  bodyLimitBytes: 10 * 1024 * 1024,
  trustProxy: false,
  connections: { perAddress: UNLIMITED, total: UNLIMITED },
  stallMs: TIMEOUT_MS,
};

export async function openDomainsWorld(options: DomainsWorldOptions = {}): Promise<DomainsWorld> {
  const { auditsOrders = true, auditsTill = true, creditCents = 0, parts = {}, simulated = {} } = options;
  const { db, close: closeDatabase } = await openTestDatabase({ poolSize: CONNECTIONS });
  await createJobTable(db);
  const ends: (() => unknown)[] = [];
  // Rows have times of the database as well.
  const clock = createManualClock(new Date());
  const logger = openTestLogger();
  const vault = createVault([KEY]);
  const stripe = await startStripe();
  const mails: Message[] = [];
  const mailer = { send: async (message: Message) => void mails.push(message) };
  const cleanup = { after: (end: () => unknown) => void ends.push(end) };
  const receiver = await openHookReceiver(cleanup, createRandom(seedFor('simulation')));
  receiver.beKind();
  const outbound = createOutbound({ allow: ['127.0.0.1'] });
  const registry = createSimulatedRegistry({
    db,
    clock,
    logger,
    options: {
      prices: () => ({ createCents: 500, renewCents: 500, transferCents: 500, restoreCents: 5_000 }),
      delays: { createSeconds: 0, renewSeconds: 0 },
      ...simulated,
    },
  });
  const calls: Call[] = [];

  async function openReplica(
    effects: Effects,
    servesOperation: (id: string) => boolean = () => true,
  ): Promise<DomainsReplica> {
    const counted = countDatabase(db, effects, { hearsWakeUps: false });
    const gateway = await openHttpGateway(
      stripe.url,
      effects,
      (method, path) => `Stripe: ${method} ${plainPath(path)}`,
    );
    const payments = createStripePayments({
      secretKey: stripe.secretKey,
      webhookSecret: stripe.webhookSecret,
      apiUrl: gateway.url,
      returnUrl: 'https://domains.example/api/v1/docs',
      logger,
      clock,
      timeoutMs: TIMEOUT_MS,
    });
    const jobs = createSteppedJobs(counted);
    const given: GivenDependencies = {
      config,
      publicUrl: 'https://domains.example',
      db: counted,
      vault,
      clock,
      logger,
      metrics,
      registry: countRegistry(registry, effects),
      prices: standardPrices,
      publisher: countPort(takingPublisher, effects, 'nameservers', {
        writes: ['publish', 'remove', 'sign', 'unsign', 'addKey', 'retireKeys'],
      }),
      delegations: notThere('delegations'),
      aliasTargets: notThere('alias targets'),
      payments: noteTransit(payments, effects, [
        ...(['charge', 'refund', 'openTopUp', 'lookUpTopUp', 'openCardPage', 'lookUpCardPage'] as const),
        ...(['forgetCard', 'listDisputes', 'listPages'] as const),
      ]),
      mailer: countPort(mailer, effects, 'mail', { writes: ['send'] }),
      outbound: countOutbound({ checkUrl: outbound.checkUrl, fetch: outbound.fetch }, effects),
      nameservers: NAMESERVERS,
      demoCreditCents: 0,
      seller: { lines: ['Example Registrar Ltd'], vatBasisPoints: 1_900 },
      overloadDelayMs: TIMEOUT_MS,
      servesOperation,
      ...parts,
      jobs,
    };
    const domains = await createDomains(given);
    const url = `${await domains.app.listen({ host: '127.0.0.1', port: 0 })}${BASE_PATH}`;
    // Whoever waits for an answer loses its connection.
    effects.onCrash(() => domains.app.server.closeAllConnections());
    return {
      url,
      domains,
      jobs,
      effects,
      async deliverWebhooks() {
        const deliveries = createWebhookDeliveries(given);
        await deliveries.start();
        // Takes what is due up, once, and sends it: a timer or a wake-up would begin another pass at some time.
        await deliveries.drain(TIMEOUT_MS);
      },
      async close() {
        domains.app.server.closeAllConnections();
        await domains.app.close();
        await gateway.close();
      },
    };
  }

  const other = await openReplica(new Effects());

  async function work(): Promise<void> {
    const { domains, jobs } = other;
    await domains.orders.sweep();
    await domains.renewals.runDue();
    await domains.unpaidNames.runDue();
    await domains.resendDeletions();
    await domains.resendChanges();
    await domains.lookAfterAuthCodes();
    await domains.watchTransfers();
    await domains.topUpWallets();
    await domains.runVerifications();
    await jobs.runQueued();
    for (const name of SCHEDULED) await jobs.runScheduled(name);
    await other.deliverWebhooks();
  }

  const isOpen = async (): Promise<boolean> => {
    const orders = await countOpenOrders(db);
    const till = await countOpenAtTill(db, clock.now());
    const { rowCount: jobs } = await db.query({ text: 'select from public.simulated_jobs limit 1', values: [] });
    return Object.values(orders).some((count) => count > 0) || Object.keys(till).length > 0 || jobs > 0;
  };

  return {
    db,
    clock,
    stripe,
    registry,
    receiver,
    mails,
    other,
    calls,
    startReplica: (effects) => openReplica(effects, (id) => CALLED_OPERATIONS.has(id)),
    createWorkspace: () => createWorkspace(db, creditCents),
    passLeases: () => clock.advance(LEASE_OVER_MS),
    async settle() {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        clock.advance(Math.min(LEASE_OVER_MS * 2 ** round, LONGEST_STEP_MS));
        await work();
        if (!(await isOpen())) return;
        // Pages that nobody pays on, after a day.
        if (round === PAGES_EXPIRE_ROUND) {
          for (const { id, status } of stripe.sessions.values()) if (status === 'open') stripe.expireSession(id);
        }
      }
      throw new Error('what is open does not end');
    },
    async audit() {
      const problems = [];
      if (auditsTill) {
        const contents = mails.map(({ id }) => `message-id: <${id}@${MAIL_HOST}>`);
        problems.push(...(await auditTill({ db, stripe, receiver, mails: contents })).problems);
      }
      if (auditsOrders) problems.push(...(await auditOrders({ db, stripe, calls, creditCents })));
      if (await isOpen()) {
        const open = { ...(await countOpenOrders(db)), ...(await countOpenAtTill(db, clock.now())) };
        problems.push(`it has not ended: ${JSON.stringify(open)}`);
      }
      return [...new Set(problems)].filter((problem) => !problem.startsWith(FUNDS_PREFIX));
    },
    async close() {
      other.effects.crash();
      await other.close();
      for (const end of ends) await end();
      await outbound.close();
      await stripe.close();
      await closeDatabase();
    },
  };
}

/** What has a time of its own and brings things to their end. */
const SCHEDULED = ['domains-settle-top-ups', 'domains.receipts'];

/** Ids of Stripe are made anew in each run. */
function plainPath(path: string): string {
  const [plain = ''] = path.split('?');
  return plain.replace(/(pi|cs|re|pm|cus|du|seti)_\w+/g, '$1_…');
}

function countRegistry(registry: SingleRegistry, effects: Effects): SingleRegistry {
  const methods = {
    reads: [
      ...(['check', 'feeOf', 'launchDemandOf', 'applicationOf', 'info', 'transferOf', 'tradeOf'] as const),
      ...(['readBalance', 'poll'] as const),
    ],
    writes: [
      ...(['create', 'renew', 'transfer', 'trade', 'decideTransfer', 'update', 'delete', 'restore'] as const),
      'acknowledge' as const,
    ],
  };
  const counted = countPort(registry, effects, 'registry', methods);
  return new Proxy(counted, {
    get: (target, member) => (member === 'members' ? [counted] : Reflect.get(target, member, target)),
  });
}

function notThere<Part extends object>(name: string): Part {
  return new Proxy({} as Part, {
    get(_target, member) {
      throw new Error(`this simulation has no ${name} (${String(member)} was used)`);
    },
  });
}

async function createWorkspace(db: Database, creditCents: number): Promise<SimulatedWorkspace> {
  const workspaceId = mintId('wsp');
  const userId = mintId('usr');
  const email = `${userId}@${MAIL_HOST}`;
  const fund = async (amountCents: number): Promise<void> => {
    const [reference, description] = [mintId('test'), 'test'];
    await db.transaction((tx) => credit(tx, { workspaceId, source: 'operator', amountCents, reference, description }));
  };
  const { token } = await db.transaction(async (tx) => {
    await systemDb(tx).insertInto('workspaces').values({ id: workspaceId, name: 'Test' }).execute();
    const workspace = workspaceDb(tx, workspaceId);
    await workspace.insertInto('users').values({ id: userId, email, email_key: email, name: 'Test' }).execute();
    await workspace.insertInto('wallets').defaultValues().execute();
    return issueToken(tx, workspaceId, { userId, scope: 'write', name: 'test' });
  });
  if (creditCents > 0) await fund(creditCents);
  return { workspaceId, token, email, fund, at: ({ url }) => createClient(url, token) };
}
