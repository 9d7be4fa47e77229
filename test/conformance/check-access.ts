/**
 * Who may call what, proven on every operation: no token, a token that no longer stands, the wrong kind of caller, a
 * missing scope, another smith, another project. The tables are read from the operations themselves.
 */

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose';
import { createManualClock } from '../../src/kernel/clock/clock.ts';
import { withPrefix } from '../../src/kernel/ids/ids.ts';
import { TENANT_MARKER } from '../../src/platform/access/caller.ts';
import { createTokenIssuer } from '../../src/platform/access/issue-token.ts';
import { SCOPES } from '../../src/platform/access/scopes.ts';
import { createTokenSigner } from '../../src/platform/access/sign-token.ts';
import { createSigningKeys } from '../../src/platform/access/signing-keys.ts';
import { TenantTransaction } from '../../src/platform/store/tenant-db.ts';
import { type Answer, type Client, createClient, startPlatform } from '../support/platform.ts';
import { assertEnvelope, assertRefusal } from './assert-refusal.ts';
import { sendRaw } from './raw-http.ts';
import { type Share, takeTurns } from './take-turns.ts';
import {
  bodyFor,
  createWorld,
  fillPath,
  missingId,
  OAUTH_STEPS,
  pathIn,
  receiveMessage,
  slotsOf,
  startConversation,
  startResponse,
  uploadFile,
  type World,
} from './world.ts';

