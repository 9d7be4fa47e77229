/**
 * Whatever a request refers to, it refers to only what its caller could get itself: every member of every operation that
 * names an object is sent with ids that are foreign, forbidden or missing, and the answers are alike. The members are
 * derived from the operations: one that is neither in the table nor excused fails.
 */

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { componentOf } from '../../src/kernel/http/schema.ts';
import { SCOPES } from '../../src/platform/access/scopes.ts';
import { TenantTransaction } from '../../src/platform/store/tenant-db.ts';
import { type Answer, type Client, createClient, startPlatform } from '../support/platform.ts';
import { assertEnvelope, assertRefusal } from './assert-refusal.ts';
import {
  createWorld,
  foreignWorld,
  missingId,
  slotsOf,
  startConversation,
  startResponse,
  uniqueName,
  uploadFile,
} from './world.ts';

const platform = await startPlatform();
after(() => platform.close());
const { operations } = platform.platform;
const home = await createWorld(platform);
const abroad = await foreignWorld(platform);
const nobody = createClient(platform.url, '');

interface Kind {
  /** What getting one takes. */
  readonly scope: string;
  readonly prefix: string;
  /** One that a token of `home`'s smith gets; absent where none does. */
  readonly own?: string;
  /** Ones of `home` that it does not get. */
  readonly hidden: readonly string[];
  /** One that the tenant may give to `home`'s smith. */
  readonly tenants: string;
  readonly foreign: string;
}

const smith = nobody.as(await home.smithToken());
const otherSmith = nobody.as(await mintSmithToken(home.otherSmithId, SCOPES));
const kinds = {
  agent: {
    scope: 'tenant:*',
    prefix: 'agt',
    hidden: [home.agentId],
    tenants: home.agentId,
    foreign: abroad.agentId,
  },
  customer: {
    scope: 'customers:read',
    prefix: 'cus',
    hidden: [home.customerId],
    tenants: home.customerId,
    foreign: abroad.customerId,
  },
  smith: {
    scope: 'runs:read',
    prefix: 'smt',
    own: home.smithId,
    hidden: [home.otherSmithId],
    tenants: home.smithId,
    foreign: abroad.smithId,
  },
  file: {
    scope: 'files:read',
    prefix: 'file',
    own: await uploadFile(smith),
    hidden: [home.fileId, await uploadFile(otherSmith)],
    tenants: home.fileId,
    foreign: abroad.fileId,
  },
  vectorStore: {
    scope: 'vector_stores:read',
    prefix: 'vs',
    own: await createStore(smith),
    hidden: [home.vectorStoreId, await createStore(otherSmith)],
    tenants: home.vectorStoreId,
    foreign: abroad.vectorStoreId,
  },
  response: {
    scope: 'runs:read',
    prefix: 'resp',
    own: home.responseId,
    hidden: [await startResponse(otherSmith)],
    tenants: home.responseId,
    foreign: abroad.responseId,
  },
  conversation: {
    scope: 'conversations:read',
    prefix: 'cnv',
    own: home.conversationId,
    hidden: [(await startConversation(otherSmith)).conversationId],
    tenants: home.conversationId,
    foreign: abroad.conversationId,
  },
} satisfies Record<string, Kind>;

type KindName = keyof typeof kinds;

interface Reference {
  /** The operation, where the member stands, and its path. */
  readonly at: string;
  readonly kind: KindName;
  /** How it is refused. */
  readonly refusal: readonly [status: number, code: string];
  /** Sends the operation with this id in the member; `user` names the smith where the token does not. */
  readonly send: (caller: Client, id: string, user: { user?: string }) => Promise<Answer>;
  /** Where a smith token is refused otherwise than by the rule. */
  readonly smithRefusal?: readonly [status: number, code: string];
}

const filePart = (id: string) => ({ role: 'user', content: [{ type: 'input_file', file_id: id }] });
const imagePart = (id: string) => ({ role: 'user', content: [{ type: 'input_image', file_id: id }] });
const wrappedPart = (id: string) => ({ role: 'user', content: [{ type: 'file', file: { file_id: id } }] });
const searchIn = (id: string) => [{ type: 'file_search', vector_store_ids: [id] }];
const say = 'Write 2 words';
const aSpan = { span_id: 'a', name: 'a', started_at: '2026-05-01T12:00:00Z', ended_at: '2026-05-01T12:00:01Z' };
const runs = `/v1/smiths/${home.smithId}/runs`;
const tenantsOnly = [403, 'tenant_token_required'] as const;
const notFound = [404, 'not_found'] as const;
const invalidInput = [422, 'invalid_input'] as const;
const noConversation = [404, 'conversation_not_found'] as const;

