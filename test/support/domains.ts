/**
 * A domain service over real HTTP and real SQL. Tests make their own workspace in it: tenancy is the isolation, so files
 * that need no settings of their own share one server a process.
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import { issueToken } from '../../src/domains/access/tokens.ts';
import { createDomains, type Domains } from '../../src/domains/app.ts';
import type { GivenDependencies } from '../../src/domains/dependencies.ts';
import type { AliasTargets } from '../../src/domains/dns/alias/index.ts';
import type { Delegations } from '../../src/domains/dns/delegation/index.ts';
import type { ZonePublisher } from '../../src/domains/dns/publisher.ts';
import type { Mailer } from '../../src/domains/mail/index.ts';
import { BASE_PATH } from '../../src/domains/operation.ts';
import type { Registry } from '../../src/domains/registry/registry.ts';
import { createSimulatedRegistry, type SimulatedRegistryOptions } from '../../src/domains/registry/simulated/index.ts';
import { credit } from '../../src/domains/wallet/index.ts';
import type { Payments } from '../../src/domains/wallet/payments/payments.ts';
import { systemDb, workspaceDb } from '../../src/domains/workspace-scope.ts';
import { type Clock, systemClock } from '../../src/kernel/clock/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';
import type { Logger } from '../../src/kernel/log/log.ts';
import { createMetrics } from '../../src/kernel/metrics/metrics.ts';
import { createOutbound, type Lookup } from '../../src/kernel/outbound/outbound.ts';
import { createVault, type Vault } from '../../src/kernel/vault/vault.ts';
import { openTestDatabase } from './database.ts';
import { type Client, createClient } from './http-client.ts';
import { lettingGo } from './let-go.ts';
import { createPatience, type Patience } from './patience.ts';
import { standardPrices } from './prices.ts';
import { shareInProcess } from './shared.ts';
import { openTestLogger } from './test-log.ts';

export const NAMESERVERS = ['ns1.ironcraft.test', 'ns2.ironcraft.test'] as const;

export interface TestWorkspace extends Client {
  readonly workspaceId: string;
  readonly userId: string;
  /** A client of the same workspace that may only read. */
  readonly reader: Client;
  /** Puts money into the wallet. */
  fund(cents: number): Promise<void>;
}

export interface TestDomains {
  /** Ends with the base path. */
  readonly url: string;
  readonly db: Database;
  readonly databaseUrl: string | undefined;
  readonly vault: Vault;
  readonly domains: Domains;
  readonly registry: Registry;
  readonly patience: Patience;
  /** Called without a token. */
  readonly anybody: Client;
  createWorkspace(): Promise<TestWorkspace>;
  close(): Promise<void>;
}

export interface TestDomainsOptions {
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Default: the simulated one, which completes everything but transfers at once. */
  readonly registry?: (parts: { db: Database; clock: Clock; logger: Logger }) => Registry;
  readonly simulated?: Partial<SimulatedRegistryOptions>;
  readonly publisher?: (parts: { db: Database; logger: Logger }) => ZonePublisher;
  readonly delegations?: Delegations;
  readonly aliasTargets?: AliasTargets;
  readonly payments?: Payments;
  readonly mailer?: Mailer;
  readonly parts?: Partial<GivenDependencies>;
  /** Several servers may share it. Default: their own. */
  readonly patience?: Patience;
  /** Further servers on one database share it and its vault. */
  readonly sharing?: { readonly db: Database; readonly vault: Vault };
}

const UNLIMITED = 1_000_000;
/** Of examples; webhooks of tests are on loopback. */
const KNOWN_HOST = 'example.com';

const lookUpKnownHost: Lookup = async (hostname) => {
  if (hostname === KNOWN_HOST) return [{ address: '127.0.0.1', family: 4 }];
  throw new Error(`no test looks ${hostname} up`);
};

/** A busy machine must not look like an overload to a test. */
const NEVER_OVERLOADED_MS = 60_000;

const borrowServer = shareInProcess(() => openServer({}));

/**
 * Without options it is the server that all tests of the process share, and `close` gives it back; with options it is a
 * server of the caller's own.
 */
export async function startDomains(options?: TestDomainsOptions): Promise<TestDomains> {
  if (options !== undefined) return lettingGo(await openServer(options));
  const { value, release } = await borrowServer();
  return lettingGo({ ...value, close: release });
}

