/**
 * A project with one object of every kind, in an organization of its own: what table-driven tests fill paths and bodies
 * with. A path parameter or a body that is missing here makes them fail, so a new operation cannot go untested.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mintId, withPrefix } from '../../src/kernel/ids/ids.ts';
import { SCOPES } from '../../src/platform/access/scopes.ts';
import { mintCodes } from '../../src/platform/billing/index.ts';
import { wellKnownNames } from '../../src/platform/connections/index.ts';
import type { DiscordServer } from '../fakes/discord-api.ts';
import type { MailWorld } from '../fakes/mail-world.ts';
import type { SlackServer } from '../fakes/slack-api.ts';
import type { FakeTelegram } from '../fakes/telegram-server.ts';
import type { GraphServer } from '../fakes/whatsapp-graph.ts';
import { newClientId, newPkce, openAuthorize, requestIn } from '../support/oauth.ts';
import { type Answer, type Client, createClient, type TestPlatform } from '../support/platform.ts';
import { bundleForm, skillText, uploadSkill } from '../support/skills.ts';

export interface World {
  /** Called with the organization's key. */
  readonly organization: Client;
  /** Called with a tenant-admin token. */
  readonly tenant: Client;
  readonly projectId: string;
  readonly agentId: string;
  /** A UI resource of the agent's draft. */
  readonly uiName: string;
  readonly smithId: string;
  /** The external id of `smithId`: `user` in the OpenAI dialect. */
  readonly smithUser: string;
  readonly otherSmithId: string;
  readonly customerId: string;
  /** Completed. */
  readonly runId: string;
  readonly pausedRunId: string;
  readonly approvalId: string;
  readonly tokenId: string;
  /** Of `smithId`, at `github`, whose OAuth client is saved. */
  readonly connectionId: string;
  /** Names of providers of which `smithId` has no connection, in turns. */
  freshProvider(): string;
  readonly webhookId: string;
  readonly budgetId: string;
  readonly deliveryId: string;
  /** Of `smithId`; disabled. */
  readonly scheduleId: string;
  /** Where bots are made up, one a call. */
  readonly telegram: FakeTelegram;
  /** The same for numbers of WhatsApp, and applications of Discord and Slack. */
  readonly graph: GraphServer;
  readonly discord: DiscordServer;
  readonly slack: SlackServer;
  readonly mail: MailWorld;
  /** A hosted page of an agent of its own, as its visitors are smiths. */
  readonly deploymentId: string;
  /** An MCP server of `smithId`, and a client that waits for consent to it. */
  readonly mcpDeploymentId: string;
  readonly authorizeRequestId: string;
  readonly appId: string;
  readonly inboundEventId: string;
  /** Completed. */
  readonly hostedRun: { readonly visitorId: string; readonly runId: string };
  readonly fileId: string;
  readonly skillId: string;
  readonly skillName: string;
  /** Registered; nothing answers there. */
  readonly mcpServerName: string;
  readonly suppressedAddress: string;
  /** In no vector store, both. */
  readonly spareFileId: string;
  readonly spareBatchFileId: string;
  /** Holds `fileId`. */
  readonly vectorStoreId: string;
  readonly batchId: string;
  /** Completed. */
  readonly responseId: string;
  /** Of `smithId`. */
  readonly conversationId: string;
  readonly conversationItemId: string;
  /** Of a page of Stripe that was paid. */
  readonly sessionId: string;
  /** Nobody has redeemed it. */
  freshCode(): string;
  /** A project of the same organization that nothing else uses. */
  readonly spareProjectId: string;
  /** A token bound to `smithId`; every scope unless they are named. */
  smithToken(scopes?: readonly string[]): Promise<string>;
}

/** The paths of the OpenAI dialect: members that are not known are ignored, and lists have the dialect's envelope. */
export const OPENAI_DIALECT =
  /^\/v1\/(?:chat\/completions|responses|embeddings|conversations|files|vector_stores|skills)(?:\/|$)/;

