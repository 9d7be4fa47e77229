/** Accounts at an issuer that rotates refresh tokens and ends the family of one that is used twice. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { type OAuthUpstream, startOAuthUpstream } from '../../../../test/support/oauth-upstream.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';

const PUBLIC_URL = 'http://127.0.0.1:8787';
const CALLBACK = `${PUBLIC_URL}/v1/oauth/callback`;

let upstream: OAuthUpstream;
let platform: TestPlatform;
let p: TestProject;
before(async () => {
  upstream = await startOAuthUpstream(CALLBACK);
  platform = await startPlatform();
  p = await platform.createProject();
  await saveProvider(p);
});
after(async () => {
  await platform.close();
  await upstream.close();
});

async function saveProvider(project: TestProject, body: object = {}) {
  const { status, text } = await project.put('/v1/tenant/providers/work', {
    ...upstream.client,
    issuer: upstream.issuer,
    scopes_allowed: ['read', 'offline_access'],
    ...body,
  });
  assert.equal(status, 200, text);
}

/** The link for the smith's user. */
async function authorize(smithId: string, body: object = { provider: 'work' }): Promise<string> {
  const { status, body: answer, text } = await p.post(`/v1/smiths/${smithId}/connections/authorize`, body);
  assert.equal(status, 200, text);
  return answer.authorize_url;
}

/** The callback, at the server under test. */
function arrive(callback: string): Promise<Response> {
  assert.ok(callback.startsWith(CALLBACK), callback);
  return fetch(callback.replace(PUBLIC_URL, platform.url), { redirect: 'manual' });
}

async function connect(smithId: string, body?: object): Promise<void> {
  const answer = await arrive(await upstream.visit(await authorize(smithId, body)));
  assert.equal(answer.status, 200, await answer.clone().text());
}

async function only(smithId: string) {
  const { body, text } = await p.get(`/v1/smiths/${smithId}/connections`);
  assert.equal(body.data.length, 1, text);
  return body.data[0];
}

describe('connecting an account', () => {
  test('a link leads to the provider, and back to a connection', async () => {
    const smithId = await p.createSmith();
    const link = new URL(await authorize(smithId));
    assert.equal(link.origin, upstream.issuer);
    assert.deepEqual(
      ['response_type', 'client_id', 'redirect_uri', 'scope', 'code_challenge_method'].map((name) =>
        link.searchParams.get(name),
      ),
      ['code', upstream.client.client_id, CALLBACK, 'read offline_access', 'S256'],
    );
    const answer = await arrive(await upstream.visit(link.href));
    assert.deepEqual([answer.status, await answer.json()], [200, { status: 'ok' }]);
    const { id, expires_at, created_at, ...connection } = await only(smithId);
    assert.match(id, /^con_/);
    assert.ok(Date.parse(expires_at) > Date.parse(created_at));
    assert.deepEqual(connection, {
      provider: 'work',
      scopes: ['read'],
      status: 'active',
      metadata: {},
    });
    assert.deepEqual((await p.get(`/v1/smiths/${smithId}/connections/${id}`)).body.id, id);
  });

  test('connecting again replaces the connection under its id', async () => {
    const smithId = await p.createSmith();
    await connect(smithId);
    const { id } = await only(smithId);
    await p.patch(`/v1/smiths/${smithId}/connections/${id}`, { metadata: { of: 'Ada' }, status: 'disabled' });
    await connect(smithId);
    const again = await only(smithId);
    assert.deepEqual([again.id, again.status, again.metadata], [id, 'active', { of: 'Ada' }]);
  });

  test('the browser goes on to `return_url`, with the connection', async () => {
    const smithId = await p.createSmith();
    const link = await authorize(smithId, { provider: 'work', return_url: 'https://example.com/done?a=1' });
    const answer = await arrive(await upstream.visit(link));
    const { id } = await only(smithId);
    assert.equal(answer.status, 302);
    assert.equal(answer.headers.get('location'), `https://example.com/done?a=1&status=ok&connection_id=${id}`);
  });

  test('a user who does not want to goes back with what the provider says', async () => {
    const smithId = await p.createSmith();
    const link = new URL(await authorize(smithId, { provider: 'work', return_url: 'http://localhost:9/back' }));
    const state = link.searchParams.get('state');
    const iss = encodeURIComponent(upstream.issuer);
    const answer = await arrive(`${CALLBACK}?error=access_denied&state=${state}&iss=${iss}`);
    assert.equal(answer.headers.get('location'), 'http://localhost:9/back?status=error&error=access_denied');
    assert.deepEqual((await p.get(`/v1/smiths/${smithId}/connections`)).body.data, []);
  });

  test('a link of one smith connects nothing to another', async () => {
    const [one, other] = [await p.createSmith(), await p.createSmith()];
    await connect(one);
    assert.deepEqual((await p.get(`/v1/smiths/${other}/connections`)).body.data, []);
    const own = p.as(await p.smithToken(other, ['connections:read', 'connections:write']));
    assertRefusal(await own.get(`/v1/smiths/${one}/connections`), 403, 'smith_mismatch');
  });
});

