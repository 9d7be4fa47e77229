/** The platform put together: every resource in one list, read top to bottom. */
import type { FastifyInstance } from 'fastify';
import type { BlobStore } from '../kernel/blobs/blobs.ts';
import type { Clock } from '../kernel/clock/clock.ts';
import type { Config } from '../kernel/config/config.ts';
import type { Database } from '../kernel/db/database.ts';
import type { Operation } from '../kernel/http/operation.ts';
import { createService } from '../kernel/http/service.ts';
import { createLifecycle, jobsWorker, type Resource, type ServiceLifecycle } from '../kernel/http/service-lifecycle.ts';
import { createJobs, type Jobs } from '../kernel/jobs/jobs.ts';
import type { SharedBoss } from '../kernel/jobs/shared-boss.ts';
import type { Logger } from '../kernel/log/log.ts';
import type { Metrics } from '../kernel/metrics/metrics.ts';
import type { Outbound } from '../kernel/outbound/outbound.ts';
import type { Vault } from '../kernel/vault/vault.ts';
import { createGate } from './access/gate.ts';
import { createIdempotencyStore } from './access/idempotency-store.ts';
import { createTokenIssuer, type TokenIssuer } from './access/issue-token.ts';
import { createTokenSigner } from './access/sign-token.ts';
import { createSigningKeys, type SigningKeys } from './access/signing-keys.ts';
import { createTokenVerifier, type TokenVerifier } from './access/verify-token.ts';
import { type ClientDocuments, createClientDocuments, defineOAuthSweep } from './authorization-server/index.ts';
import { type Billing, createBilling, createPaymentWorker, defineWalletJobs } from './billing/index.ts';
import { createBudgetWatch, defineBudgetJobs } from './budgets/index.ts';
import {
  type Channel,
  type ChannelFiles,
  createDiscordChannel,
  createDnsLookUp,
  createEmailChannel,
  createMailPort,
  createMailReader,
  createMessaging,
  createOpenedAccounts,
  createSlackChannel,
  createSmsChannel,
  createTelegramChannel,
  createTelegramPolling,
  createVoice,
  createWhatsAppChannel,
  defineChannelSweep,
  defineNumberWebhooks,
  defineSlackAppRemoval,
  type LookUpDns,
  type MailReader,
  type Messaging,
  type OpenedAccounts,
  type Voice,
} from './channels/index.ts';
import { type Connections, createConnections } from './connections/index.ts';
import {
  createEngine,
  createModelOpener,
  defineRunEnding,
  type Engine,
  noteConnection,
  replicasKeepEnding,
} from './engine/index.ts';
import { platformErrors } from './errors.ts';
import { createEventSealer } from './feed/chain/index.ts';
import { createHostedChat, type HostedChat } from './hosted/index.ts';
import {
  type BuiltinEmbedder,
  createBuiltinEmbedder,
  createEmbedders,
  type Embedders,
} from './knowledge/embed/index.ts';
import { defineIngestion } from './knowledge/ingest/index.ts';
import { createMemory, type Memory } from './knowledge/memory/index.ts';
import { createDocumentReader, type DocumentReader } from './knowledge/read/index.ts';
import { createKnowledgeSearch, type KnowledgeSearch } from './knowledge/search/index.ts';
import { defineMaintenance } from './maintenance/define-maintenance.ts';
import { createDiscovery, createMcpTools, createRequestServers, type Discovery, type McpLimits } from './mcp/index.ts';
import { createMcpSurface, type McpSurface } from './mcp-surface/index.ts';
import type { ModelCallLimits } from './models/index.ts';
import { referenceTopics } from './reference.ts';
import { agentOperations } from './resources/agents/operations.ts';
import { defineUiBundleSweep, readUiDocument } from './resources/agents/ui/index.ts';
import { uiOperations } from './resources/agents/ui/operations.ts';
import { approvalOperations } from './resources/approvals/operations.ts';
import { appOperations } from './resources/apps/operations.ts';
import { billingOperations } from './resources/billing/operations.ts';
import { budgetOperations } from './resources/budgets/operations.ts';
import { type Catalog, createCatalog } from './resources/catalog/index.ts';
import { catalogOperations } from './resources/catalog/operations.ts';
import { channelAccountOperations } from './resources/channel-accounts/operations.ts';
import { channelWebhookOperations } from './resources/channel-webhooks/operations.ts';
import { chatCompletionOperations } from './resources/chat-completions/operations.ts';
import { connectionOperations } from './resources/connections/operations.ts';
import { defineConversationPurge, findConversation } from './resources/conversations/index.ts';
import { conversationOperations } from './resources/conversations/operations.ts';
import { customerOperations } from './resources/customers/operations.ts';
import { deploymentOperations } from './resources/deployments/operations.ts';
import { emailSuppressionOperations } from './resources/email-suppressions/operations.ts';
import { embeddingOperations } from './resources/embeddings/operations.ts';
import { eventOperations } from './resources/events/operations.ts';
import {
  createChannelFiles,
  createResultFiles,
  createSandboxFiles,
  createTurnFiles,
  defineFileExpiry,
  defineResultFileSweep,
  measureStorage,
} from './resources/files/index.ts';
import { fileOperations } from './resources/files/operations.ts';
import { hostedOperations } from './resources/hosted/operations.ts';
import { hostedToolOperations } from './resources/hosted-tools/operations.ts';
import { inboundEventOperations } from './resources/inbound-events/operations.ts';
import { jwksOperations } from './resources/jwks/operations.ts';
import { mcpServerOperations } from './resources/mcp-servers/operations.ts';
import { memoryOperations } from './resources/memory/operations.ts';
import { modelKeyOperations } from './resources/model-keys/operations.ts';
import { modelOperations } from './resources/models/operations.ts';
import { oauthServerOperations } from './resources/oauth-server/operations.ts';
import { projectOperations } from './resources/projects/operations.ts';
import { providerOperations } from './resources/providers/operations.ts';
import { responseOperations } from './resources/responses/operations.ts';
import { runOperations } from './resources/runs/operations.ts';
import { sandboxSecretOperations } from './resources/sandbox-secrets/operations.ts';
import { scheduleOperations } from './resources/schedules/operations.ts';
import { createTurnSkills, readSkillFiles } from './resources/skills/index.ts';
import { skillOperations } from './resources/skills/operations.ts';
import { smithOperations } from './resources/smiths/operations.ts';
import { storageOperations } from './resources/storage/operations.ts';
import { tokenOperations } from './resources/tokens/operations.ts';
import { traceOperations } from './resources/traces/operations.ts';
import { usageOperations } from './resources/usage/operations.ts';
import { vectorStoreOperations } from './resources/vector-stores/operations.ts';
import { webhookOperations } from './resources/webhooks/operations.ts';
import { createRunCommand, createSandbox, defineSandboxJobs } from './sandbox/index.ts';
import { createSchedules, defineScheduleJobs } from './schedules/index.ts';
import { createForeignSchemas, type ForeignSchemas } from './schemas/index.ts';
import { executorOf } from './store/executor-of.ts';
import { tenantDb } from './store/tenant-db.ts';
import { createFileSearch } from './tools/file-search.ts';
import { createHostedTools, type HostedTools } from './tools/hosted-tools.ts';
import { createMemoryTools } from './tools/memory-tools.ts';
import { createSkillTools } from './tools/read-skill.ts';
import type { ToolSource } from './tools/tool.ts';
import { createUiTools } from './tools/ui-tools.ts';
import { createTraceExport } from './traces/index.ts';
import { defineUsageSweep } from './usage/index.ts';
import { createWebhookDeliveries, defineWebhookJobs } from './webhooks/index.ts';