/** Operations of OAuth's own, in its own words: each takes what another has given. */
export const OAUTH_STEPS: ReadonlySet<string> = new Set(
  ['register', 'authorize', 'consent', 'token', 'revoke'].map((step) => `oauth.${step}`),
);

/** What fills one path parameter. */
interface PathParameter {
  /** Prefix of the ids; absent where the name is no tenant's object: a version's number, a provider's name. */
  readonly prefix?: string;
  readonly of: (world: World) => string;
}

/** By the path up to and with the parameter. */
const pathParameters: Readonly<Record<string, PathParameter>> = {
  '/v1/organization/projects/{pid}': { prefix: 'proj', of: (world) => world.spareProjectId },
  '/v1/tenant/tokens/{tid}': { prefix: 'tok', of: (world) => world.tokenId },
  '/v1/tenant/webhooks/{wid}': { prefix: 'whk', of: (world) => world.webhookId },
  '/v1/tenant/webhooks/{wid}/deliveries/{did}': { prefix: 'whd', of: (world) => world.deliveryId },
  '/v1/tenant/mcp/{name}': { of: (world) => world.mcpServerName },
  '/v1/catalog/{slug}': { of: () => 'deepwiki' },
  '/v1/tenant/model_keys/{provider}': { of: () => 'openai' },
  '/v1/tenant/providers/{provider}': { of: () => 'github' },
  '/v1/tenant/sandbox_secrets/{name}': { of: () => 'CONFORMANCE' },
  '/v1/agents/{aid}': { prefix: 'agt', of: (world) => world.agentId },
  '/v1/agents/{aid}/ui/{name}': { of: (world) => world.uiName },
  '/v1/smiths/{sid}': { prefix: 'smt', of: (world) => world.smithId },
  '/v1/smiths/{sid}/revisions/{n}': { of: () => '1' },
  '/v1/smiths/{sid}/runs/{rid}': { prefix: 'run', of: (world) => world.runId },
  '/v1/runs/{rid}': { prefix: 'run', of: (world) => world.runId },
  '/v1/traces/{tid}': { prefix: 'trc', of: (world) => withPrefix('trc', world.runId) },
  '/v1/smiths/{sid}/model_keys/{provider}': { of: () => 'openai' },
  '/v1/smiths/{sid}/schedules/{schid}': { prefix: 'sch', of: (world) => world.scheduleId },
  '/v1/smiths/{sid}/connections/{cid}': { prefix: 'con', of: (world) => world.connectionId },
  '/v1/deployments/{depid}': { prefix: 'dep', of: (world) => world.deploymentId },
  '/.well-known/oauth-protected-resource/v1/deployments/{depid}': {
    prefix: 'dep',
    of: (world) => world.mcpDeploymentId,
  },
  '/v1/organization/apps/{id}': { prefix: 'app', of: (world) => world.appId },
  '/v1/oauth/authorize-requests/{rid}': { prefix: 'oar', of: (world) => world.authorizeRequestId },
  '/v1/inbound_events/{ievid}': { prefix: 'ievt', of: (world) => world.inboundEventId },
  '/v1/telegram/webhook/{tenant}': { prefix: 'proj', of: (world) => world.projectId },
  '/v1/discord/webhook/{tenant}': { prefix: 'proj', of: (world) => world.projectId },
  '/v1/slack/oauth/{tenant}': { prefix: 'proj', of: (world) => world.projectId },
  '/v1/slack/webhook/{tenant}': { prefix: 'proj', of: (world) => world.projectId },
  '/v1/slack/webhook/{tenant}/{depid}': { prefix: 'dep', of: (world) => world.deploymentId },
  '/v1/sms/webhook/{tenant}': { prefix: 'proj', of: (world) => world.projectId },
  '/v1/email/inbound/{tenant}': { prefix: 'proj', of: (world) => world.projectId },
  '/v1/voice/webhook/{tenant}': { prefix: 'proj', of: (world) => world.projectId },
  '/v1/voice/relay/{tenant}': { prefix: 'proj', of: (world) => world.projectId },
  '/hosted/{depid}': { prefix: 'dep', of: (world) => world.deploymentId },
  '/v1/hosted/{depid}': { prefix: 'dep', of: (world) => world.deploymentId },
  '/v1/budgets/{bid}': { prefix: 'bgt', of: (world) => world.budgetId },
  '/v1/customers/{cid}': { prefix: 'cus', of: (world) => world.customerId },
  '/v1/approvals/{id}': { prefix: 'apr', of: (world) => world.approvalId },
  '/v1/responses/{id}': { prefix: 'resp', of: (world) => world.responseId },
  '/v1/files/{fid}': { prefix: 'file', of: (world) => world.fileId },
  '/v1/vector_stores/{vsId}': { prefix: 'vs', of: (world) => world.vectorStoreId },
  '/v1/vector_stores/{vsId}/files/{fid}': { prefix: 'file', of: (world) => world.fileId },
  '/v1/vector_stores/{vsId}/file_batches/{bid}': { prefix: 'vsfb', of: (world) => world.batchId },
  '/v1/conversations/{cnvId}': { prefix: 'cnv', of: (world) => world.conversationId },
  '/v1/conversations/{cnvId}/items/{itemId}': { prefix: 'msg', of: (world) => world.conversationItemId },
  '/v1/skills/{id}': { prefix: 'skill', of: (world) => world.skillId },
  // The first is the default, which cannot be deleted.
  '/v1/skills/{id}/versions/{v}': { of: () => '2' },
  '/v1/models/{model}': { of: () => 'builtin%2Fdemo' },
};