describe('a callback is refused', () => {
  const refused = async (callback: string, code: string, status = 409) => {
    const answer = await arrive(callback);
    const body = (await answer.json()) as { error: { code: string } };
    assert.deepEqual([answer.status, body.error.code], [status, code], callback);
  };

  test('without a state, with one that was never given, and with a used one', async () => {
    const smithId = await p.createSmith();
    await refused(CALLBACK, 'invalid_state');
    await refused(`${CALLBACK}?state=${p.projectId}.${'a'.repeat(43)}&code=c`, 'invalid_state');
    await refused(`${CALLBACK}?state=${'a'.repeat(400)}&code=c`, 'invalid_state');
    const back = await upstream.visit(await authorize(smithId));
    assert.equal((await arrive(back)).status, 200);
    const codes = upstream.counts.codes;
    await refused(back, 'invalid_state');
    assert.equal(upstream.counts.codes, codes);
  });

  test('that names another issuer, or none where the issuer names itself', async () => {
    const smithId = await p.createSmith();
    for (const iss of ['https://evil.example', undefined]) {
      const back = new URL(await upstream.visit(await authorize(smithId)));
      if (iss === undefined) back.searchParams.delete('iss');
      else back.searchParams.set('iss', iss);
      await refused(back.href, 'invalid_state');
      // It is spent by that.
      back.searchParams.set('iss', upstream.issuer);
      await refused(back.href, 'invalid_state');
    }
  });

  test('after ten minutes', async () => {
    const smithId = await p.createSmith();
    const back = await upstream.visit(await authorize(smithId));
    await platform.db.query({
      text: `update connection_links set expires_at = now() where project_id = $1 and smith_id = $2`,
      values: [p.projectId, smithId],
    });
    await refused(back, 'invalid_state');
  });

  test('when the smith, or the client, has gone meanwhile', async () => {
    const smithId = await p.createSmith();
    const back = await upstream.visit(await authorize(smithId));
    assert.equal((await p.delete(`/v1/smiths/${smithId}`)).status, 204);
    await refused(back, 'invalid_state');
    const other = await p.createSmith();
    const second = await upstream.visit(await authorize(other));
    await saveProvider(p, { client_id: 'another' });
    await refused(second, 'invalid_state');
    await saveProvider(p);
  });

  test('whose code the provider refuses, also with status 200, and what answers HTML', async () => {
    const smithId = await p.createSmith();
    const json = { 'content-type': 'application/json' };
    for (const [status, headers, text] of [
      [200, json, '{"error":"bad_verification_code"}'],
      [200, json, '{"ok":false,"error":"invalid_code"}'],
      [200, { 'content-type': 'text/html' }, '<h1>Welcome</h1>'],
      [200, json, '{"token_type":"bearer"}'],
      [503, json, '{}'],
      [302, { location: `${upstream.issuer}/token` }, ''],
    ] as const) {
      upstream.instead = (response) => response.writeHead(status, headers).end(text);
      await refused(await upstream.visit(await authorize(smithId)), 'connect_failed', 502);
    }
    upstream.instead = undefined;
    assert.deepEqual((await p.get(`/v1/smiths/${smithId}/connections`)).body.data, []);
  });
});

