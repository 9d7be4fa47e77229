/**
 * A platform server over real HTTP and real SQL. Tests make their own project in it: tenancy is the isolation, so files
 * that need no settings of their own share one server a process.
 */

import { createSecretKey, randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { holdPort } from '../../src/command-line/hold-port.ts';
import type { BlobStore } from '../../src/kernel/blobs/blobs.ts';
import { createFolderBlobStore } from '../../src/kernel/blobs/folder-blob-store.ts';
import { type Clock, systemClock } from '../../src/kernel/clock/clock.ts';
import type { BillingConfig } from '../../src/kernel/config/config.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import type { Logger } from '../../src/kernel/log/log.ts';
import { createMetrics } from '../../src/kernel/metrics/metrics.ts';
import { createOutbound, type Lookup } from '../../src/kernel/outbound/outbound.ts';
import { createVault, type Vault } from '../../src/kernel/vault/vault.ts';
import { addSigningKey, makeSigningPair, type SigningPair } from '../../src/platform/access/signing-keys.ts';
import { createPlatform, type GivenDependencies, type Platform } from '../../src/platform/app.ts';
import type { ModelCallLimits } from '../../src/platform/models/index.ts';
import { createOrganization, createProject } from '../../src/platform/resources/projects/provision-project.ts';
import { TenantTransaction } from '../../src/platform/store/tenant-db.ts';
import type { ToolSource } from '../../src/platform/tools/tool.ts';
import { type DiscordServer, startDiscord } from '../fakes/discord-api.ts';
import { type MailWorld, startMailWorld } from '../fakes/mail-world.ts';
import { type SlackServer, startSlack } from '../fakes/slack-api.ts';
import { type FakeStripe, startStripe } from '../fakes/stripe-server.ts';
import { type FakeTelegram, startTelegram } from '../fakes/telegram-server.ts';
import { startTwilio, type TwilioServer } from '../fakes/twilio-api.ts';
import { type GraphServer, startGraph } from '../fakes/whatsapp-graph.ts';
import { borrowChildren } from './children.ts';
import { openTestDatabase, type TestDatabase } from './database.ts';
import { type Client, createClient } from './http-client.ts';
import { lettingGo } from './let-go.ts';
import { SANDBOX_SETTINGS } from './sandbox.ts';
import { shareInProcess } from './shared.ts';
import { openTestLogger } from './test-log.ts';

export { type Answer, type Client, createClient, type Headers_ } from './http-client.ts';

export interface TestProject extends Client {
  readonly projectId: string;
  /** A token of one smith, with these permissions. */
  smithToken(smithId: string, permissions: readonly string[]): Promise<string>;
  /** A smith with this configuration; `builtin/demo` unless it names a model. */
  createSmith(body?: Record<string, unknown>): Promise<string>;
}

export interface TestPlatform {
  readonly url: string;
  readonly db: Database;
  readonly databaseUrl: string | undefined;
  readonly vault: Vault;
  readonly blobs: BlobStore;
  readonly platform: Platform;
  /** What takes the cards of organizations. */
  readonly stripe: FakeStripe;
  /** Where tests have their bots. */
  readonly telegram: FakeTelegram;
  /** Where they have numbers of WhatsApp. */
  readonly graph: GraphServer;
  readonly discord: DiscordServer;
  readonly slack: SlackServer;
  /** Where they have phone numbers. */
  readonly twilio: TwilioServer;
  /** Where they have mail. */
  readonly mail: MailWorld;
  readonly organizationId: string;
  /** Called with the organization key. */
  readonly organization: Client;
  createProject(): Promise<TestProject>;
  /** A client of an organization of its own. */
  createOrganization(): Promise<{ organizationId: string; client: Client }>;
  close(): Promise<void>;
}

export interface TestPlatformOptions {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly limits?: Partial<Omit<GivenDependencies['config'], 'billing'>>;
  /** Default: nothing is drawn, and a fake Stripe takes cards. */
  readonly billing?: Partial<BillingConfig>;
  /** Default: one of the server's own. */
  readonly stripe?: FakeStripe;
  readonly toolSources?: readonly ToolSource[];
  readonly channels?: GivenDependencies['channels'];
  readonly overloadDelayMs?: number;
  readonly outboundAllow?: readonly string[];
  /** Default: the one host of examples, and what the system knows. */
  readonly lookup?: Lookup;
  readonly modelCall?: Partial<ModelCallLimits>;
  readonly budgetWaitMs?: number;
  readonly cancelGraceMs?: number;
  readonly mcpLimits?: GivenDependencies['mcpLimits'];
  readonly mcpReplyWaitMs?: number;
  readonly scheduleIntervalMs?: number;
  /** Default: one where nobody listens. `own`: where this server does, for clients that follow what it says of itself. */
  readonly publicUrl?: string;
  /** Further servers on one database share it and its vault. */
  readonly sharing?: { readonly db: Database; readonly vault: Vault; readonly blobs?: BlobStore };
}

const UNLIMITED = 1_000_000;
/** What each project may store where nothing else is set: tests that reach it set the count of what is stored. */
export const PROJECT_STORAGE_BYTES = 1024 ** 4;
/** A busy machine, or a second server that starts in the same process, must not look like an overload to a test. */
const NEVER_OVERLOADED_MS = 60_000;

/** The one host of examples that can be looked up: nothing listens there. */
const KNOWN_HOST = 'example.com';
/** Where the shared server may call though it is private: the servers that tests start are on loopback. */
const REACHABLE = ['127.0.0.1', KNOWN_HOST];
/** Where channels call when they are told nothing else. */
const PROVIDERS = new Set(['api.telegram.org', 'graph.facebook.com', 'discord.com', 'slack.com', 'api.twilio.com']);
const lookUpKnownHost: Lookup = async (hostname) => {
  if (hostname === KNOWN_HOST) return [{ address: '127.0.0.1', family: 4 }];
  if (PROVIDERS.has(hostname)) throw new Error('no test calls a provider');
  const found = await lookup(hostname, { all: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

const LOCAL_URL = 'http://127.0.0.1:8787';

/** Has an entry of the one host that can be looked up: `example`. */
const CATALOG_FILE = fileURLToPath(new URL('./catalog.json', import.meta.url));

type TestServer = Pick<
  TestPlatform,
  | 'url'
  | 'db'
  | 'databaseUrl'
  | 'vault'
  | 'blobs'
  | 'platform'
  | 'stripe'
  | 'telegram'
  | 'graph'
  | 'discord'
  | 'slack'
  | 'twilio'
  | 'mail'
  | 'close'
>;

/** What tests offer in the server that they share: to each project its test's own. */
const toolsOfProjects = new Map<string, readonly ToolSource[]>();

const sharedTools: ToolSource = {
  async toolsFor(turn) {
    const sources = toolsOfProjects.get(turn.projectId) ?? [];
    const offered = await Promise.all(sources.map((source) => source.toolsFor(turn)));
    return {
      tools: offered.flatMap(({ tools }) => tools),
      warnings: offered.flatMap(({ warnings = [] }) => warnings),
    };
  },
};

const borrowServer = shareInProcess(() => openServer({ outboundAllow: REACHABLE, toolSources: [sharedTools] }));

/**
 * Without options it is the server that all tests of the process share, and `close` gives it back. It calls addresses
 * on loopback, which the others are told by `outboundAllow`. With tools alone it is the shared one too: it offers them in the projects
 * that the caller makes with `createProject`. With any other option (`{}` has none) it is a server of the caller's own. Either way the
 * organization is the caller's own.
 */
export async function startPlatform(options?: TestPlatformOptions): Promise<TestPlatform> {
  const { toolSources, ...others } = options ?? {};
  const isShared = options === undefined || (toolSources !== undefined && Object.keys(others).length === 0);
  if (!isShared) return lettingGo(await withOrganization(await openServer(options)));
  const { value, release } = await borrowServer();
  return lettingGo(await withOrganization({ ...value, close: release }, toolSources));
}

let signingPair: Promise<SigningPair> | undefined;

/** Of all platforms of the process: each would make one with its first token. */
function holdSigningPair(): Promise<SigningPair> {
  signingPair ??= makeSigningPair();
  return signingPair;
}

async function openServer(options: TestPlatformOptions): Promise<TestServer> {
  const own: TestDatabase | undefined = options.sharing === undefined ? await openTestDatabase() : undefined;
  const db = options.sharing?.db ?? (own as TestDatabase).db;
  const filesFolder = await mkdtemp(join(tmpdir(), 'ironcraft-test-files-'));
  const blobs = options.sharing?.blobs ?? createFolderBlobStore(filesFolder);
  const vault = options.sharing?.vault ?? createVault([createSecretKey(randomBytes(32))]);
  if (own !== undefined) await addSigningKey(db, vault, await holdSigningPair());
  const logger = options.logger ?? openTestLogger();
  const stripe = options.stripe ?? (await startStripe());
  const held = options.publicUrl === 'own' ? await holdPort('127.0.0.1', 0, 'IRONCRAFT_PORT') : undefined;
  const publicUrl = held === undefined ? (options.publicUrl ?? LOCAL_URL) : `http://127.0.0.1:${held.port}`;
  let url = '';
  const reach = (webhook: string) => webhook.replace(publicUrl, url);
  const telegram = await startTelegram({ reach });
  const graph = await startGraph();
  const discord = await startDiscord({ reach });
  const slack = await startSlack();
  const twilio = await startTwilio();
  const mail = await startMailWorld();
  const { value: children, release: releaseChildren } = await borrowChildren();
  const outbound = createOutbound({
    allow: options.outboundAllow ?? [KNOWN_HOST],
    lookup: options.lookup ?? lookUpKnownHost,
  });
  const platform = await createPlatform({
    config: {
      projectRequestsPerMinute: UNLIMITED,
      projectRunsInFlight: UNLIMITED,
      addressRequestsPerMinute: UNLIMITED,
      bodyLimitBytes: 10 * 1024 * 1024,
      fileLimitBytes: 64 * 1024 * 1024,
      projectStorageBytes: PROJECT_STORAGE_BYTES,
      usageDays: 0,
      trustProxy: false,
      connections: { perAddress: UNLIMITED, total: UNLIMITED },
      stallMs: 30_000,
      readProcessorMs: 10_000,
      // Model servers of tests are on loopback.
      modelPrivateAddresses: 'allow',
      otlp: undefined,
      catalogFile: CATALOG_FILE,
      mailPort: undefined,
      dnsServers: [mail.dns.address],
      mailDomainProof: 'none',
      consentUrl: undefined,
      sandbox: SANDBOX_SETTINGS,
      ...options.limits,
      billing: {
        mode: 'off',
        currency: 'eur',
        usdRateMillionths: 1_000_000,
        markupPercent: 0,
        starterCents: 0,
        stripeKey: stripe.secretKey,
        stripeUrl: stripe.url,
        stripeWebhookSecret: stripe.webhookSecret,
        ...options.billing,
      },
    },
    publicUrl,
    db,
    blobs,
    vault,
    outbound,
    clock: options.clock ?? systemClock,
    logger,
    metrics: createMetrics(),
    children,
    toolSources: options.toolSources ?? [],
    channels: options.channels ?? [],
    ...(options.modelCall === undefined ? {} : { modelCall: options.modelCall }),
    ...(options.mcpLimits === undefined ? {} : { mcpLimits: options.mcpLimits }),
    ...(options.mcpReplyWaitMs === undefined ? {} : { mcpReplyWaitMs: options.mcpReplyWaitMs }),
    ...(options.scheduleIntervalMs === undefined ? {} : { scheduleIntervalMs: options.scheduleIntervalMs }),
    ...(options.budgetWaitMs === undefined ? {} : { budgetWaitMs: options.budgetWaitMs }),
    ...(options.cancelGraceMs === undefined ? {} : { cancelGraceMs: options.cancelGraceMs }),
    overloadDelayMs: options.overloadDelayMs ?? NEVER_OVERLOADED_MS,
  });
  await platform.start();
  await held?.release();
  url = await platform.app.listen({ host: '127.0.0.1', port: held?.port ?? 0 });
  return {
    url,
    db,
    databaseUrl: own?.url,
    vault,
    blobs,
    platform,
    stripe,
    telegram,
    graph,
    discord,
    slack,
    twilio,
    mail,
    async close() {
      await platform.stop();
      if (options.stripe === undefined) await stripe.close();
      await telegram.close();
      await graph.close();
      await discord.close();
      await slack.close();
      await twilio.close();
      await mail.close();
      await outbound.close();
      await releaseChildren();
      await own?.close();
      await rm(filesFolder, { recursive: true, force: true });
    },
  };
}

async function withOrganization(server: TestServer, toolSources?: readonly ToolSource[]): Promise<TestPlatform> {
  const { url, db, platform } = server;
  const newOrganization = async () => {
    const { organizationId, key } = await db.transaction(async (tx) => {
      const { id } = await createOrganization(tx, { name: `Test ${randomBytes(4).toString('hex')}` });
      return { organizationId: id, key: await platform.issuer.issueOrganizationKey(tx, { organizationId: id }) };
    });
    return { organizationId, client: createClient(url, key.token) };
  };
  const first = await newOrganization();
  return {
    ...server,
    organizationId: first.organizationId,
    organization: first.client,
    createOrganization: newOrganization,
    async createProject() {
      const { projectId, token } = await db.transaction(async (tx) => {
        const name = `Project ${randomBytes(6).toString('hex')}`;
        const { project } = await createProject(tx, { organizationId: first.organizationId, name });
        const { id } = project;
        const minted = await platform.issuer.issueProjectToken(new TenantTransaction(tx, id), { actor: null });
        return { projectId: id, token: minted.token };
      });
      if (toolSources !== undefined) toolsOfProjects.set(projectId, toolSources);
      return createTestProject(url, projectId, token);
    },
  };
}

function createTestProject(url: string, projectId: string, token: string): TestProject {
  const client = createClient(url, token);
  return {
    ...client,
    projectId,
    async smithToken(smithId, permissions) {
      const { status, body, text } = await client.post('/v1/tenant/tokens', {
        scope: 'smith',
        smith_id: smithId,
        permissions,
      });
      if (status !== 201) throw new Error(`no smith token: ${text}`);
      return body.token;
    },
    async createSmith(body = {}) {
      const answer = await client.post('/v1/smiths', { model: 'builtin/demo', ...body });
      if (answer.status !== 201) throw new Error(`no smith: ${answer.text}`);
      return answer.body.id;
    },
  };
}

/** JSON, unless it is text already, or a form: fetch writes those itself. */