const schedules = `/v1/smiths/${home.smithId}/schedules`;
const scheduleCalls = [
  {
    id: 'smiths.schedules.create',
    call: (caller: Client, body: object) => caller.post(schedules, { cron: '0 0 1 1 *', ...body }),
  },
  {
    id: 'smiths.schedules.update',
    call: (caller: Client, body: object) => caller.patch(`${schedules}/${home.scheduleId}`, body),
  },
];

const references: readonly Reference[] = [
  ...[filePart, imagePart].map(
    (part): Reference => ({
      at: 'smiths.runs.create body.input',
      kind: 'file',
      refusal: invalidInput,
      send: (caller, id) => caller.post(runs, { input: [part(id)] }),
    }),
  ),
  {
    at: 'smiths.runs.create body.thread_id',
    kind: 'conversation',
    refusal: noConversation,
    send: (caller, id) => caller.post(runs, { input: [{ role: 'user', content: say }], thread_id: id }),
  },
  ...scheduleCalls.flatMap(({ id: operation, call }): Reference[] => [
    {
      at: `${operation} body.input`,
      kind: 'file',
      refusal: invalidInput,
      send: (caller, id) => call(caller, { input: [filePart(id)] }),
    },
    {
      at: `${operation} body.thread_id`,
      kind: 'conversation',
      refusal: noConversation,
      send: (caller, id) => call(caller, { thread_id: id }),
    },
  ]),
  ...[filePart, imagePart].map(
    (part): Reference => ({
      at: 'responses.create body.input',
      kind: 'file',
      refusal: invalidInput,
      send: (caller, id, user) => caller.post('/v1/responses', { ...user, input: [part(id)] }),
    }),
  ),
  {
    at: 'responses.create body.input',
    kind: 'response',
    refusal: invalidInput,
    send: async (caller, id, user) => {
      // The items of a response bear its id.
      const item = { type: 'item_reference', id: id.replace('resp_', 'msg_').concat('_in_0') };
      return caller.post('/v1/responses', { ...user, input: [item, { role: 'user', content: say }] });
    },
  },
  {
    at: 'responses.create body.previous_response_id',
    kind: 'response',
    refusal: notFound,
    send: (caller, id, user) => caller.post('/v1/responses', { ...user, input: say, previous_response_id: id }),
  },
  {
    at: 'responses.create body.conversation',
    kind: 'conversation',
    refusal: noConversation,
    send: (caller, id, user) => caller.post('/v1/responses', { ...user, input: say, conversation: id }),
  },
  {
    at: 'responses.create body.tools',
    kind: 'vectorStore',
    refusal: notFound,
    send: (caller, id, user) => caller.post('/v1/responses', { ...user, input: say, tools: searchIn(id) }),
  },
  {
    at: 'chat.completions.create body.messages',
    kind: 'file',
    refusal: invalidInput,
    send: (caller, id, user) => caller.post('/v1/chat/completions', { ...user, messages: [wrappedPart(id)] }),
  },
  {
    at: 'chat.completions.create body.conversation',
    kind: 'conversation',
    refusal: noConversation,
    send: (caller, id, user) =>
      caller.post('/v1/chat/completions', {
        ...user,
        messages: [{ role: 'user', content: say }],
        conversation: { id },
      }),
  },
  {
    at: 'chat.completions.create body.tools',
    kind: 'vectorStore',
    refusal: notFound,
    send: (caller, id, user) =>
      caller.post('/v1/chat/completions', {
        ...user,
        messages: [{ role: 'user', content: say }],
        tools: searchIn(id),
      }),
  },
  {
    at: 'conversations.create body.items',
    kind: 'file',
    refusal: invalidInput,
    send: (caller, id, user) => caller.post('/v1/conversations', { ...user, items: [filePart(id)] }),
  },
  {
    at: 'conversations.items.create body.items',
    kind: 'file',
    refusal: invalidInput,
    send: (caller, id) => caller.post(`/v1/conversations/${home.conversationId}/items`, { items: [imagePart(id)] }),
  },
  {
    at: 'vector_stores.create body.file_ids',
    kind: 'file',
    refusal: notFound,
    send: (caller, id) => caller.post('/v1/vector_stores', { file_ids: [id] }),
  },
  {
    at: 'vector_stores.create body.smith_id',
    kind: 'smith',
    refusal: notFound,
    smithRefusal: [403, 'smith_mismatch'],
    send: (caller, id) => caller.post('/v1/vector_stores', { smith_id: id }),
  },
  {
    at: 'traces.ingest body.smith_id',
    kind: 'smith',
    refusal: notFound,
    smithRefusal: [403, 'smith_mismatch'],
    send: (caller, id) => caller.post('/v1/traces:ingest', { smith_id: id, spans: [aSpan] }),
  },
  {
    at: 'vector_stores.files.create body.file_id',
    kind: 'file',
    refusal: notFound,
    send: async (caller, id) => caller.post(`/v1/vector_stores/${await createStore(smith)}/files`, { file_id: id }),
  },
  {
    at: 'vector_stores.file_batches.create body.file_ids',
    kind: 'file',
    refusal: notFound,
    send: async (caller, id) =>
      caller.post(`/v1/vector_stores/${await createStore(smith)}/file_batches`, { file_ids: [id] }),
  },
  {
    at: 'vector_stores.file_batches.create body.files.file_id',
    kind: 'file',
    refusal: notFound,
    send: async (caller, id) =>
      caller.post(`/v1/vector_stores/${await createStore(smith)}/file_batches`, { files: [{ file_id: id }] }),
  },
  {
    at: 'smiths.create body.agent_id',
    kind: 'agent',
    refusal: notFound,
    smithRefusal: tenantsOnly,
    send: (caller, id) => caller.post('/v1/smiths', { agent_id: id }),
  },
  {
    at: 'smiths.create body.customer_id',
    kind: 'customer',
    refusal: notFound,
    smithRefusal: tenantsOnly,
    send: (caller, id) => caller.post('/v1/smiths', { model: 'builtin/demo', customer_id: id }),
  },
  {
    at: 'smiths.create body.vector_store_ids',
    kind: 'vectorStore',
    refusal: notFound,
    smithRefusal: tenantsOnly,
    send: (caller, id) => caller.post('/v1/smiths', { vector_store_ids: [id] }),
  },
  {
    at: 'smiths.update body.agent_id',
    kind: 'agent',
    refusal: notFound,
    send: (caller, id) => withFreshSmith(caller, (client, sid) => client.patch(`/v1/smiths/${sid}`, { agent_id: id })),
  },
  {
    at: 'smiths.update body.customer_id',
    kind: 'customer',
    refusal: notFound,
    send: (caller, id) =>
      withFreshSmith(caller, (client, sid) => client.patch(`/v1/smiths/${sid}`, { customer_id: id })),
  },
  {
    at: 'smiths.update body.vector_store_ids',
    kind: 'vectorStore',
    refusal: notFound,
    send: (caller, id) => caller.patch(`/v1/smiths/${home.smithId}`, { vector_store_ids: [id] }),
  },
  {
    at: 'agents.create body.vector_store_ids',
    kind: 'vectorStore',
    refusal: notFound,
    smithRefusal: tenantsOnly,
    send: (caller, id) => caller.post('/v1/agents', { name: uniqueName(), vector_store_ids: [id] }),
  },
  {
    at: 'agents.update body.vector_store_ids',
    kind: 'vectorStore',
    refusal: notFound,
    smithRefusal: tenantsOnly,
    send: (caller, id) => caller.patch(`/v1/agents/${home.agentId}`, { vector_store_ids: [id] }),
  },
  {
    at: 'agents.attach body.smith_ids',
    kind: 'smith',
    refusal: notFound,
    smithRefusal: tenantsOnly,
    send: async (caller, id) => caller.post(`/v1/agents/${await publishAgent()}/attach`, { smith_ids: [id] }),
  },
  {
    at: 'agents.import body.from_smith',
    kind: 'smith',
    refusal: notFound,
    smithRefusal: tenantsOnly,
    send: (caller, id) => caller.post('/v1/agents/import', { from_smith: id, name: uniqueName() }),
  },
  {
    at: 'tenant.tokens.create body.smith_id',
    kind: 'smith',
    refusal: notFound,
    smithRefusal: [403, 'admin_required'],
    send: (caller, id) =>
      caller.post('/v1/tenant/tokens', { scope: 'smith', smith_id: id, permissions: ['runs:read'] }),
  },
  {
    at: 'usage.events.create body.smith_id',
    kind: 'smith',
    refusal: notFound,
    smithRefusal: [403, 'smith_mismatch'],
    send: (caller, id) => caller.post('/v1/usage/events', { meter: 'pages', quantity: 1, smith_id: id }),
  },
  {
    at: 'usage.events.create body.customer_id',
    kind: 'customer',
    refusal: notFound,
    send: (caller, id) => caller.post('/v1/usage/events', { meter: 'pages', quantity: 1, customer_id: id }),
  },
  ...(['agent', 'smith', 'customer'] as const).map(
    (kind): Reference => ({
      at: 'budgets.create body.scope_id',
      kind,
      refusal: notFound,
      smithRefusal: tenantsOnly,
      send: async (caller, id) => {
        const answer = await caller.post('/v1/budgets', { scope: kind, scope_id: id, limit: 1 });
        // Of each scope there is one: whoever comes next makes it anew.
        if (answer.status === 201) await caller.delete(`/v1/budgets/${answer.body.id}`);
        return answer;
      },
    }),
  ),
  ...(['agent', 'smith'] as const).map(
    (kind): Reference => ({
      at: 'deployments.create body.target.id',
      kind,
      refusal: notFound,
      smithRefusal: [403, 'forbidden_target'],
      send: (caller, id) => caller.post('/v1/deployments', { target: { type: kind, id }, kind: 'web' }),
    }),
  ),
  ...(['/v1/responses', '/v1/chat/completions', '/v1/conversations'] as const).map(
    (path): Reference => ({
      at: `${path} IC-Agent-Id`,
      kind: 'agent',
      refusal: notFound,
      // The smith is the token's: the header says nothing then.
      smithRefusal: [200, ''],
      send: (caller, id) =>
        caller.post(
          path,
          { user: uniqueName(), input: say, messages: [{ role: 'user', content: say }] },
          { 'ic-agent-id': id },
        ),
    }),
  ),
];

