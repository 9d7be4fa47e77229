/**
 * Everything secret that both sides of OAuth deal with, made over real HTTP while the log is at its most talkative: none of it
 * is in any table or in the log, and what is sealed goes on working under a new master key.
 */
import assert from 'node:assert/strict';
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { listLost, resealColumn, sealedColumns } from '../../src/command-line/sealed-columns.ts';
import { createLogger } from '../../src/kernel/log/log.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { linkContext } from '../../src/platform/connections/secret-context.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { dumpDatabase, findSecrets } from '../support/find-secrets.ts';
import { publishMcp } from '../support/mcp-deployment.ts';
import {
  newPkce,
  openAuthorize,
  postForm,
  REDIRECT,
  redirectOf,
  refreshWith,
  register,
  requestIn,
  sendConsent,
} from '../support/oauth.ts';
import { type OAuthUpstream, startOAuthUpstream } from '../support/oauth-upstream.ts';
import { createClient, startPlatform, type TestPlatform, type TestProject } from '../support/platform.ts';
import { question } from '../support/turns.ts';

const PUBLIC_URL = 'http://127.0.0.1:8787';
const CALLBACK = `${PUBLIC_URL}/v1/oauth/callback`;
const OUTBOUND = ['127.0.0.1', 'example.com'];
/** The columns of this part; `connection_revocations` has two. */
const SEALED_TABLES = ['oauth_providers', 'mcp_issuers', 'connections', 'connection_revocations'];

const oldKey = newKey();
const log: string[] = [];
/** By what they are. */
const secrets = new Map<string, string>();
const keys = await generateKeyPair('ES256');

let store: TestDatabase;
let upstream: OAuthUpstream;
let platform: TestPlatform;
let p: TestProject;
let documents: Server;

before(async () => {
  store = await openTestDatabase();
  upstream = await startOAuthUpstream(CALLBACK);
  const logger = createLogger({ logLevel: 'trace' }, { write: (line) => void log.push(line) });
  platform = await startPlatform({
    logger,
    outboundAllow: OUTBOUND,
    sharing: { db: store.db, vault: createVault([oldKey]) },
  });
  p = await platform.createProject();
  documents = createServer((request, response) => {
    const client_id = `http://${request.headers.host}${request.url}`;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ client_id, client_name: 'App', redirect_uris: [REDIRECT] }));
  }).listen(0, '127.0.0.1');
  await once(documents, 'listening');
});
after(async () => {
  await platform.close();
  await upstream.close();
  documents.closeAllConnections();
  documents.close();
  await store.close();
});

function newKey(): KeyObject {
  return createSecretKey(randomBytes(32));
}

/** The part of a token that nobody can make is the secret; whole, it may be cut where it is written. */
function keepToken(name: string, token: string): void {
  secrets.set(name, token);
  secrets.set(`${name}, signature`, token.split('.').at(-1) ?? '');
}

/** One client from its registration to its tokens, with a mistake of each kind on the way. */
async function letIn(method: string, pasted: string, resource: string): Promise<void> {
  const jwks = { keys: [await exportJWK(keys.publicKey)] };
  const { body: client } = await register(platform.url, {
    token_endpoint_auth_method: method,
    ...(method === 'private_key_jwt' ? { jwks } : {}),
  });
  const id: string = client.client_id;
  if (client.client_secret !== undefined) secrets.set(`secret of ${method}`, client.client_secret);
  const { verifier, challenge } = newPkce();
  const page = await openAuthorize(platform.url, { client_id: id, resource, code_challenge: challenge });
  const fields = { request: requestIn(page), token: pasted };
  const failed = await sendConsent(platform.url, { ...fields, smith_id: 'smt_none' }, PUBLIC_URL);
  assert.ok(failed.status >= 400, failed.text);
  const code = redirectOf(await sendConsent(platform.url, fields, PUBLIC_URL)).searchParams.get('code') ?? '';
  secrets.set(`code of ${method}`, code).set(`verifier of ${method}`, verifier);
  let attempts = 0;
  const send = async (form: Record<string, string>, secret = client.client_secret) => {
    attempts += 1;
    const headers = { authorization: `Basic ${btoa(`${id}:${secret}`)}` };
    if (method === 'client_secret_basic') return postForm(`${platform.url}/oauth/token`, form, headers);
    const claims = { iss: id, sub: id, aud: PUBLIC_URL, jti: `${attempts}` };
    const signing = new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).setExpirationTime('1 minute');
    const assertion = await signing.sign(keys.privateKey);
    if (method === 'private_key_jwt') keepToken(`assertion ${attempts}`, assertion);
    return postForm(`${platform.url}/oauth/token`, {
      ...form,
      ...(method === 'private_key_jwt'
        ? {
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
            client_assertion: assertion,
          }
        : { client_id: id, ...(method === 'none' ? {} : { client_secret: secret }) }),
    });
  };
  const grant = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT };
  const wrong = newPkce().verifier;
  secrets.set(`wrong verifier of ${method}`, wrong);
  await send({ ...grant, code_verifier: wrong });
  if (client.client_secret !== undefined) {
    secrets.set(`wrong secret of ${method}`, `wrong-${client.client_secret}`);
    await send({ ...grant, code_verifier: verifier }, `wrong-${client.client_secret}`);
  }
  const redeemed = await send({ ...grant, code_verifier: verifier });
  const given = redeemed.status === 200 ? redeemed : assert.fail(redeemed.text);
  keepToken(`access token of ${method}`, given.body.access_token);
  secrets.set(`refresh token of ${method}`, given.body.refresh_token);
  const renewed = await send({ grant_type: 'refresh_token', refresh_token: given.body.refresh_token });
  keepToken(`second access token of ${method}`, renewed.body.access_token);
  secrets.set(`second refresh token of ${method}`, renewed.body.refresh_token);
  await createClient(platform.url, renewed.body.access_token).get('/v1/smiths');
  // Again, which ends what came of it.
  assert.equal((await send({ ...grant, code_verifier: verifier })).status, 400);
  assert.equal((await refreshWith(platform.url, id, renewed.body.refresh_token)).status === 200, false);
}

