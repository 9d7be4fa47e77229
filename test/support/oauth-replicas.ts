/** Two replicas of the authorization server: what one has begun the other ends, and what is good once is good once over both. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { publishMcp } from './mcp-deployment.ts';
import {
  newClientId,
  newPkce,
  type OAuthAnswer,
  obtainCode,
  openAuthorize,
  postForm,
  REDIRECT,
  redeem,
  redirectOf,
  refreshWith,
  register,
  requestIn,
  sendConsent,
} from './oauth.ts';
import { startPlatform, type TestPlatform, type TestProject } from './platform.ts';

const PUBLIC_URL = 'http://127.0.0.1:8787';

let platform: TestPlatform;
let second: TestPlatform;
let project: TestProject;
let resource: string;

const both = (send: (url: string) => Promise<OAuthAnswer>) =>
  Promise.all([platform, second, platform, second].map(({ url }) => send(url)));

const statuses = (answers: readonly OAuthAnswer[]) => answers.map(({ status }) => status).sort();

const tokensOf = async (clientId: string) => {
  const { rows } = await platform.db.query({
    text: 'select id from tokens where project_id = $1 and client_id = $2',
    values: [project.projectId, clientId],
  });
  return rows.length;
};

/** Declares the tests of them, with so many rounds of each race. */
export function testTwoReplicas(rounds: number): void {
  before(async () => {
    platform = await startPlatform();
    const { db, vault, blobs } = platform;
    second = await startPlatform({ sharing: { db, vault, blobs } });
    project = await platform.createProject();
    resource = PUBLIC_URL + (await publishMcp(project, { type: 'smith', id: await project.createSmith() })).path;
  });
  after(async () => {
    await second.close();
    await platform.close();
  });

  test('a client that registered at one is let in at the other, whose code either redeems, once', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const clientId = await newClientId(platform.url);
      const asked = { resource, token: project.token, clientId, origin: PUBLIC_URL };
      const consented = await obtainCode(second.url, asked);
      assert.deepEqual(statuses(await both((url) => redeem(url, consented))), [200, 400, 400, 400]);
      assert.equal(await tokensOf(clientId), 1);
    }
  });

  test('a request that one has shown is approved at the other, once', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const clientId = await newClientId(platform.url);
      const { verifier, challenge } = newPkce();
      const asked = { client_id: clientId, resource, code_challenge: challenge };
      const request = requestIn(await openAuthorize(platform.url, asked));
      const answers = await both((url) => sendConsent(url, { request, token: project.token }, PUBLIC_URL));
      assert.deepEqual(statuses(answers), [303, 409, 409, 409]);
      const [approved] = answers.filter(({ status }) => status === 303);
      const code = approved === undefined ? null : redirectOf(approved).searchParams.get('code');
      const answer = await redeem(second.url, { clientId, code: code ?? '', verifier });
      assert.equal(answer.status, 200, answer.text);
    }
  });

  test('a refresh token that comes to both at once has a successor and its siblings, and later ends at both', async () => {
    const clientId = await newClientId(platform.url);
    const asked = { resource, token: project.token, clientId, origin: PUBLIC_URL };
    const { body } = await redeem(second.url, await obtainCode(platform.url, asked));
    const answers = await both((url) => refreshWith(url, clientId, body.refresh_token));
    assert.deepEqual(statuses(answers), [200, 200, 200, 200]);
    assert.equal(new Set(answers.map((answer) => answer.body.refresh_token)).size, 4);
    await platform.db.query({
      text: `update oauth_refresh_tokens set spent_at = spent_at - interval '31 seconds' where project_id = $1`,
      values: [project.projectId],
    });
    for (const held of [body.refresh_token, ...answers.map((answer) => answer.body.refresh_token)]) {
      assert.deepEqual(statuses(await both((url) => refreshWith(url, clientId, held))), [400, 400, 400, 400]);
    }
    assert.equal(await tokensOf(clientId), 1);
  });

  test('an assertion is good once, wherever it comes', async () => {
    const keys = await generateKeyPair('ES256');
    const jwks = { keys: [await exportJWK(keys.publicKey)] };
    const { body } = await register(platform.url, { token_endpoint_auth_method: 'private_key_jwt', jwks });
    const clientId: string = body.client_id;
    for (let round = 0; round < rounds; round += 1) {
      const claims = { iss: clientId, sub: clientId, aud: PUBLIC_URL, jti: `${round}` };
      const client_assertion = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256' })
        .setExpirationTime('1 minute')
        .sign(keys.privateKey);
      const form = {
        grant_type: 'authorization_code',
        code: 'oac_live_none',
        code_verifier: newPkce().verifier,
        redirect_uri: REDIRECT,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion,
      };
      const answers = await both((url) => postForm(`${url}/oauth/token`, form));
      // One proves who it is, and has no such code.
      assert.deepEqual(answers.map((answer) => answer.body.error).sort(), [
        'invalid_client',
        'invalid_client',
        'invalid_client',
        'invalid_grant',
      ]);
    }
  });
}