type Body = Readonly<Record<string, unknown>>;

/** A body that the operation accepts, by operation id; each call makes another object. `undefined`: it takes none. */
const bodies: Readonly<Record<string, ((world: World) => Body) | undefined>> = {
  'organization.projects.create': () => ({ name: uniqueName(), metadata: { tier: 'gold' } }),
  'organization.projects.tokens.create': () => ({ name: 'server' }),
  'organization.billing.setup': () => ({ return_url: `https://example.com/${uniqueName()}` }),
  'organization.billing.checkout': () => ({ amount_cents: 2_500, return_url: `https://example.com/${uniqueName()}` }),
  'organization.billing.confirm': ({ sessionId }) => ({ session_id: sessionId }),
  'organization.billing.redeem': ({ freshCode }) => ({ code: freshCode() }),
  'organization.billing.autoreload.put': () => ({ enabled: false, threshold_cents: 700 }),
  'organization.billing.reload': () => ({ amount_cents: 500 }),
  // Signed bytes, not JSON.
  'organization.billing.stripe_webhook': undefined,
  'oauth.register': () => ({ redirect_uris: ['http://127.0.0.1/callback'] }),
  // Forms.
  'oauth.consent': undefined,
  'oauth.token': undefined,
  'oauth.revoke': undefined,
  'oauth.authorize_requests.complete': () => ({}),
  'oauth.authorize_requests.decline': undefined,
  'tenant.tokens.create': ({ smithId }) => ({ scope: 'smith', smith_id: smithId, permissions: ['runs:read'] }),
  'tenant.model_keys.put': () => ({ api_key: 'sk-conformance' }),
  'smiths.model_keys.put': () => ({ api_key: 'sk-conformance' }),
  'tenant.providers.put': () => ({ client_id: 'conformance', client_secret: 'a secret', scopes_allowed: ['repo'] }),
  'smiths.connections.create': ({ freshProvider }) => ({
    provider: freshProvider(),
    credential: { kind: 'bearer', access_token: 'a-token' },
  }),
  'smiths.connections.update': () => ({ metadata: { name: uniqueName() } }),
  'smiths.connections.authorize': () => ({ provider: 'github' }),
  'smiths.connections.refresh': undefined,
  'tenant.sandbox_secrets.put': () => ({ value: 'a secret' }),
  'agents.create': () => ({ name: uniqueName(), instructions: 'Answer briefly.' }),
  'agents.update': () => ({ name: uniqueName() }),
  'agents.versions.publish': () => ({ note: uniqueName() }),
  'agents.rollout': () => ({ version: 1 }),
  'agents.attach': ({ otherSmithId }) => ({ smith_ids: [otherSmithId] }),
  'agents.ui.upload': () => uiForm(uniqueUiName()) as unknown as Body,
  'agents.import': ({ smithId }) => ({ from_smith: smithId, name: uniqueName() }),
  'smiths.create': () => ({ model: 'builtin/demo', display_name: uniqueName() }),
  'smiths.update': () => ({ display_name: uniqueName() }),
  'smiths.revisions.restore': () => ({ note: uniqueName() }),
  'smiths.runs.create': () => ({ input: [{ role: 'user', content: 'Write 2 words' }] }),
  'smiths.runs.submit': ({ approvalId }) => ({ kind: 'approval', approval_id: approvalId, decision: 'approve' }),
  'smiths.runs.replay': () => ({ stream: false }),
  'smiths.runs.cancel': undefined,
  // Forms, not JSON: see `formWith` and `uploadSkill`.
  'files.create': undefined,
  'skills.create': undefined,
  'skills.versions.create': () => bundleForm({ 'SKILL.md': skillText('any') }) as unknown as Body,
  'skills.update': () => ({ default_version: 1 }),
  'vector_stores.create': () => ({ name: uniqueName() }),
  'vector_stores.update': () => ({ name: uniqueName() }),
  'vector_stores.files.create': ({ spareFileId }) => ({ file_id: spareFileId }),
  'vector_stores.files.update': () => ({ attributes: { name: uniqueName() } }),
  'vector_stores.file_batches.create': ({ spareBatchFileId }) => ({ file_ids: [spareBatchFileId] }),
  'vector_stores.file_batches.cancel': undefined,
  'vector_stores.search': () => ({ query: 'Where does the river rise?' }),
  'smiths.memory.put': () => ({ content: uniqueName() }),
  'smiths.memory.recall': () => ({ query: 'What was said?', limit: 3 }),
  'smiths.schedules.create': () => ({ name: uniqueName(), cron: '0 0 1 1 *' }),
  'smiths.schedules.update': () => ({ name: uniqueName() }),
  'smiths.schedules.run_now': () => ({}),
  // An update, with a secret in its head.
  'telegram.webhook.receive': undefined,
  // Signed.
  'whatsapp.webhook.receive': undefined,
  'discord.webhook.receive': undefined,
  'slack.webhook.receive': undefined,
  'slack.app_webhook.receive': undefined,
  'sms.webhook.receive': undefined,
  'email.inbound.receive': undefined,
  'tenant.email.put': ({ mail }) => mail.bodyOf(),
  'tenant.email.suppressions.create': () => ({
    address: `${uniqueName().slice(5)}@example.com`,
    reason: 'asked us to stop',
  }),
  'voice.webhook.receive': undefined,
  'tenant.whatsapp.put': ({ graph }) => graph.bodyOf(graph.addNumber()),
  'tenant.discord.put': ({ discord }) => discord.bodyOf(discord.addApplication()),
  'tenant.slack.put': ({ slack }) => slack.bodyOf(slack.addApp()),
  'tenant.telegram.put': ({ telegram }) => ({ bot_token: telegram.newToken(), api_base_url: telegram.url }),
  'deployments.create': ({ agentId }) => ({ target: { type: 'agent', id: agentId }, kind: 'web' }),
  // A JSON-RPC message.
  'deployments.mcp': undefined,
  'hosted.chat': ({ hostedRun: { visitorId } }) => ({ visitor_id: visitorId, message: 'Write 2 words' }),
  'hosted.stop': ({ hostedRun: { visitorId, runId } }) => ({ visitor_id: visitorId, run_id: runId }),
  'deployments.update': () => ({ display_name: uniqueName() }),
  'customers.create': () => ({ name: uniqueName(), external_ids: { crm: '17' } }),
  'customers.update': () => ({ name: uniqueName() }),
  'chat.completions.create': ({ smithUser }) => ({
    user: smithUser,
    messages: [{ role: 'user', content: 'Write 2 words' }],
  }),
  'conversations.create': ({ smithUser }) => ({ user: smithUser, title: uniqueName() }),
  'conversations.update': () => ({ title: uniqueName() }),
  'conversations.items.create': () => ({ items: [{ role: 'user', content: uniqueName() }] }),
  'responses.create': ({ smithUser }) => ({ user: smithUser, input: 'Write 2 words' }),
  'responses.cancel': undefined,
  'tenant.mcp.put': () => ({ url: 'https://example.com/mcp', approval_policy: [{ match: 'delete_*' }] }),
  'tenant.mcp.refresh': undefined,
  'tenant.webhooks.create': () => ({ url: 'https://example.com/hook', events: ['webhook.test'] }),
  'tenant.webhooks.update': () => ({ events: ['webhook.'] }),
  'tenant.webhooks.rotate': () => ({ grace_seconds: 60 }),
  'tenant.webhooks.test': undefined,
  'tenant.webhooks.deliveries.redeliver': undefined,
  'tenant.webhooks.replay': () => ({ since: '2026-05-01' }),
  // Raw bytes.
  'traces.otlp.push': undefined,
  'traces.ingest': () => ({
    app_id: 'shop',
    spans: [
      {
        span_id: uniqueName().slice(5),
        name: 'Write',
        started_at: '2026-05-01T12:00:00Z',
        ended_at: '2026-05-01T12:00:01Z',
      },
    ],
  }),
  'usage.events.create': () => ({ meter: 'pages', quantity: 1.5, at: new Date().toISOString() }),
  'budgets.create': ({ agentId }) => ({ scope: 'agent', scope_id: agentId, period: 'daily', limit: 1_000 }),
  'budgets.update': () => ({ limit: 2_000 }),
  'embeddings.create': () => ({ input: 'Where does the river rise?' }),
};