/** Members that look like references and are none, or that another test holds, each with its reason. */
const filter = 'narrows what the caller sees anyway: see the test of filters';
const place = 'a place in the list: test/conformance/lists.test.ts and openai-lists.test.ts';
const skillTest = 'see the tests of skills in configurations: resources/skills/configured-skills.test.ts';
const registry = 'names of a registry that only the tenant has: see the test of a smith’s own settings';
const visitors = 'there is no caller; whose thread and run it is: resources/hosted/hosted.test.ts';
const client = 'a client of OAuth, which anybody may name';
const consented = 'held against who consents: see the tests of OAuth';
const excused: Readonly<Record<string, string>> = {
  'oauth.authorize query.client_id': client,
  'oauth.revoke body.client_id': client,
  'oauth.token body.client_id': client,
  'oauth.consent body.smith_id': consented,
  'oauth.authorize_requests.complete body.smith_id': consented,
  'oauth.consent body.project_id': consented,
  'oauth.authorize_requests.complete body.project_id': consented,
  'oauth.authorize_requests.complete body.user.id': 'the caller’s own name for the person',
  'organization.billing.confirm body.session_id':
    'a page of Stripe, and its organization’s alone: see the tests of billing',
  'smiths.create body.external_id': 'the caller’s own name for the smith',
  'smiths.create body.skills.skill_id': skillTest,
  'smiths.create body.skills': skillTest,
  'smiths.create body.mcp_servers': registry,
  'smiths.create body.enabled_hosted_tools': registry,
  'smiths.create body.pin': 'a number among the versions of `agent_id`',
  'smiths.update body.skills.skill_id': skillTest,
  'smiths.update body.skills': skillTest,
  'smiths.update body.mcp_servers': registry,
  'smiths.update body.enabled_hosted_tools': registry,
  'smiths.update body.pin': 'see the test of a smith’s own settings',
  'agents.create body.skills.skill_id': skillTest,
  'agents.create body.skills': skillTest,
  'agents.create body.mcp_servers': registry,
  'agents.create body.enabled_hosted_tools': registry,
  'agents.update body.skills.skill_id': skillTest,
  'agents.update body.skills': skillTest,
  'agents.update body.mcp_servers': registry,
  'agents.update body.enabled_hosted_tools': registry,
  'customers.create body.external_ids': 'the caller’s own names for the customer',
  'customers.update body.external_ids': 'the caller’s own names for the customer',
  'tenant.providers.put body.client_id': 'the provider’s, not ours',
  'tenant.model_keys.put body.workspace_id': 'the provider’s, not ours',
  'tenant.whatsapp.put body.phone_number_id': 'the provider’s, not ours',
  'tenant.whatsapp.put body.business_account_id': 'the provider’s, not ours',
  'tenant.discord.put body.application_id': 'the provider’s, not ours',
  'tenant.slack.put body.client_id': 'the provider’s, not ours',
  'smiths.model_keys.put body.workspace_id': 'the provider’s, not ours',
  'smiths.runs.create body.tools': 'functions of the caller',
  'smiths.runs.submit body.tool_call_id': 'a call of the run in the path',
  'smiths.runs.submit body.approval_id': 'a call of the run in the path',
  'chat.completions.create body.conversation.id': 'what `conversation` names, in its other form',
  'hosted.chat body.visitor_id': visitors,
  'hosted.chat body.thread_id': visitors,
  'hosted.stop body.visitor_id': visitors,
  'hosted.stop body.run_id': visitors,
  'smiths.list query.external_id': filter,
  'smiths.list query.customer_id': filter,
  'smiths.list query.agent_id': filter,
  'runs.list query.smith_id': filter,
  'runs.list query.agent_id': filter,
  'events.list query.smith_id': filter,
  'inbound_events.list query.smith_id': filter,
  'traces.ingest body.trace_id': 'the caller’s own name; see the test of pushed traces for ids of ours',
  'traces.ingest body.app_id': 'the caller’s own name for the app',
  'traces.ingest body.spans.span_id': 'the caller’s own',
  'traces.ingest body.spans.parent_span_id': 'the caller’s own, and may come later',
  'usage.get query.smith_id': filter,
  'usage.get query.agent_id': filter,
  'usage.get query.customer_id': filter,
  'usage.get query.app_id': filter,
  'usage.events.list query.smith_id': filter,
  'traces.list query.smith_id': filter,
  'traces.list query.app_id': filter,
  'traces.list query.run_id': filter,
  'traces.list query.external_id': filter,
  'vector_stores.search body.page': place,
};