async function openServer(options: TestDomainsOptions): Promise<TestDomains> {
  const own = options.sharing === undefined ? await openTestDatabase() : undefined;
  const db = options.sharing?.db ?? own?.db;
  if (db === undefined) throw new Error('there is no database');
  const vault = options.sharing?.vault ?? createVault([createSecretKey(randomBytes(32))]);
  const logger = options.logger ?? openTestLogger();
  const clock = options.clock ?? systemClock;
  const registry =
    options.registry?.({ db, clock, logger }) ?? simulateRegistry({ db, clock, logger }, options.simulated);
  const outbound = createOutbound({ allow: ['127.0.0.1', KNOWN_HOST], lookup: lookUpKnownHost });
  const patience = options.patience ?? createPatience(logger);
  const domains = await createDomains({
    config: {
      projectRequestsPerMinute: UNLIMITED,
      addressRequestsPerMinute: UNLIMITED,
      bodyLimitBytes: 10 * 1024 * 1024,
      trustProxy: false,
      connections: { perAddress: UNLIMITED, total: UNLIMITED },
      stallMs: 30_000,
    },
    publicUrl: 'http://127.0.0.1:8788',
    db,
    vault,
    clock,
    logger,
    metrics: createMetrics(),
    registry: patience.over(registry),
    background: patience.background,
    prices: standardPrices,
    publisher: options.publisher?.({ db, logger }) ?? notThere<ZonePublisher>('publisher'),
    aliasTargets: options.aliasTargets ?? notThere<AliasTargets>('alias targets'),
    delegations: options.delegations ?? notThere<Delegations>('delegations'),
    payments: options.payments ?? notThere<Payments>('payments'),
    mailer: options.mailer ?? notThere<Mailer>('mailer'),
    outbound,
    nameservers: NAMESERVERS,
    demoCreditCents: 0,
    overloadDelayMs: NEVER_OVERLOADED_MS,
    ...options.parts,
  });
  await domains.start();
  const url = `${await domains.app.listen({ host: '127.0.0.1', port: 0 })}${BASE_PATH}`;
  return {
    url,
    db,
    databaseUrl: own?.url,
    vault,
    domains,
    registry,
    patience,
    anybody: createClient(url, ''),
    createWorkspace: () => createWorkspace(db, url),
    async close() {
      await domains.stop();
      await outbound.close();
      await own?.close();
    },
  };
}

function simulateRegistry(
  parts: { db: Database; clock: Clock; logger: Logger },
  options: Partial<SimulatedRegistryOptions> = {},
): Registry {
  const prices = () => ({ createCents: 500, renewCents: 500, transferCents: 500, restoreCents: 5_000 });
  const delays = { createSeconds: 0, renewSeconds: 0 };
  return createSimulatedRegistry({ ...parts, options: { prices, delays, ...options } });
}

/** A part that a test does without: starting and stopping it is nothing, and using it fails. */
function notThere<Part extends object>(name: string): Part {
  return new Proxy({} as Part, {
    get: (_target, member) => {
      // Work that no request asks for leaves such a part alone.
      if (member === 'isConfigured') return false;
      if (member === 'start' || member === 'stop') return async () => undefined;
      throw new Error(`this test has no ${name}: give startDomains one (${String(member)} was used)`);
    },
  });
}

async function createWorkspace(db: Database, url: string): Promise<TestWorkspace> {
  const workspaceId = mintId('wsp');
  const userId = mintId('usr');
  const email = `${userId}@example.com`;
  const [write, read] = await db.transaction(async (tx) => {
    await systemDb(tx).insertInto('workspaces').values({ id: workspaceId, name: 'Test' }).execute();
    const workspace = workspaceDb(tx, workspaceId);
    await workspace.insertInto('users').values({ id: userId, email, email_key: email, name: 'Test' }).execute();
    await workspace.insertInto('wallets').defaultValues().execute();
    return [
      await issueToken(tx, workspaceId, { userId, scope: 'write', name: 'test' }),
      await issueToken(tx, workspaceId, { userId, scope: 'read', name: 'test' }),
    ];
  });
  return {
    ...createClient(url, write.token),
    workspaceId,
    userId,
    reader: createClient(url, read.token),
    async fund(amountCents) {
      const reference = mintId('test');
      await db.transaction((tx) =>
        credit(tx, { workspaceId, source: 'operator', amountCents, reference, description: 'test' }),
      );
    },
  };
}