interface Described {
  readonly id: string;
  readonly method: string;
  readonly path: string;
}

/** A body for the operation, or undefined where it takes none. Fails for an operation that is not in the table. */
export function bodyFor(operation: Described, world: World): Body | undefined {
  if (operation.method === 'GET' || operation.method === 'DELETE') return undefined;
  assert.ok(Object.hasOwn(bodies, operation.id), `give ${operation.id} a body in test/conformance/world.ts`);
  return bodies[operation.id]?.(world);
}

/** One `{parameter}` of a path. */
export interface PathSlot {
  readonly name: string;
  readonly prefix: string | undefined;
  valueIn(world: World): string;
}

/** The path's parameters from left to right. Fails for one that is not in the table. */
export function slotsOf(path: string): PathSlot[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => {
    const upToHere = path.slice(0, match.index + match[0].length);
    const parameter = pathParameters[upToHere];
    assert.ok(parameter, `give ${upToHere} a value in test/conformance/world.ts`);
    return { name: match[1] ?? '', prefix: parameter.prefix, valueIn: parameter.of };
  });
}

/** The path with each parameter's value, from left to right. */
export function fillPath(path: string, values: readonly string[]): string {
  let next = 0;
  return path.replaceAll(/\{\w+\}/g, () => values[next++] ?? '');
}