/** What a member that refers to something is called. */
const suspicious =
  /(?:^|_)ids?$|^(?:conversation|after|before|cursor|from_smith|mcp_servers|skills|pin|enabled_hosted_tools|items|input|messages|tools|page|starting_after)$/;

describe('every member that looks like a reference is in the table, or excused', () => {
  const known = new Set(references.map(({ at }) => at));
  const found = new Set<string>();
  for (const operation of operations) {
    test(operation.id, () => {
      for (const part of ['query', 'body'] as const) {
        for (const path of membersOf(operation[part])) {
          const name = path.split('.').at(-1) ?? '';
          const at = `${operation.id} ${part}.${path}`;
          found.add(at);
          if (!suspicious.test(name) || known.has(at) || Object.hasOwn(excused, at)) continue;
          if (part === 'query' && /^(?:cursor|after|before)$/.test(name)) continue;
          if (operation.id === 'embeddings.create') continue;
          if (operation.id === 'responses.get' && name === 'starting_after') continue;
          assert.fail(
            `put ${at} into the table of test/conformance/references.test.ts, or say why it refers to nothing`,
          );
        }
      }
      // Objects in the path are sent by access.test.ts; its table must know each of them.
      for (const { name, prefix } of slotsOf(operation.path)) {
        assert.ok(
          prefix !== undefined || ['n', 'v', 'name', 'provider', 'model', 'slug'].includes(name),
          `{${name}} of ${operation.path}`,
        );
      }
    });
  }

  test('nothing else is in the table', () => {
    const named = [...known, ...Object.keys(excused)].filter((at) => !at.startsWith('/v1/'));
    assert.deepEqual(
      named.filter((at) => !found.has(at)),
      [],
    );
  });
});