async function letAppIn(): Promise<void> {
  const client_id = `http://127.0.0.1:${(documents.address() as AddressInfo).port}/app.json`;
  const { verifier, challenge } = newPkce();
  const asked = { client_id, scope: 'openid profile runs:read', code_challenge: challenge, nonce: 'n' };
  const page = await openAuthorize(platform.url, asked);
  const fields = { request: requestIn(page), token: platform.organization.token, project_id: p.projectId };
  const code = redirectOf(await sendConsent(platform.url, fields, PUBLIC_URL)).searchParams.get('code') ?? '';
  const form = { grant_type: 'authorization_code', client_id, code, code_verifier: verifier, redirect_uri: REDIRECT };
  const { body, text } = await postForm(`${platform.url}/oauth/token`, form);
  assert.ok(body.id_token, text);
  secrets.set('code of an app', code).set('verifier of an app', verifier);
  keepToken('token of an app', body.access_token);
  keepToken('id_token', body.id_token);
}

/** What the vault holds of it, as the other side knows it. */
async function keepSealed(): Promise<void> {
  const vault = createVault([oldKey]);
  for (const { table, column, key, context, where = 'true' } of sealedColumns) {
    if (!SEALED_TABLES.includes(table)) continue;
    const { rows } = await store.db.query<Record<string, string>>({
      text: `select ${key.join(', ')}, ${column} from ${table} where ${where}`,
      values: [],
    });
    for (const row of rows) {
      const text = vault.open(row[column] ?? '', context(row));
      const held = text.startsWith('{') ? Object.entries(JSON.parse(text) as object) : [['secret', text]];
      for (const [name, value] of held) secrets.set(`${table}.${name} ${String(value).slice(0, 6)}`, String(value));
    }
  }
  const { rows } = await store.db.query<{ project_id: string; state_hash: string; sealed_verifier: string }>({
    text: 'select project_id, state_hash, sealed_verifier from connection_links',
    values: [],
  });
  for (const { project_id, state_hash, sealed_verifier } of rows) {
    const verifier = vault.open(sealed_verifier, linkContext(project_id, state_hash));
    secrets.set(`verifier of ${state_hash}`, verifier);
  }
}

async function arrive(link: string): Promise<Response> {
  // The link is out, and not yet back: its verifier lies there.
  await keepSealed();
  const back = await upstream.visit(link);
  secrets.set(`code of ${back}`, new URL(back).searchParams.get('code') ?? '');
  const answer = await fetch(back.replace(PUBLIC_URL, platform.url), { redirect: 'manual' });
  await keepSealed();
  return answer;
}

/** The id of a connection that was refreshed, and its smith. */
async function connectAccounts(): Promise<{ readonly smithId: string; readonly id: string }> {
  secrets.set('secret of a provider', upstream.client.client_secret);
  const scopes = ['read', 'offline_access'];
  await p.put('/v1/tenant/providers/work', { ...upstream.client, issuer: upstream.issuer, scopes_allowed: scopes });
  const smithId = await p.createSmith();
  const path = `/v1/smiths/${smithId}/connections`;
  const link = async (provider: string) => (await p.post(`${path}/authorize`, { provider })).body.authorize_url;
  upstream.instead = (response) => response.writeHead(400).end('{"error":"invalid_grant"}');
  assert.equal((await arrive(await link('work'))).status, 502);
  upstream.instead = undefined;
  assert.equal((await arrive(await link('work'))).status, 200);
  const [{ id }] = (await p.get(path)).body.data;
  upstream.instead = (response) => response.writeHead(500).end('<h1>busy</h1>');
  assert.equal((await p.post(`${path}/${id}/refresh`)).status, 502);
  upstream.instead = undefined;
  await store.db.query({ text: 'update connections set refresh_again_at = null', values: [] });
  assert.equal((await p.post(`${path}/${id}/refresh`)).status, 200);
  await keepSealed();
  await callTool(smithId, link);
  await storeCredential();
  return { smithId, id };
}