export async function testAccess(share: Share): Promise<void> {
  const platform = await startPlatform();
  after(() => platform.close());
  const { operations } = platform.platform;
  type Operation = (typeof operations)[number];

  const home = await createWorld(platform);
  const abroad = await createWorld(platform);
  const nobody = createClient(platform.url, '');
  const closed = operations.filter((operation) => operation.posture !== 'public');

  /** Callers of `home`, by kind. `scoped` is a token of the project that carries every scope and not the tenant marker. */
  const callers = {
    tenant: home.tenant,
    scoped: nobody.as(await mintProjectToken(home.projectId, SCOPES)),
    smith: nobody.as(await home.smithToken()),
    organization: home.organization,
  };

  /** Made once for each set of scopes. */
  function hold<Value>(
    make: (scopes: readonly string[]) => Promise<Value>,
  ): (scopes: readonly string[]) => Promise<Value> {
    const held = new Map<string, Promise<Value>>();
    return (scopes) => {
      const key = scopes.join(' ');
      const value = held.get(key) ?? make(scopes);
      held.set(key, value);
      return value;
    };
  }
  const heldProjectToken = hold((scopes) => mintProjectToken(home.projectId, scopes));
  const heldSmithToken = hold((scopes) => home.smithToken(scopes));
  const heldCaller = hold(createSmithCaller);

  type CallerKind = keyof typeof callers;
  const callerKinds = Object.keys(callers) as CallerKind[];

  /** By posture: who is refused, and with which code. The others may call. */
  const refusals: Readonly<Record<string, Readonly<Partial<Record<CallerKind, string>>>>> = {
    public: {},
    any: { organization: 'tenant_token_required' },
    tenant: { smith: 'tenant_token_required', organization: 'tenant_token_required' },
    admin: { scoped: 'admin_required', smith: 'admin_required', organization: 'admin_required' },
    'tenant|org': { smith: 'tenant_token_required' },
    org: { tenant: 'organization_required', scoped: 'organization_required', smith: 'organization_required' },
  };

  describe('a caller who is not proven gets 401', async () => {
    const tokens: Readonly<Record<string, string>> = {
      'an expired token': await mintExpiredToken(home.projectId),
      'a revoked token': await mintRevokedToken(home),
      'a token whose signature was altered': alterLast(home.tenant.token),
      'a token of another server': await mintForeignToken(home.projectId),
      'a word that is no token': 'tha_live_nonsense',
    };
    for (const [index, operation] of closed.entries()) {
      test(operation.id, async () => {
        const path = pathIn(operation.path, home);
        assertUnauthenticated(await nobody.open(operation.method, path).then(readAnswer));
        for (const [what, token] of takeTurns(share, Object.entries(tokens), index, 1)) {
          const answer = await send(nobody.as(token), operation, path, bodyFor(operation, home));
          assert.equal(answer.status, 401, `${what}: ${answer.text}`);
          assertUnauthenticated(answer);
        }
        const basic = `Basic ${Buffer.from(`token:${home.tenant.token}`).toString('base64')}`;
        assertUnauthenticated(await send(nobody, operation, path, undefined, { authorization: basic }));
      });
    }
  });

  describe('a public operation takes no token, and ignores one', () => {
    // Whose sender proves itself by what it sends is tested where it is defined, and so are the steps of OAuth.
    const proved = ({ id, verify }: (typeof operations)[number]) =>
      verify !== undefined ||
      ['whatsapp.webhook.verify', 'slack.oauth', 'oauth.callback'].includes(id) ||
      OAUTH_STEPS.has(id);
    for (const operation of operations.filter((one) => one.posture === 'public' && !proved(one))) {
      test(operation.id, async () => {
        const path = pathIn(operation.path, home);
        // Of what begins something, the second call is the repetition of the first.
        const headers = { 'idempotency-key': operation.id };
        const plain = await send(nobody, operation, path, bodyFor(operation, home), headers);
        assert.ok(plain.status < 300, plain.text);
        const withToken = await send(nobody.as('nonsense'), operation, path, bodyFor(operation, home), headers);
        assert.deepEqual([withToken.status, withToken.text], [plain.status, plain.text]);
      });
    }
  });

  describe('the wrong kind of caller is refused before the body is read', () => {
    for (const operation of operations) {
      test(operation.id, async () => {
        const byPosture = refusals[operation.posture];
        assert.ok(byPosture, `say in this test who may call an operation of posture ${operation.posture}`);
        for (const kind of callerKinds) {
          const code = byPosture[kind];
          if (code !== undefined) await assertRefusedUnread(operation, callers[kind], code);
        }
      });
    }
  });

  describe('every other kind of caller is let through', () => {
    for (const operation of closed) {
      test(operation.id, async () => {
        const refused = refusals[operation.posture] ?? {};
        const { smithId, smith } = await smithCallerFor(operation, SCOPES);
        for (const kind of callerKinds) {
          if (refused[kind] !== undefined) continue;
          if (kind === 'scoped' && neededScope(operation) === TENANT_MARKER) continue;
          const caller = kind === 'smith' ? smith : callers[kind];
          const path = probePath(operation, kind === 'smith' ? smithId : missingId('smt'));
          // What a body is validated for comes after the gate, so one that is no JSON shows that the gate was passed.
          const answer = await send(caller, operation, path, operation.body === undefined ? undefined : '{"not": ');
          assert.ok(![401, 403, 500].includes(answer.status), `${kind}: ${answer.text.slice(0, 300)}`);
        }
      });
    }
  });

  describe('a token that lacks the scope gets 403 insufficient_scope, which names it, before the body is read', () => {
    for (const operation of operations.filter((one) => neededScope(one) !== undefined)) {
      test(operation.id, async () => {
        // Of one scope or another, whichever the body calls for, each is let through to it.
        const scopes = neededScope(operation)?.split('|') ?? [];
        const others = SCOPES.filter((other) => !scopes.includes(other));
        const tokens = [await heldProjectToken(others)];
        if (operation.posture === 'any') tokens.push(await heldSmithToken(others));
        for (const token of tokens) {
          const answer = await assertRefusedUnread(operation, nobody.as(token), 'insufficient_scope');
          assert.deepEqual(answer.body.error.details, { required_scope: scopes[0] });
        }
        const granted: { caller: Client; sid: string }[] = [];
        for (const scope of scopes) {
          granted.push({ caller: nobody.as(await heldProjectToken([scope])), sid: missingId('smt') });
          if (operation.posture !== 'any') continue;
          const { smithId, smith } = await smithCallerFor(operation, [scope]);
          granted.push({ caller: smith, sid: smithId });
        }
        for (const { caller, sid } of granted) {
          const path = probePath(operation, sid);
          const allowed = await send(caller, operation, path, operation.body === undefined ? undefined : '{"not": ');
          assert.ok(![401, 403, 500].includes(allowed.status), allowed.text.slice(0, 300));
        }
      });
    }
  });

  describe('a smith token that names another smith gets 403 smith_mismatch, whether that smith exists or not', () => {
    for (const operation of operations.filter(({ posture, path }) => posture === 'any' && path.includes('{sid}'))) {
      test(operation.id, async () => {
        const answers: Answer[] = [];
        for (const smithId of [home.otherSmithId, abroad.smithId, missingId('smt')]) {
          const values = slotsOf(operation.path).map((slot) => (slot.name === 'sid' ? smithId : slot.valueIn(home)));
          const path = fillPath(operation.path, values);
          answers.push(await assertRefusedUnread(operation, callers.smith, 'smith_mismatch', path));
        }
        const [first, ...rest] = answers.map(comparable);
        for (const other of rest) assert.deepEqual(other, first);
      });
    }

    for (const operation of operations.filter(({ posture, query }) => posture === 'any' && namesSmith(query))) {
      test(`${operation.id}, which filters by it`, async () => {
        const ask = (smithId: string) =>
          send(callers.smith, operation, `${pathIn(operation.path, home)}?smith_id=${smithId}`);
        const answers = await Promise.all([home.otherSmithId, abroad.smithId, missingId('smt')].map(ask));
        for (const answer of answers) assertRefusal(answer, 403, 'smith_mismatch');
        const [first, ...rest] = answers.map(comparable);
        for (const other of rest) assert.deepEqual(other, first);
        assert.equal((await ask(home.smithId)).status, 200);
      });
    }
  });

  describe('another project’s objects are as if they never existed, to the byte', () => {
    for (const operation of closed) {
      const slots = slotsOf(operation.path);
      for (const [index, slot] of slots.entries()) {
        const { prefix } = slot;
        if (prefix === undefined) continue;
        test(`${operation.id}, {${slot.name}}`, async () => {
          // What stands left of the foreign id is the caller's own; what stands right of it is as foreign.
          const pathWith = (value: string) =>
            fillPath(
              operation.path,
              slots.map((other, at) => (at === index ? value : other.valueIn(at < index ? abroad : home))),
            );
          const caller = operation.posture === 'org' ? abroad.organization : abroad.tenant;
          const body = bodyFor(operation, abroad);
          const foreign = await send(caller, operation, pathWith(slot.valueIn(home)), body);
          const missing = await send(caller, operation, pathWith(missingId(prefix)), body);
          assertRefusal(foreign, 404, missingCodeOf(slot));
          assert.deepEqual(comparable(foreign), comparable(missing));
        });
      }
    }

    const references = [
      reference('agents.import, from_smith', home.smithId, 'smt', (id) =>
        abroad.tenant.post('/v1/agents/import', { name: 'Imported', from_smith: id }),
      ),
      reference('agents.attach, smith_ids', home.smithId, 'smt', (id) =>
        abroad.tenant.post(`/v1/agents/${abroad.agentId}/attach`, { smith_ids: [id] }),
      ),
      reference('tenant.tokens.create, smith_id', home.smithId, 'smt', (id) =>
        abroad.tenant.post('/v1/tenant/tokens', { scope: 'smith', smith_id: id, permissions: ['runs:read'] }),
      ),
      reference('smiths.create, agent_id', home.agentId, 'agt', (id) =>
        abroad.tenant.post('/v1/smiths', { agent_id: id }),
      ),
      reference('smiths.create, customer_id', home.customerId, 'cus', (id) =>
        abroad.tenant.post('/v1/smiths', { model: 'builtin/demo', customer_id: id }),
      ),
      reference('smiths.update, agent_id', home.agentId, 'agt', (id) =>
        abroad.tenant.patch(`/v1/smiths/${abroad.smithId}`, { agent_id: id }),
      ),
      reference('smiths.update, customer_id', home.customerId, 'cus', (id) =>
        abroad.tenant.patch(`/v1/smiths/${abroad.smithId}`, { customer_id: id }),
      ),
    ];
    for (const { what, call, id, prefix } of references) {
      test(what, async () => {
        const foreign = await call(id);
        const missed = missingId(prefix);
        const missing = await call(missed);
        assert.ok(foreign.status === 404 || foreign.status === 422, foreign.text);
        assertEnvelope(foreign);
        // An answer may repeat the id that it was asked about.
        const [foreignText, missingText] = [foreign.text.replaceAll(id, 'ID'), missing.text.replaceAll(missed, 'ID')];
        assert.deepEqual(comparable({ ...foreign, text: foreignText }), comparable({ ...missing, text: missingText }));
      });
    }

    for (const operation of closed.filter(isPlainList)) {
      test(`${operation.id} shows none of them`, async () => {
        const caller = operation.posture === 'org' ? abroad.organization : abroad.tenant;
        const answer = await caller.get(`${operation.path}${operation.query === undefined ? '' : '?limit=100'}`);
        assert.equal(answer.status, 200, answer.text);
        for (const id of idsOf(home))
          assert.ok(!answer.text.includes(id), `${id} is another project’s: ${answer.text}`);
      });
    }
  });

  describe('a smith token sees its own smith only, where the path names none', () => {
    for (const operation of operations.filter((one) => one.posture === 'any' && isPlainList(one))) {
      test(`${operation.id} lists nothing of another smith`, async () => {
        const other = await workOfOther();
        const answer = await callers.smith.get(operation.path);
        assert.equal(answer.status, 200, answer.text);
        for (const id of other) assert.ok(!answer.text.includes(id), answer.text);
        const all = await home.tenant.get(operation.path);
        assert.equal(all.status, 200, all.text);
      });
    }

    for (const operation of operations.filter(readsByOwnId)) {
      test(`${operation.id} of another smith’s is as if it never existed, to the byte`, async () => {
        const [slot] = slotsOf(operation.path);
        const others = await workOfOther();
        const otherId = others.find((id) => id.startsWith(`${slot?.prefix}_`));
        assert.ok(otherId, `let startWorkOf make an object for ${operation.path}`);
        const seen = await home.tenant.get(fillPath(operation.path, [otherId]));
        assert.equal(seen.status, 200, seen.text);
        const foreign = await callers.smith.get(fillPath(operation.path, [otherId]));
        const missing = await callers.smith.get(fillPath(operation.path, [missingId(slot?.prefix ?? '')]));
        assertRefusal(foreign, 404, missingCodeOf(slot));
        assert.deepEqual(comparable(foreign), comparable(missing));
      });
    }
  });

  test('none of the refusals touched anything', async () => {
    for (const [path, client] of [
      [`/v1/agents/${home.agentId}`, home.tenant],
      [`/v1/smiths/${home.smithId}`, home.tenant],
      [`/v1/smiths/${home.otherSmithId}`, home.tenant],
      [`/v1/customers/${home.customerId}`, home.tenant],
      [`/v1/smiths/${home.smithId}/runs/${home.runId}`, home.tenant],
      [`/v1/organization/projects/${home.spareProjectId}`, home.organization],
    ] as const) {
      const answer = await client.get(path);
      assert.equal(answer.status, 200, answer.text);
    }
    const approval = await home.tenant.get(`/v1/approvals/${home.approvalId}`);
    assert.equal(approval.body.status, 'pending', approval.text);
  });

  /** Refused with this code while the body has been promised and not sent, and again with one that is no JSON. */
  async function assertRefusedUnread(
    operation: Operation,
    caller: Client,
    code: string,
    path = pathIn(operation.path, home),
  ): Promise<Answer> {
    const unsent = await sendRaw(platform.url, [
      `${operation.method} ${path} HTTP/1.1`,
      `Authorization: Bearer ${caller.token}`,
      'Content-Type: application/json',
      'Content-Length: 1000000000',
    ]);
    assertRefusal(unsent, 403, code);
    if (operation.method !== 'GET') assertRefusal(await send(caller, operation, path, '{"not": '), 403, code);
    return unsent;
  }

  /** What a token of the project must hold; for what the tenant alone may do and no scope opens, everything. */
  function neededScope({ posture, scope }: Operation): string | undefined {
    return scope ?? (posture.split('|').includes('tenant') ? TENANT_MARKER : undefined);
  }

  function assertUnauthenticated(answer: Answer): void {
    assertRefusal(answer, 401, 'unauthenticated');
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
  }

  async function send(
    caller: Client,
    operation: Operation,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return readAnswer(await caller.open(operation.method, path, body, headers));
  }

  async function readAnswer(response: Response): Promise<Answer> {
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true && text !== '';
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  }

  /** The answer without what differs from one request to the next. */
  function comparable({ status, headers, text }: Answer) {
    const varying = [
      'date',
      'x-request-id',
      'ratelimit',
      'x-ratelimit-remaining-requests',
      'x-ratelimit-reset-requests',
    ];
    return { status, text, headers: [...headers].filter(([name]) => !varying.includes(name)) };
  }

  /** A path of this smith on which nothing else exists: no call of it changes what other tests look at. */
  function probePath(operation: Operation, sid: string): string {
    const values = slotsOf(operation.path).map((slot) => {
      if (slot.name === 'sid') return sid;
      return slot.prefix === undefined ? slot.valueIn(home) : missingId(slot.prefix);
    });
    return fillPath(operation.path, values);
  }

  /** A smith of `home` that may come to harm, and a client with its token. */
  async function createSmithCaller(scopes: readonly string[]): Promise<{ smithId: string; smith: Client }> {
    const created = await home.tenant.post('/v1/smiths', { model: 'builtin/demo' });
    const smithId = created.body.id as string;
    const minted = await home.tenant.post('/v1/tenant/tokens', {
      scope: 'smith',
      smith_id: smithId,
      permissions: scopes,
    });
    assert.equal(minted.status, 201, minted.text);
    return { smithId, smith: nobody.as(minted.body.token) };
  }

  /** Such a caller: one for all operations that do no harm to the smith, whatever comes of them. */
  function smithCallerFor(
    { method, path }: Operation,
    scopes: readonly string[],
  ): ReturnType<typeof createSmithCaller> {
    if (method !== 'GET' && path.includes('{sid}')) return createSmithCaller(scopes);
    return heldCaller(scopes);
  }

  /** What the absence of the object that this part of a path names is called. */
  function missingCodeOf(slot: { readonly name: string } | undefined): string {
    return slot?.name === 'cnvId' ? 'conversation_not_found' : 'not_found';
  }

  function isPlainList({ method, path }: Operation): boolean {
    return method === 'GET' && !path.includes('{');
  }

  /** A read by an id that is an object of one smith, without the smith in the path. */
  function readsByOwnId({ method, path, posture }: Operation): boolean {
    const slots = slotsOf(path);
    const [slot] = slots;
    return (
      method === 'GET' && posture === 'any' && slots.length === 1 && slot?.prefix !== undefined && slot.name !== 'sid'
    );
  }

  function reference(what: string, id: string, prefix: string, call: (id: string) => Promise<Answer>) {
    return { what, id, prefix, call };
  }

  function idsOf(world: World): string[] {
    return Object.values(world).filter((value): value is string => typeof value === 'string');
  }

  /** Makes an object of every kind that another smith must not see; answers with their ids. */
  async function startWorkOf(smithId: string): Promise<string[]> {
    const answer = await home.tenant.post(`/v1/smiths/${smithId}/runs`, {
      input: [{ role: 'user', content: 'Call the tool notify with {"to": "Ada"}' }],
      tools: [{ name: 'notify', requires_approval: true }],
    });
    assert.equal(answer.body?.status, 'paused', answer.text);
    const minted = await home.tenant.post('/v1/tenant/tokens', {
      scope: 'smith',
      smith_id: smithId,
      permissions: ['files:write', 'conversations:write', 'runs:write'],
    });
    const smith = nobody.as(minted.body.token);
    const [fileId, { conversationId }] = [await uploadFile(smith), await startConversation(smith)];
    const responseId = await startResponse(smith);
    const store = await home.tenant.post('/v1/vector_stores', { smith_id: smithId });
    assert.equal(store.status, 200, store.text);
    const deployment = await home.tenant.post('/v1/deployments', {
      target: { type: 'smith', id: smithId },
      kind: 'web',
    });
    assert.equal(deployment.status, 201, deployment.text);
    return [
      smithId,
      deployment.body.id,
      await receiveMessage(platform, home.projectId, smithId),
      answer.body.id,
      withPrefix('trc', answer.body.id),
      answer.body.output.tool_calls[0].approval_id,
      fileId,
      conversationId,
      responseId,
      store.body.id,
    ];
  }

  let othersWork: Promise<string[]> | undefined;

  /** Of the other smith of `home`, which no test changes. */
  function workOfOther(): Promise<string[]> {
    othersWork ??= startWorkOf(home.otherSmithId);
    return othersWork;
  }

  /** Whether the query has a filter by smith. */
  function namesSmith(query: unknown): boolean {
    return 'smith_id' in ((query as { properties?: object } | undefined)?.properties ?? {});
  }

  async function mintProjectToken(projectId: string, scopes: readonly string[]): Promise<string> {
    const { issuer } = platform.platform;
    const issued = await platform.db.transaction((tx) =>
      issuer.issueProjectToken(new TenantTransaction(tx, projectId), { scopes, actor: null }),
    );
    return issued.token;
  }

  /** Signed with the server's own key, an hour ago, for a minute. */
  async function mintExpiredToken(projectId: string): Promise<string> {
    const signer = createTokenSigner(createSigningKeys(platform.db, platform.vault), platform.url);
    const issuer = createTokenIssuer({ signer, clock: createManualClock(new Date(Date.now() - 3_600_000)) });
    const issued = await platform.db.transaction((tx) =>
      issuer.issueProjectToken(new TenantTransaction(tx, projectId), { ttlSeconds: 60, actor: null }),
    );
    return issued.token;
  }

  async function mintRevokedToken({ tenant }: World): Promise<string> {
    const minted = await tenant.post('/v1/tenant/tokens', { scope: 'admin' });
    const revoked = await tenant.delete(`/v1/tenant/tokens/${minted.body.id}`);
    assert.equal(revoked.status, 204, revoked.text);
    return minted.body.token;
  }

  /** In every way a token of the project, but for the key that signed it. */
  async function mintForeignToken(projectId: string): Promise<string> {
    const own = await mintProjectToken(projectId, SCOPES);
    const [prefix, token] = [own.slice(0, own.indexOf('eyJ')), own.slice(own.indexOf('eyJ'))];
    const { privateKey } = await generateKeyPair('RS256');
    const header = decodeProtectedHeader(token) as JWTHeaderParameters;
    return prefix + (await new SignJWT(decodeJwt(token)).setProtectedHeader(header).sign(privateKey));
  }

  function alterLast(token: string): string {
    const at = token.length - 10;
    return token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
  }
}