describe('what a caller could not get is as if it were not there', () => {
  for (const reference of references) {
    const { at, kind, send, refusal } = reference;
    const { scope, prefix, hidden, tenants, foreign, ...rest }: Kind = kinds[kind];
    const asTenant = { user: home.smithUser };
    test(`${at}, ${kind}: to a smith token`, async () => {
      const missing = missingId(prefix);
      const expected = reference.smithRefusal ?? refusal;
      if (expected[0] === 200) {
        for (const id of [...hidden, foreign, missing]) assert.equal((await send(smith, id, {})).status, 200);
        return;
      }
      const ids = [...hidden, foreign, missing];
      const answers = await collect(ids, (id) => send(smith, id, {}), expected);
      if (reference.smithRefusal !== undefined || rest.own === undefined) return;
      const blind = nobody.as(await home.smithToken(SCOPES.filter((other) => other !== scope)));
      const forbidden = [...ids, rest.own];
      assert.deepEqual(
        new Set([...answers, ...(await collect(forbidden, (id) => send(blind, id, {}), expected))]).size,
        1,
      );
      const allowed = await send(smith, rest.own, {});
      assert.ok(allowed.status < 300, allowed.text);
    });

    test(`${at}, ${kind}: to a token of the project`, async () => {
      const missing = missingId(prefix);
      const answers = await collect([foreign, missing], (id) => send(home.tenant, id, asTenant), refusal);
      const operation = operations.find(({ id }) => at.startsWith(`${id} `));
      const takesAll = operation?.posture === 'admin' || (operation?.posture === 'tenant' && !operation.scope);
      if (!takesAll) {
        const scoped = nobody.as(await mintProjectToken(SCOPES.filter((other) => other !== scope)));
        answers.push(...(await collect([tenants, foreign, missing], (id) => send(scoped, id, asTenant), refusal)));
      }
      assert.equal(new Set(answers).size, 1);
      const allowed = await send(home.tenant, tenants, asTenant);
      assert.ok(allowed.status < 300, allowed.text);
    });

    test(`${at}, ${kind}: to an organization`, async () => {
      for (const id of [tenants, foreign, missingId(prefix)]) {
        const answer = await send(home.organization, id, {});
        assert.ok(['tenant_token_required', 'admin_required'].includes(answer.body.error.code), answer.text);
        assert.equal(answer.status, 403);
      }
    });
  }
});