/** The path of the world's own objects. */
export function pathIn(path: string, world: World): string {
  return fillPath(
    path,
    slotsOf(path).map((slot) => slot.valueIn(world)),
  );
}

/** An id that was never given to anything. */
export function missingId(prefix: string): string {
  return mintId(prefix);
}

export function uniqueName(): string {
  return `Name ${randomBytes(6).toString('hex')}`;
}

export async function createWorld(platform: TestPlatform): Promise<World> {
  const { client: organization } = await platform.createOrganization();
  const projectId = await createdId(organization.post('/v1/organization/projects', { name: uniqueName() }));
  const minted = await organization.post(`/v1/organization/projects/${projectId}/tokens`);
  assert.equal(minted.status, 201, minted.text);
  const tenant = createClient(platform.url, minted.body.token);
  const agentId = await createdId(tenant.post('/v1/agents', { name: uniqueName(), model: 'builtin/demo' }));
  await created(tenant.post(`/v1/agents/${agentId}/versions`, {}));
  const smithUser = uniqueName();
  const smithId = await createdId(tenant.post('/v1/smiths', { model: 'builtin/demo', external_id: smithUser }));
  const otherSmithId = await createdId(tenant.post('/v1/smiths', { model: 'builtin/demo' }));
  const runsPath = `/v1/smiths/${smithId}/runs`;
  const runId = await createdId(tenant.post(runsPath, say('Write 2 words')));
  const paused = await created(
    tenant.post(runsPath, {
      ...say('Call the tool notify with {"to": "Ada"}'),
      tools: [{ name: 'notify', requires_approval: true }],
    }),
  );
  assert.equal(paused.body.status, 'paused', paused.text);
  const smithToken = async (scopes: readonly string[] = SCOPES) => {
    const answer = await tenant.post('/v1/tenant/tokens', { scope: 'smith', smith_id: smithId, permissions: scopes });
    assert.equal(answer.status, 201, answer.text);
    return answer.body.token as string;
  };
  return {
    organization,
    tenant,
    projectId,
    agentId,
    uiName: await uploadUi(tenant, agentId),
    smithId,
    smithUser,
    otherSmithId,
    customerId: await createdId(tenant.post('/v1/customers', { name: uniqueName() })),
    runId,
    pausedRunId: paused.body.id,
    approvalId: paused.body.output.tool_calls[0].approval_id,
    tokenId: await createdId(tenant.post('/v1/tenant/tokens', { scope: 'admin' })),
    budgetId: await createdId(tenant.post('/v1/budgets', { scope: 'tenant', period: 'daily', limit: 1_000 })),
    ...(await connectAccount(tenant, smithId)),
    ...(await registerWebhook(tenant)),
    scheduleId: await createdId(tenant.post(`/v1/smiths/${smithId}/schedules`, { cron: '0 0 1 1 *', enabled: false })),
    ...(await openPage(tenant)),
    ...(await startAuthorizeRequest(platform, tenant, smithId)),
    appId: await connectApp(platform, projectId),
    inboundEventId: await receiveMessage(platform, projectId, smithId),
    telegram: platform.telegram,
    graph: platform.graph,
    discord: platform.discord,
    slack: platform.slack,
    mail: platform.mail,
    ...(await createVectorStore(tenant)),
    spareFileId: await uploadFile(tenant),
    spareBatchFileId: await uploadFile(tenant),
    ...(await startSkill(tenant)),
    mcpServerName: await registerMcpServer(tenant),
    suppressedAddress: await suppressAddress(tenant),
    responseId: await startResponse(tenant, { user: smithUser }),
    ...(await startConversation(tenant, smithUser)),
    ...(await fillWallet(platform, organization)),
    spareProjectId: await createdId(organization.post('/v1/organization/projects', { name: uniqueName() })),
    smithToken,
  };
}