describe('authorize is refused', () => {
  const refused = async (body: object, ...refusal: [status: number, code: string, param?: string]) => {
    const smithId = await p.createSmith();
    assertRefusal(await p.post(`/v1/smiths/${smithId}/connections/authorize`, body), ...refusal);
  };

  test('for what nobody saved', async () => {
    await refused({ provider: 'nobody' }, 404, 'unknown_provider', 'provider');
    await refused({ provider: 'mcp:nobody' }, 404, 'unknown_provider', 'provider');
    await refused({ provider: 'work', mcp_server: 'nobody' }, 404, 'not_found', 'mcp_server');
    await refused({ provider: 'google' }, 422, 'auth_not_configured', 'provider');
  });

  test('for a return address that a token could be lost to', async () => {
    for (const return_url of [
      'http://example.com/',
      'javascript:alert(1)',
      'https://user:pass@example.com/',
      'http://127.0.0.1.example.com/',
      '//example.com',
      'https://',
      '',
    ]) {
      await refused({ provider: 'work', return_url }, 422, 'invalid_return_url', 'return_url');
    }
  });
});

describe('stored credentials', () => {
  const store = (smithId: string, credential: object, provider = 'work') =>
    p.post(`/v1/smiths/${smithId}/connections`, { provider, credential });

  test('are never shown, and replace what is there with 200', async () => {
    const smithId = await p.createSmith();
    const first = await store(smithId, { kind: 'oauth2', access_token: 'tok-first', refresh_token: 'tok-again' });
    assert.equal(first.status, 201, first.text);
    const second = await store(smithId, { kind: 'bearer', access_token: ' tok-second\n' });
    assert.deepEqual([second.status, second.body.id], [200, first.body.id]);
    assert.ok(!(first.text + second.text).includes('tok-'));
    const { rows } = await platform.db.query<{ row: string }>({
      text: 'select c::text as row from connections c where project_id = $1 and smith_id = $2',
      values: [p.projectId, smithId],
    });
    assert.ok(!JSON.stringify(rows).includes('tok-'));
  });

  test('take a token endpoint that is the provider’s own, and no other', async () => {
    const smithId = await p.createSmith();
    const credential = { kind: 'oauth2', access_token: 'a', refresh_token: 'b' };
    for (const token_uri of [
      'https://evil.example/token',
      `${upstream.issuer}/token/`,
      'https://169.254.169.254/',
      '',
    ]) {
      const refused = await store(smithId, { ...credential, token_uri });
      assertRefusal(refused, 422, 'invalid_url', 'credential.token_uri');
    }
    assert.equal((await store(smithId, { ...credential, token_uri: `${upstream.issuer}/token` })).status, 201);
  });

  test('that are none are refused, each as what it is', async () => {
    const smithId = await p.createSmith();
    for (const [credential, code, provider] of [
      [{ kind: 'password', access_token: 'a' }, 'unsupported_credential'],
      [{ kind: 'bearer', access_token: 'a', refresh_token: 'b' }, 'unsupported_credential'],
      [{ kind: 'oauth2' }, 'empty_credentials'],
      [{ kind: 'bearer' }, 'empty_credentials'],
      [{ kind: 'bearer', access_token: ' ' }, 'empty_token'],
      [{ kind: 'oauth2', access_token: 'a', refresh_token: '' }, 'empty_token'],
      [{ kind: 'oauth2', access_token: 'a', refresh_token: 'b' }, 'auth_not_configured', 'google'],
      [{ kind: 'bearer', access_token: 'a' }, 'unknown_provider', 'nobody'],
      [{ kind: 'bearer', access_token: 'ä' }, 'invalid_request'],
    ] as const) {
      const { status, body, text } = await store(smithId, credential, provider);
      assert.deepEqual([status, body.error.code], [code === 'unknown_provider' ? 404 : 422, code], text);
    }
  });
});