describe('a smith token names its own smith with the scope of the operation alone, and no other smith', () => {
  for (const { at, kind, send, smithRefusal } of references) {
    const operation = operations.find(({ id }) => at.startsWith(`${id} `));
    if (kind !== 'smith' || operation?.posture !== 'any') continue;
    const { scope = '' } = operation;
    test(`${at}, ${scope}`, async () => {
      const scoped = nobody.as(await home.smithToken([scope]));
      const allowed = await send(scoped, home.smithId, {});
      assert.ok(allowed.status < 300, allowed.text);
      for (const id of [home.otherSmithId, abroad.smithId, missingId('smt')]) {
        assertRefusal(await send(scoped, id, {}), ...(smithRefusal ?? notFound));
      }
    });
  }
});

test('a filter that names what the caller could not get finds nothing, as one that names nothing', async () => {
  const lists: readonly [path: string, member: string, foreign: string, missing: string][] = [
    ['/v1/smiths', 'customer_id', abroad.customerId, missingId('cus')],
    ['/v1/smiths', 'agent_id', abroad.agentId, missingId('agt')],
    ['/v1/smiths', 'external_id', abroad.smithUser, uniqueName()],
    ['/v1/runs', 'agent_id', abroad.agentId, missingId('agt')],
    ['/v1/runs', 'smith_id', abroad.smithId, missingId('smt')],
    ['/v1/events', 'smith_id', abroad.smithId, missingId('smt')],
    ['/v1/traces', 'smith_id', abroad.smithId, missingId('smt')],
    ['/v1/traces', 'run_id', abroad.runId, missingId('run')],
  ];
  for (const [path, member, foreign, missing] of lists) {
    const [one, other] = await Promise.all(
      [foreign, missing].map((id) => home.tenant.get(`${path}?${member}=${encodeURIComponent(id)}`)),
    );
    assert.deepEqual([one?.status, one?.body.data, one?.text], [200, [], other?.text], `${path} ${member}`);
  }
  for (const id of [home.otherSmithId, abroad.smithId, missingId('smt')]) {
    assertRefusal(await smith.get(`/v1/runs?smith_id=${id}`), 403, 'smith_mismatch');
    assertRefusal(await smith.get(`/v1/traces?smith_id=${id}`), 403, 'smith_mismatch');
  }
});