/** The only live version of the request and response vocabulary. */
const API_VERSIONS = ['2026-05-01'] as const;

/** What works in child processes. */
export interface ChildProcesses {
  readonly reader: DocumentReader;
  readonly schemas: ForeignSchemas;
  readonly embedder: BuiltinEmbedder;
}

export interface GivenDependencies {
  readonly config: Pick<
    Config,
    | 'projectRequestsPerMinute'
    | 'projectRunsInFlight'
    | 'addressRequestsPerMinute'
    | 'bodyLimitBytes'
    | 'trustProxy'
    | 'connections'
    | 'stallMs'
    | 'readProcessorMs'
    | 'modelPrivateAddresses'
    | 'fileLimitBytes'
    | 'projectStorageBytes'
    | 'usageDays'
    | 'otlp'
    | 'catalogFile'
    | 'mailPort'
    | 'dnsServers'
    | 'mailDomainProof'
    | 'consentUrl'
    | 'sandbox'
    | 'billing'
  >;
  readonly publicUrl: string;
  readonly db: Database;
  /** Bytes of files. */
  readonly blobs: BlobStore;
  readonly vault: Vault;
  readonly outbound: Outbound;
  /** Folders of this machine that no command of a model may see. */
  readonly privateFolders?: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Default: the queue in the database. Tests give one that runs jobs when they ask for it. */
  readonly jobs?: Jobs | undefined;
  /** Of the queue in the database: see JobsOptions. */
  readonly boss?: SharedBoss;
  /** Default: this replica's own. Tests give some that several share; whoever gives them closes them. */
  readonly children?: Partial<ChildProcesses>;
  /** Further sources of tools, besides the server's own. */
  readonly toolSources?: readonly ToolSource[];
  /** Further messaging channels, or others in place of the server's own. */
  readonly channels?: readonly Channel[];
  readonly overloadDelayMs?: number;
  /** How long a call waits for others to give back what they reserved of a budget; a default when absent. */
  readonly budgetWaitMs?: number;
  /** How long a replica has to stop a run of which the cancellation is asked elsewhere; a default when absent. */
  readonly cancelGraceMs?: number;
  /** Patience with model providers, where it differs from the default. */
  readonly modelCall?: Partial<ModelCallLimits>;
  /** What MCP servers may take, where it differs from the default. */
  readonly mcpLimits?: Partial<McpLimits>;
  /** How often schedules that are due are looked for. Default 1,000. */
  readonly scheduleIntervalMs?: number;
  /** How long a call of an MCP deployment waits for its reply; a default when absent. */
  readonly mcpReplyWaitMs?: number;
  /** Which operations are served, by id. Default: all. A test that opens many replicas serves the few that it calls: routes are most of what one costs. */
  readonly servesOperation?: (id: string) => boolean;
}