describe('refreshing', () => {
  const refresh = (smithId: string, id: string) => p.post(`/v1/smiths/${smithId}/connections/${id}/refresh`);
  /** As if nobody had failed a moment ago. */
  const forget = (smithId: string) =>
    platform.db.query({
      text: 'update connections set refresh_again_at = null where project_id = $1 and smith_id = $2',
      values: [p.projectId, smithId],
    });

  test('gets another token, again and again, though each refresh token works once', async () => {
    const smithId = await p.createSmith();
    await connect(smithId);
    const { id } = await only(smithId);
    const before = upstream.counts.refreshes;
    for (let round = 0; round < 3; round += 1) {
      const { status, body, text } = await refresh(smithId, id);
      assert.deepEqual([status, body.status], [200, 'active'], text);
    }
    assert.equal(upstream.counts.refreshes, before + 3);
  });

  test('that many ask for at once never presents a token twice', async () => {
    const smithId = await p.createSmith();
    await connect(smithId);
    const { id } = await only(smithId);
    const { refused } = upstream.counts;
    const answers = await Promise.all(Array.from({ length: 30 }, () => refresh(smithId, id)));
    assert.ok(answers.every(({ status }) => status === 200));
    assert.equal(upstream.counts.refused, refused);
  });

  test('that comes to nothing changes nothing, whatever the provider does', async () => {
    const smithId = await p.createSmith();
    await connect(smithId);
    const { id, expires_at } = await only(smithId);
    for (const [status, text] of [
      [500, '{"error":"invalid_grant"}'],
      [200, '<html>'],
      [400, '<html>'],
      [429, '{}'],
      [401, '{"error":"invalid_client"}'],
    ] as const) {
      upstream.instead = (response) => response.writeHead(status).end(text);
      await forget(smithId);
      assertRefusal(await refresh(smithId, id), 502, 'refresh_failed');
      const now = await only(smithId);
      assert.deepEqual([now.status, now.expires_at], ['active', expires_at], text);
    }
    upstream.instead = undefined;
    // A provider that has just failed is left alone.
    const { refreshes } = upstream.counts;
    assertRefusal(await refresh(smithId, id), 502, 'refresh_failed');
    assert.equal(upstream.counts.refreshes, refreshes);
    await forget(smithId);
    assert.equal((await refresh(smithId, id)).status, 200);
  });

  test('keeps the refresh token where the answer brings none', async () => {
    const smithId = await p.createSmith();
    await connect(smithId);
    const { id } = await only(smithId);
    const sent: string[] = [];
    upstream.instead = (response) => {
      const { req } = response;
      let body = '';
      req.on('data', (chunk) => {
        body += chunk;
      });
      req.on('end', () => {
        sent.push(new URLSearchParams(body).get('refresh_token') ?? '');
        response.writeHead(200).end('{"access_token":"next","token_type":"Bearer","expires_in":60}');
      });
    };
    assert.equal((await refresh(smithId, id)).status, 200);
    assert.equal((await refresh(smithId, id)).status, 200);
    upstream.instead = undefined;
    assert.equal(sent.length, 2);
    assert.equal(sent[0], sent[1]);
  });

  test('with what the provider has ended needs the account connected again', async () => {
    const smithId = await p.createSmith();
    await connect(smithId);
    const { id } = await only(smithId);
    upstream.instead = (response) => response.writeHead(400).end('{"error":"invalid_grant"}');
    assertRefusal(await refresh(smithId, id), 502, 'refresh_failed');
    upstream.instead = undefined;
    assert.equal((await only(smithId)).status, 'expired');
    assertRefusal(await refresh(smithId, id), 502, 'refresh_failed');
    const path = `/v1/smiths/${smithId}/connections/${id}`;
    assertRefusal(await p.patch(path, { status: 'active' }), 409, 'invalid_state', 'status');
    await connect(smithId);
    assert.deepEqual([(await only(smithId)).id, (await only(smithId)).status], [id, 'active']);
  });

  test('whose replica died over it: a token that works once is not sent again, one that goes on working is', async () => {
    for (const [worksOnce, status] of [
      [true, 'expired'],
      [null, 'expired'],
      [false, 'active'],
    ] as const) {
      const smithId = await p.createSmith();
      await connect(smithId);
      const { id } = await only(smithId);
      await platform.db.query({
        text: `
          update connections set refresh_id = 'somebody', refresh_until = now() - interval '1 second', works_once = $3
          where project_id = $1 and id = $2`,
        values: [p.projectId, id, worksOnce],
      });
      const { refreshes } = upstream.counts;
      const answer = await refresh(smithId, id);
      assert.deepEqual([answer.status, (await only(smithId)).status], [status === 'active' ? 200 : 502, status]);
      assert.equal(upstream.counts.refreshes - refreshes, status === 'active' ? 1 : 0);
    }
  });
});