describe('a smith’s own settings, by its token', () => {
  test('what the smith has may be sent back; what the tenant arranged stays', async () => {
    const agentId = await publishAgent({
      vector_store_ids: [home.vectorStoreId],
      enabled_hosted_tools: ['current_time'],
    });
    const { sid, client } = await freshSmith({ agent_id: agentId, customer_id: home.customerId, pin: 1 });
    const { body: shown } = await client.get(`/v1/smiths/${sid}`);
    const { agent_id, customer_id, pin, vector_store_ids, mcp_servers, skills, enabled_hosted_tools } = shown;
    assert.deepEqual(vector_store_ids, [home.vectorStoreId]);
    const own = await createStore(client);
    for (const patch of [
      { agent_id, customer_id, pin, vector_store_ids, mcp_servers, skills, enabled_hosted_tools },
      { vector_store_ids: [home.vectorStoreId, own] },
      { vector_store_ids: [own] },
      { enabled_hosted_tools: [] },
      { display_name: 'Ada', model: 'builtin/demo', instructions: 'Be brief.' },
    ]) {
      const answer = await client.patch(`/v1/smiths/${sid}`, patch);
      assert.equal(answer.status, 200, answer.text);
    }
    const { body: before } = await client.get(`/v1/smiths/${sid}`);
    for (const [patch, status, code, param] of [
      [{ agent_id: null }, 403, 'tenant_token_required', 'agent_id'],
      [{ customer_id: null }, 403, 'tenant_token_required', 'customer_id'],
      [{ pin: null }, 403, 'tenant_token_required', 'pin'],
      [{ pin: 2 }, 403, 'tenant_token_required', 'pin'],
      [{ mcp_servers: [home.mcpServerName] }, 404, 'not_found', 'mcp_servers'],
      [{ skills: [{ skill_id: 'skill_a' }] }, 404, 'not_found', 'skills'],
      [{ enabled_hosted_tools: ['current_time'] }, 404, 'not_found', 'enabled_hosted_tools'],
      // The tenant's store is not among the smith's settings any more.
      [{ vector_store_ids: [home.vectorStoreId] }, 404, 'not_found', 'vector_store_ids'],
      [{ vector_store_ids: null }, 404, 'not_found', 'vector_store_ids'],
    ] as const) {
      const answer = await client.patch(`/v1/smiths/${sid}`, patch);
      assertRefusal(answer, status, code);
      assert.equal(answer.body.error.param, param, JSON.stringify(patch));
    }
    assert.deepEqual((await client.get(`/v1/smiths/${sid}`)).body, before);
  });

  test('a revision is no way around', async () => {
    const { sid, client } = await freshSmith({ agent_id: home.agentId, customer_id: home.customerId });
    const path = `/v1/smiths/${sid}`;
    for (const patch of [
      { vector_store_ids: [home.vectorStoreId] },
      { agent_id: null, customer_id: null, vector_store_ids: [], mcp_servers: [home.mcpServerName] },
      { mcp_servers: [] },
    ]) {
      const answer = await home.tenant.patch(path, patch);
      assert.equal(answer.status, 200, answer.text);
    }
    const { body: before } = await client.get(path);
    for (const revision of [1, 2, 3]) {
      assertRefusal(await client.post(`${path}/revisions/${revision}/restore`, {}), 409, 'invalid_state');
    }
    assert.deepEqual((await client.get(path)).body, before);
    assert.equal((await client.post(`${path}/revisions/4/restore`, {})).status, 200);
    assert.equal((await home.tenant.post(`${path}/revisions/2/restore`, {})).status, 200);
  });
});