export interface Platform extends ServiceLifecycle {
  /** Not listening yet. */
  readonly app: FastifyInstance;
  readonly engine: Engine;
  readonly issuer: TokenIssuer;
  readonly operations: readonly Operation<never>[];
  readonly messaging: Messaging;
  readonly connections: Connections;
}

interface Dependencies extends GivenDependencies {
  readonly signingKeys: SigningKeys;
  readonly issuer: TokenIssuer;
  readonly verifier: TokenVerifier;
  readonly documents: ClientDocuments;
  readonly engine: Engine;
  readonly jobs: Jobs;
  readonly embedders: Embedders;
  readonly search: KnowledgeSearch;
  readonly memory: Memory;
  readonly billing: Billing;
  readonly hostedTools: HostedTools;
  readonly catalog: Catalog;
  readonly connections: Connections;
  readonly discovery: Discovery;
  readonly hostedChat: HostedChat;
  readonly voice: Voice;
  readonly mcpSurface: McpSurface;
  readonly accounts: OpenedAccounts;
  readonly messaging: Messaging;
  readonly lookUpDns: LookUpDns;
  readonly mailReader: MailReader;
  readonly channelFiles: ChannelFiles;
}

/** Every operation of the platform. */
function listOperations(deps: Dependencies): Operation<never>[] {
  return [
    ...projectOperations(deps),
    ...appOperations(),
    ...billingOperations(deps),
    ...tokenOperations(deps),
    ...jwksOperations({ keys: deps.signingKeys }),
    ...oauthServerOperations({ ...deps, consentUrl: deps.config.consentUrl }),
    ...agentOperations(),
    ...uiOperations(deps),
    ...smithOperations(deps),
    ...customerOperations(),
    ...runOperations(deps),
    ...approvalOperations(),
    ...eventOperations(),
    ...modelKeyOperations(deps),
    ...modelOperations(),
    ...chatCompletionOperations(deps),
    ...responseOperations(deps),
    ...embeddingOperations(deps),
    ...conversationOperations(deps),
    ...fileOperations(deps),
    ...storageOperations(deps),
    ...vectorStoreOperations(deps),
    ...skillOperations(deps),
    ...memoryOperations(deps),
    ...hostedToolOperations(deps),
    ...sandboxSecretOperations(deps),
    ...mcpServerOperations(deps),
    ...catalogOperations(deps),
    ...providerOperations(deps),
    ...connectionOperations(deps),
    ...webhookOperations(deps),
    ...scheduleOperations(deps),
    ...deploymentOperations({ ...deps, channels: deps.messaging.channels }),
    ...inboundEventOperations(),
    ...hostedOperations(deps),
    ...channelAccountOperations(deps),
    ...emailSuppressionOperations(),
    ...channelWebhookOperations(deps),
    ...traceOperations(deps),
    ...usageOperations(deps),
    ...budgetOperations(),
  ];
}