const foreignWorlds = new WeakMap<object, Promise<World>>();

/** A world whose objects are read, and are another project's to the test: the files of a process share it, as they share the server. */
export function foreignWorld(platform: TestPlatform): Promise<World> {
  const world = foreignWorlds.get(platform.platform) ?? createWorld(platform);
  foreignWorlds.set(platform.platform, world);
  return world;
}

async function suppressAddress(tenant: Client): Promise<string> {
  const address = `${uniqueName().slice(5)}@example.com`;
  const { status, text, body } = await tenant.post('/v1/tenant/email/suppressions', { address });
  assert.equal(status, 201, text);
  return body.address;
}

/** An account at `github`. */
async function connectAccount(tenant: Client, smithId: string): Promise<Pick<World, 'connectionId' | 'freshProvider'>> {
  const saved = await tenant.put('/v1/tenant/providers/github', { client_id: 'a-client', client_secret: 'a secret' });
  assert.equal(saved.status, 200, saved.text);
  const credential = { kind: 'bearer', access_token: 'a-token' };
  const connectionId = await createdId(
    tenant.post(`/v1/smiths/${smithId}/connections`, { provider: 'github', credential }),
  );
  const others = wellKnownNames.filter((name) => name !== 'github');
  let given = 0;
  return { connectionId, freshProvider: () => others[given++ % others.length] ?? '' };
}