test('what the tenant gave stays readable by the turns of a smith, whoever starts them', async () => {
  const { sid, client } = await freshSmith({ model: 'builtin/demo' });
  const given = await home.tenant.post(`/v1/smiths/${sid}/runs`, { input: [filePart(home.fileId)], thread_id: 'main' });
  assert.equal(given.status, 201, given.text);
  const blind = nobody.as(await mintSmithToken(sid, ['runs:write', 'runs:read']));
  for (const [path, body] of [
    [`/v1/smiths/${sid}/runs`, { input: [{ role: 'user', content: say }], thread_id: 'main' }],
    [`/v1/smiths/${sid}/runs/${given.body.id}/replay`, {}],
  ] as const) {
    const answer = await blind.post(path, body);
    assert.deepEqual([answer.status, answer.body.status], [201, 'completed'], answer.text);
  }
  assertRefusal(await client.get(`/v1/files/${home.fileId}`), 404, 'not_found');
});

/** Paths of the members of a schema; those of a list's objects stand under the list. */
function membersOf(schema: object | undefined, depth = 0): string[] {
  if (schema === undefined || depth > 6) return [];
  const { properties, items, anyOf } = (componentOf(schema)?.schema ?? schema) as {
    properties?: Record<string, object>;
    items?: object;
    anyOf?: object[];
  };
  const own = Object.entries(properties ?? {}).flatMap(([name, member]) => {
    return [name, ...membersOf(member, depth + 1).map((path) => `${name}.${path}`)];
  });
  return [...own, ...membersOf(items, depth + 1), ...(anyOf ?? []).flatMap((option) => membersOf(option, depth + 1))];
}

/** Sends each id; the answers as text, without the ids. Each must be this refusal. */
async function collect(
  ids: readonly string[],
  send: (id: string) => Promise<Answer>,
  [status, code]: readonly [number, string],
): Promise<string[]> {
  const texts: string[] = [];
  for (const id of ids) {
    const answer = await send(id);
    assertRefusal(answer, status, code);
    assertEnvelope(answer);
    texts.push(answer.text.replaceAll(id, 'ID'));
  }
  assert.equal(new Set(texts).size, 1, texts.join('\n'));
  return texts;
}

/** Runs the call on a smith that nothing else uses: by its own token where the caller is a smith. */
async function withFreshSmith(caller: Client, call: (client: Client, sid: string) => Promise<Answer>): Promise<Answer> {
  const { sid, client } = await freshSmith({ model: 'builtin/demo' });
  return call(caller === smith ? client : caller, sid);
}

async function freshSmith(settings: Record<string, unknown>): Promise<{ sid: string; client: Client }> {
  const created = await home.tenant.post('/v1/smiths', settings);
  assert.equal(created.status, 201, created.text);
  const sid = created.body.id as string;
  return { sid, client: nobody.as(await mintSmithToken(sid, SCOPES)) };
}

async function publishAgent(settings: Record<string, unknown> = {}): Promise<string> {
  const created = await home.tenant.post('/v1/agents', { name: uniqueName(), model: 'builtin/demo', ...settings });
  assert.equal(created.status, 201, created.text);
  for (let version = 1; version <= 2; version += 1) {
    const published = await home.tenant.post(`/v1/agents/${created.body.id}/versions`, {});
    assert.equal(published.status, 201, published.text);
  }
  return created.body.id;
}

async function createStore(caller: Client): Promise<string> {
  const created = await caller.post('/v1/vector_stores', {});
  assert.equal(created.status, 200, created.text);
  return created.body.id;
}

async function mintSmithToken(smithId: string, permissions: readonly string[]): Promise<string> {
  const minted = await home.tenant.post('/v1/tenant/tokens', { scope: 'smith', smith_id: smithId, permissions });
  assert.equal(minted.status, 201, minted.text);
  return minted.body.token;
}

async function mintProjectToken(scopes: readonly string[]): Promise<string> {
  const { issuer } = platform.platform;
  const issued = await platform.db.transaction((tx) =>
    issuer.issueProjectToken(new TenantTransaction(tx, home.projectId), { scopes, actor: null }),
  );
  return issued.token;
}