describe('the end of a connection', () => {
  const revoked = async (before: number, count = 1) => {
    const left = async () => {
      const { rows } = await platform.db.query<{ count: number }>({
        text: 'select count(*)::int as count from connection_revocations',
        values: [],
      });
      return rows[0]?.count;
    };
    while ((await left()) !== 0) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(upstream.counts.revoked, before + count);
  };

  test('erases the credential at once and revokes it at the provider', async () => {
    const smithId = await p.createSmith();
    await connect(smithId);
    const { id } = await only(smithId);
    const before = upstream.counts.revoked;
    assert.equal((await p.delete(`/v1/smiths/${smithId}/connections/${id}`)).status, 204);
    assert.equal((await p.get(`/v1/smiths/${smithId}/connections/${id}`)).status, 404);
    await revoked(before);
  });

  test('comes with that of its smith, its provider and its project', async () => {
    const other = await platform.createProject();
    await saveProvider(other);
    const [one, two] = [await p.createSmith(), await p.createSmith()];
    await connect(one);
    await connect(two);
    let before = upstream.counts.revoked;
    assert.equal((await p.delete(`/v1/smiths/${one}`)).status, 204);
    await revoked(before);
    before = upstream.counts.revoked;
    const present = await platform.db.query<{ count: number }>({
      text: 'select count(*)::int as count from connections where project_id = $1 and revocation_endpoint is not null',
      values: [p.projectId],
    });
    assert.equal((await p.delete('/v1/tenant/providers/work')).status, 204);
    assert.equal((await p.get(`/v1/smiths/${two}/connections`)).body.data.length, 0);
    while (upstream.counts.revoked < before + (present.rows[0]?.count ?? 0)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await saveProvider(p);
    await connect(two);
    before = upstream.counts.revoked;
    assert.equal((await platform.organization.delete(`/v1/organization/projects/${p.projectId}`)).status, 204);
    await revoked(before);
    p = await platform.createProject();
    await saveProvider(p);
  });
});

test('the document of the client says who we are', async () => {
  const answer = await fetch(`${platform.url}/oauth/client-metadata.json`);
  assert.deepEqual(await answer.json(), {
    client_id: `${PUBLIC_URL}/oauth/client-metadata.json`,
    client_name: 'Ironcraft',
    client_uri: PUBLIC_URL,
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks_uri: `${PUBLIC_URL}/.well-known/jwks.json`,
  });
});