/** What a world redeems at most. */
const CODES = 80;

/** A saved card, a page that was paid, and codes. */
async function fillWallet(
  platform: TestPlatform,
  organization: Client,
): Promise<Pick<World, 'sessionId' | 'freshCode'>> {
  const { stripe, db } = platform;
  const open = async (page: string, body: Body) => {
    const { status, body: opened, text } = await organization.post(`/v1/organization/billing/${page}`, body);
    assert.equal(status, 200, text);
    return new URL(opened.url).pathname.split('/').at(-1) ?? '';
  };
  const return_url = 'https://example.com/billing';
  const setup = await open('setup', { return_url });
  stripe.saveCard(setup);
  const confirmed = await organization.post('/v1/organization/billing/confirm', { session_id: setup });
  assert.equal(confirmed.status, 200, confirmed.text);
  const sessionId = await open('checkout', { amount_cents: 1_000, return_url });
  stripe.paySession(sessionId);
  const codes = await mintCodes(db, { amountCents: 100, count: CODES, expiresAt: null });
  return { sessionId, freshCode: () => codes.pop() ?? assert.fail('mint more codes in test/conformance/world.ts') };
}

/** A vector store with one file, which came in a batch. */
async function createVectorStore(tenant: Client): Promise<{ fileId: string; vectorStoreId: string; batchId: string }> {
  const fileId = await uploadFile(tenant);
  const store = await tenant.post('/v1/vector_stores', { name: uniqueName() });
  assert.equal(store.status, 200, store.text);
  const batch = await tenant.post(`/v1/vector_stores/${store.body.id}/file_batches`, { file_ids: [fileId] });
  assert.equal(batch.status, 200, batch.text);
  return { fileId, vectorStoreId: store.body.id, batchId: batch.body.id };
}

/** A conversation of the smith with this external id, with an item. */
export async function startConversation(
  caller: Client,
  user?: string,
): Promise<{ conversationId: string; conversationItemId: string }> {
  const conversation = await caller.post('/v1/conversations', user === undefined ? {} : { user });
  assert.equal(conversation.status, 200, conversation.text);
  const conversationId = conversation.body.id as string;
  return { conversationId, conversationItemId: await addItem(caller, conversationId) };
}

/** Adds a message to the conversation; answers with its id. */
export async function addItem(caller: Client, conversationId: string): Promise<string> {
  const items = [{ role: 'user', content: uniqueName() }];
  const added = await caller.post(`/v1/conversations/${conversationId}/items`, { items });
  assert.equal(added.status, 200, added.text);
  return added.body.data[0].id;
}

/** A response of the smith that the token or the body names; answers with its id. */
export async function startResponse(caller: Client, body: Body = {}): Promise<string> {
  const answer = await caller.post('/v1/responses', { ...body, input: 'Write 2 words' });
  assert.equal(answer.status, 200, answer.text);
  return answer.body.id;
}

/** A page with a visitor who has been answered. */
async function openPage(tenant: Client): Promise<Pick<World, 'deploymentId' | 'hostedRun'>> {
  const agentId = await createdId(tenant.post('/v1/agents', { name: uniqueName(), model: 'builtin/demo' }));
  await created(tenant.post(`/v1/agents/${agentId}/versions`, {}));
  const body = { target: { type: 'agent', id: agentId }, kind: 'web', provider_metadata: { chats_per_minute: 1_000 } };
  const deploymentId = await createdId(tenant.post('/v1/deployments', body));
  const visitorId = uniqueName();
  const chat = await tenant
    .as('')
    .post(`/v1/hosted/${deploymentId}/chat`, { visitor_id: visitorId, message: 'Write 2 words' });
  assert.equal(chat.body?.status, 'completed', chat.text);
  return { deploymentId, hostedRun: { visitorId, runId: chat.body.run_id } };
}