async function callTool(smithId: string, link: (provider: string) => Promise<string>): Promise<void> {
  await p.put('/v1/tenant/mcp/notes', { url: upstream.mcpUrl, auth: { kind: 'oauth' } });
  assert.equal((await arrive(await link('mcp:notes'))).status, 200);
  assert.equal((await p.post('/v1/tenant/mcp/notes/refresh')).body.status, 'ready');
  const ask = (smith: string) => p.post(`/v1/smiths/${smith}/runs`, question('Call the tool notes__whoami with {}'));
  assert.equal((await ask(smithId)).body.status, 'completed');
  assert.equal((await ask(await p.createSmith())).body.status, 'paused');
  await keepSealed();
}

/** An account whose end cannot be told to its provider yet. */
async function storeCredential(): Promise<void> {
  const nowhere = 'http://127.0.0.1:1';
  await p.put('/v1/tenant/providers/silent', {
    client_id: 'c',
    client_secret: 'secret-of-a-silent-provider',
    authorization_endpoint: `${nowhere}/authorize`,
    token_endpoint: `${nowhere}/token`,
    revocation_endpoint: `${nowhere}/revoke`,
  });
  const path = `/v1/smiths/${await p.createSmith()}/connections`;
  const credential = { kind: 'oauth2', access_token: 'stored-access-token', refresh_token: 'stored-refresh-token' };
  const { body } = await p.post(path, { provider: 'silent', credential }, { 'idempotency-key': 'stored' });
  await keepSealed();
  assert.equal((await p.post(`${path}/${body.id}/refresh`)).status, 502);
  assert.equal((await p.delete(`${path}/${body.id}`)).status, 204);
}

test('what is looked for is found however it is written', () => {
  const secret = 'oac_live_Zm9vYmFyYmF6';
  const looked = new Map([['it', secret]]);
  for (const before of ['', 'a', 'ab', 'id:']) {
    for (const encoding of ['utf8', 'base64', 'base64url', 'hex'] as const) {
      const text = `{"a":"${Buffer.from(`${before}${secret} and more`).toString(encoding)}"}`;
      assert.deepEqual(findSecrets(text, looked), ['it'], `${encoding} behind ${before}`);
    }
  }
  assert.deepEqual(findSecrets('oac_live_Zm9vYmFyYmF5', looked), []);
});

test('no table and no line of the log holds a token, a code, a secret or a verifier; a new master key opens what is sealed', async (t) => {
  const smithId = await p.createSmith();
  const resource = PUBLIC_URL + (await publishMcp(p, { type: 'smith', id: smithId })).path;
  const own = await p.smithToken(smithId, ['runs:write']);
  keepToken('tenant token', p.token);
  keepToken('smith token', own);
  keepToken('organization key', platform.organization.token);
  for (const method of ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt']) {
    await letIn(method, method === 'none' ? own : p.token, resource);
  }
  await letAppIn();
  const connection = await connectAccounts();

  const tables = await dumpDatabase(store.db);
  const found = [...tables].flatMap(([table, text]) => findSecrets(text, secrets).map((name) => `${table}: ${name}`));
  assert.deepEqual(found, []);
  const lines = log.join('');
  assert.deepEqual(findSecrets(lines, secrets), []);
  t.diagnostic(`${secrets.size} secrets, ${tables.size} tables, ${log.length} lines of the log`);
  assert.ok(
    lines.includes('"level":"debug"') && lines.includes('an account was not connected'),
    'the log is talkative',
  );
  assert.ok(tables.get('public.connections')?.includes(connection.id), 'the tables are those of this server');

  const next = newKey();
  const both = createVault([next, oldKey]);
  for (const column of sealedColumns) {
    const { sealed, unreadable } = await resealColumn(store.db, both, column);
    assert.equal(unreadable, 0);
    if (SEALED_TABLES.includes(column.table)) assert.ok(sealed > 0, `${column.table}.${column.column} has none`);
    assert.deepEqual(await listLost(store.db, createVault([next]), column), []);
  }
  const later = await startPlatform({ outboundAllow: OUTBOUND, sharing: { db: store.db, vault: createVault([next]) } });
  t.after(() => later.close());
  const path = `/v1/smiths/${connection.smithId}/connections/${connection.id}/refresh`;
  const refreshed = await createClient(later.url, p.token).post(path);
  assert.equal(refreshed.status, 200, refreshed.text);
});