export async function createPlatform(deps: GivenDependencies): Promise<Platform> {
  const { config, db, vault, clock, logger, metrics, outbound } = deps;
  const allowPrivate = config.modelPrivateAddresses === 'allow';
  const billing = await createBilling(config.billing, { db, clock, logger });
  const signingKeys = createSigningKeys(db, vault);
  const issuer = createTokenIssuer({ signer: createTokenSigner(signingKeys, deps.publicUrl), clock });
  const verifier = createTokenVerifier(db, signingKeys, clock);
  const documents = createClientDocuments({ outbound });
  const children = openChildren(deps);
  const { reader, schemas } = children;
  const embedders = createEmbedders({
    db,
    vault,
    outbound,
    allowPrivate,
    modelCall: deps.modelCall,
    budgetWaitMs: deps.budgetWaitMs,
    credits: billing.credits,
    builtin: children.embedder,
  });
  const search = createKnowledgeSearch({ db, embedders });
  const jobs =
    deps.jobs ??
    createJobs(db, {
      logger,
      boss: deps.boss,
      processesKeepEnding: () => replicasKeepEnding(db),
      holdJob: () => engine.heartbeat.hold(),
    });
  const memory = createMemory({ db, jobs, embedders, logger });
  const traceExport = createTraceExport({ db, logger, metrics, collector: config.otlp });
  const skills = createTurnSkills(deps);
  const catalog = createCatalog(config.catalogFile);
  const connections = createConnections({
    ...{ db, vault, outbound, jobs, logger, signingKeys, publicUrl: deps.publicUrl },
    discovery: () => discovery,
    onConnected: async (tx, { smithId, keys }) => {
      for (const key of keys) await noteConnection(executorOf(tx), { projectId: tx.projectId, smithId, key });
      tx.afterCommit(() => engine.resumeConnected());
    },
  });
  const discovery = createDiscovery({
    ...{ db, vault, outbound, schemas, jobs, logger, limits: deps.mcpLimits },
    signIn: connections.signIn,
  });
  const files = createTurnFiles(deps);
  const resultFiles = createResultFiles(db, files);
  const mcpTools = createMcpTools({
    ...{ db, vault, outbound, logger, discovery },
    signIn: connections.signIn,
    files: resultFiles,
    limits: deps.mcpLimits,
  });
  const requestServers = createRequestServers({
    ...{ db, vault, outbound, schemas, logger },
    limits: deps.mcpLimits,
  });
  const sandbox = createSandbox({
    ...{ db, vault, logger, settings: config.sandbox, files: createSandboxFiles(deps) },
    readSkill: (projectId, skill) => readSkillFiles(deps, projectId, skill),
    privateFolders: deps.privateFolders ?? [],
  });
  const hostedTools = createHostedTools(clock, createRunCommand(sandbox));
  const engine = createEngine({
    db,
    logger,
    metrics,
    schemas,
    models: createModelOpener(vault, outbound, allowPrivate, schemas),
    onTurnEnded: (owner) => memory.turnEnded(owner),
    onTurnRested: (turn) => {
      schedules.turnRested(turn);
      hostedChat.turnRested(turn);
      voice.turnRested(turn);
      mcpSurface.turnRested(turn);
      messaging.turnRested(turn);
      messaging.runRested(turn);
    },
    onRunSettled: (run) => {
      messaging.runRested(run);
      traceExport.runEnded(run);
      sandbox.runEnded(run);
    },
    files,
    skills,
    requestServers,
    toolSources: [
      hostedTools,
      createFileSearch(search),
      createMemoryTools(memory),
      createSkillTools(skills),
      createUiTools(),
      mcpTools,
      ...(deps.toolSources ?? []),
    ],
    runsInFlightPerProject: config.projectRunsInFlight,
    modelCall: deps.modelCall,
    budgetWaitMs: deps.budgetWaitMs,
    cancelGraceMs: deps.cancelGraceMs,
    credits: billing.credits,
  });
  defineMaintenance(jobs, deps);
  defineRunEnding(jobs, engine);
  defineConversationPurge(jobs, deps);
  defineFileExpiry(jobs, deps);
  defineResultFileSweep(jobs, deps);
  defineUiBundleSweep(jobs, deps);
  defineSandboxJobs(jobs, sandbox);
  measureStorage(metrics, db);
  const ingestion = defineIngestion(jobs, {
    db,
    blobs: deps.blobs,
    embedders,
    reader,
    logger,
    metrics,
    projectStorageBytes: config.projectStorageBytes,
  });
  const now = () => clock.now();
  defineWebhookJobs(jobs, { db, now });
  defineScheduleJobs(jobs, { db, now });
  defineChannelSweep(jobs, { db, now });
  defineNumberWebhooks(jobs, deps);
  defineSlackAppRemoval(jobs, { db, vault, outbound, logger });
  const schedules = createSchedules({ db, engine, logger, metrics, now, intervalMs: deps.scheduleIntervalMs });
  const hostedChat = createHostedChat({ db, engine, vault, logger });
  const voice = createVoice({ db, engine, vault, publicUrl: deps.publicUrl, now, logger });
  const mcpSurface = createMcpSurface({
    ...{ engine, vault, logger, schemas, publicUrl: deps.publicUrl, replyWaitMs: deps.mcpReplyWaitMs },
    findConversation,
    readDocument: (projectId, hash) => readUiDocument(deps.blobs, tenantDb(db, projectId), hash),
  });
  const channelFiles = createChannelFiles(deps);
  const lookUpDns = createDnsLookUp(config.dnsServers);
  const mailReader = createMailReader({ lookUp: lookUpDns, logger, metrics });
  const accounts = createOpenedAccounts({ db, vault });
  const messaging = createMessaging({
    ...{ db, engine, vault, accounts, logger, metrics, now },
    files: channelFiles,
    channels: [
      createTelegramChannel({ db, accounts, outbound }),
      createWhatsAppChannel({ db, accounts, outbound }),
      createDiscordChannel({ db, accounts, outbound, clock }),
      createSlackChannel({ db, vault, outbound, publicUrl: deps.publicUrl }),
      createSmsChannel({ db, vault, outbound }),
      createEmailChannel({ db, accounts, outbound, files: channelFiles }),
      ...(deps.channels ?? []),
    ],
  });
  defineOAuthSweep(jobs, deps);
  defineWalletJobs(jobs, deps);
  const { servesOperation = () => true } = deps;
  const operations = listOperations({
    ...deps,
    ...{
      signingKeys,
      issuer,
      verifier,
      documents,
      engine,
      jobs,
      embedders,
      search,
      memory,
      billing,
      hostedTools,
      catalog,
      connections,
      discovery,
      hostedChat,
      voice,
      mcpSurface,
      messaging,
      accounts,
      lookUpDns,
      mailReader,
      channelFiles,
    },
  }).filter(({ id }) => servesOperation(id));
  defineBudgetJobs(jobs, { db });
  defineUsageSweep(jobs, deps);
  const app = await createService({
    name: 'ironcraft',
    title: 'Ironcraft agent platform',
    version: '1',
    description: DESCRIPTION,
    errors: platformErrors,
    operations,
    topics: referenceTopics,
    gate: createGate(verifier),
    idempotency: createIdempotencyStore(vault),
    db,
    logger,
    metrics,
    publicUrl: deps.publicUrl,
    apiVersion: { header: 'IC-Api-Version', live: API_VERSIONS },
    // Pages of any origin may be OAuth clients. What people see, and `/oauth/authorize` above all, is no place for scripts of others.
    corsPrefixes: ['/v1', '/.well-known/', '/oauth/token', '/oauth/register'],
    requestsPerMinute: config.projectRequestsPerMinute,
    addressRequestsPerMinute: config.addressRequestsPerMinute,
    bodyLimitBytes: config.bodyLimitBytes,
    trustProxy: config.trustProxy,
    connections: config.connections,
    stallMs: config.stallMs,
    ...(deps.overloadDelayMs === undefined ? {} : { overloadDelayMs: deps.overloadDelayMs }),
  });
  return {
    app,
    engine,
    issuer,
    operations,
    messaging,
    connections,
    ...createLifecycle({
      app,
      resources: [mcpTools, connections, ingestion, { stop: () => mailReader.close() }, children, traceExport, sandbox],
      // The engine first, so that no job finds a replica that is not registered.
      workers: [
        engine,
        jobsWorker(jobs),
        createWebhookDeliveries({ db, vault, outbound, logger, metrics, now }),
        schedules,
        messaging,
        createTelegramPolling({ db, vault, outbound, logger, accept: messaging.accept, move: messaging.move }),
        ...(config.mailPort === undefined
          ? []
          : [
              createMailPort(
                {
                  ...{ db, vault, logger, now, reader: mailReader, files: channelFiles },
                  accept: messaging.accept,
                },
                config.mailPort,
              ),
            ]),
        createEventSealer({ db, logger }),
        ...(billing.takesCards ? [createPaymentWorker(billing)] : []),
        createBudgetWatch({ db, logger }),
      ],
    }),
  };
}