/** As one that the organization has let into the project; nobody serves its document. */
export async function connectApp({ db }: TestPlatform, projectId: string): Promise<string> {
  const id = mintId('app');
  await db.query({
    text: `
      insert into oauth_apps (project_id, id, organization_id, client_id, client_name, scopes)
      select id, $2, organization_id, 'https://example.com/' || $2, 'Example', '{runs:read}' from projects where id = $1`,
    values: [projectId, id],
  });
  return id;
}

async function startAuthorizeRequest({ url }: TestPlatform, tenant: Client, smithId: string) {
  const target = { type: 'smith', id: smithId };
  const made = await created(tenant.post('/v1/deployments', { target, kind: 'mcp' }));
  const client_id = await newClientId(url);
  const page = await openAuthorize(url, {
    client_id,
    resource: made.body.mcp_url,
    code_challenge: newPkce().challenge,
  });
  return { mcpDeploymentId: made.body.id as string, authorizeRequestId: requestIn(page) };
}

/** As a channel of the smith's has delivered it; answers with the event's id. */
export async function receiveMessage({ db }: TestPlatform, projectId: string, smithId: string): Promise<string> {
  const id = mintId('ievt');
  await db.query({
    text: `
      insert into inbound_events (project_id, id, source, account_id, type, subject, idempotency_key, data, smith_id, state)
      values ($1, $2, 'telegram', '', 'message', 'Ada wrote', $2, '{}', $3, 'ignored')`,
    values: [projectId, id, smithId],
  });
  return id;
}

async function startSkill(tenant: Client) {
  const skillId = await uploadSkill(tenant);
  const skillName: string = (await tenant.get(`/v1/skills/${skillId}`)).body.name;
  const second = await tenant.post(
    `/v1/skills/${skillId}/versions`,
    bundleForm({ 'SKILL.md': skillText(skillName, 'Second.') }),
  );
  assert.equal(second.status, 201, second.text);
  return { skillId, skillName };
}

/** Registers a server that nobody can reach; answers with its name. */
export async function registerMcpServer(tenant: Client): Promise<string> {
  const name = uniqueName().toLowerCase().replace(' ', '-');
  await created(tenant.put(`/v1/tenant/mcp/${name}`, { url: 'https://example.com/mcp' }));
  return name;
}

/** Uploads a small file; answers with its id. */
export async function uploadFile(caller: Client): Promise<string> {
  const answer = await caller.post('/v1/files', formWith(uniqueName()));
  assert.equal(answer.status, 200, answer.text);
  return answer.body.id;
}

/** Uploads a UI resource; answers with its name. */
async function uploadUi(tenant: Client, agentId: string): Promise<string> {
  const answer = await tenant.post(`/v1/agents/${agentId}/ui`, uiForm(uniqueUiName()));
  assert.equal(answer.status, 201, answer.text);
  return answer.body.name;
}

function uniqueUiName(): string {
  return uniqueName().replace(' ', '-');
}

function uiForm(name: string): FormData {
  const form = new FormData();
  form.set('name', name);
  form.set('file', new Blob(['<p>Hello</p>']), 'page.html');
  return form;
}

/** A form that uploads this text. */
function formWith(text: string): FormData {
  const form = new FormData();
  form.set('purpose', 'user_data');
  form.set('file', new Blob([text]), 'notes.txt');
  return form;
}

function say(text: string): Body {
  return { input: [{ role: 'user', content: text }] };
}

async function created(answering: Promise<Answer>): Promise<Answer> {
  const answer = await answering;
  assert.equal(answer.status, 201, answer.text);
  return answer;
}

async function createdId(answering: Promise<Answer>): Promise<string> {
  return (await created(answering)).body.id;
}

/** One with a delivery, which nothing takes. */
async function registerWebhook(tenant: Client): Promise<{ webhookId: string; deliveryId: string }> {
  const webhookId = await createdId(
    tenant.post('/v1/tenant/webhooks', { url: 'https://example.com/hook', events: ['webhook.test'] }),
  );
  const { body } = await tenant.post(`/v1/tenant/webhooks/${webhookId}/test`);
  return { webhookId, deliveryId: body.delivery_id };
}