/** Those that are given, and others of this replica's own, which end with it. */
function openChildren({ children = {}, config, logger, metrics }: GivenDependencies): ChildProcesses & Resource {
  const ends: (() => Promise<void>)[] = [];
  const own = <Process>(process: Process, end: (process: Process) => Promise<void>): Process => {
    ends.push(() => end(process));
    return process;
  };
  const readerOptions = {
    logger,
    metrics,
    processorMs: config.readProcessorMs,
    processorMsPerMebibyte: 2 * config.readProcessorMs,
    maxProcessorMs: 90 * config.readProcessorMs,
  };
  return {
    reader: children.reader ?? own(createDocumentReader(readerOptions), (reader) => reader.close()),
    schemas: children.schemas ?? own(createForeignSchemas({ logger, metrics }), (schemas) => schemas.stop()),
    embedder:
      children.embedder ?? own(createBuiltinEmbedder(undefined, undefined, metrics), (embedder) => embedder.close()),
    async stop() {
      for (const end of ends) await end();
    },
  };
}

const DESCRIPTION = `Define agents, give each user a smith (one agent instance with its own memory and history), run turns
that stream and survive crashes. Every request carries \`Authorization: Bearer <token>\`; the project is the token's.
What only a tenant-admin token may do and no scope opens needs \`tenant:*\`. A request may refer only to what its token
could get itself: anything else is as if it were not there. Native lists page with \`limit\` and \`cursor\`. Creates honour
\`Idempotency-Key\` for 24 hours. Errors have one envelope, \`{error: {message, type, param, code}}\`; branch on \`code\`.`;
