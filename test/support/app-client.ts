/** A program that signs in as a stock OpenID client has it: by its metadata document, which it serves itself, and its key. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import * as openid from 'openid-client';
import { openAuthorize, REDIRECT, redirectOf, requestIn, sendConsent } from './oauth.ts';
import type { TestPlatform } from './platform.ts';

export type AppTokens = Awaited<ReturnType<typeof openid.authorizationCodeGrant>>;

export interface AppClient {
  readonly clientId: string;
  /** `settle`: what happens in the browser, from the page to the address that it comes back to. */
  signIn(url: string, scope: string | undefined, settle: (request: string) => Promise<URL>): Promise<AppTokens>;
  close(): Promise<void>;
}

/** Without a scope it asks for `runs:read files:read`, as its document says. The server must let it be asked at loopback. */
export async function startAppClient(name = 'Desk'): Promise<AppClient> {
  const keys = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(keys.publicKey)), alg: 'ES256', kid: 'one' };
  const host = createServer((request, response) => {
    const document = {
      ...{ client_id: clientId, client_name: name, redirect_uris: [REDIRECT], scope: 'runs:read files:read' },
      ...{ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: clientId.replace('app.json', 'keys.json') },
    };
    const body = request.url === '/keys.json' ? { keys: [jwk] } : document;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(host, 'listening');
  const clientId = `http://127.0.0.1:${(host.address() as AddressInfo).port}/app.json`;
  return {
    clientId,
    async signIn(url, scope, settle) {
      const authentication = openid.PrivateKeyJwt({ key: keys.privateKey, kid: 'one' });
      const options = { execute: [openid.allowInsecureRequests] };
      const config = await openid.discovery(new URL(url), clientId, undefined, authentication, options);
      const verifier = openid.randomPKCECodeVerifier();
      const expectedNonce = openid.randomNonce();
      const expectedState = openid.randomState();
      const to = openid.buildAuthorizationUrl(config, {
        redirect_uri: REDIRECT,
        ...(scope === undefined ? {} : { scope }),
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: expectedState,
        nonce: expectedNonce,
      });
      const back = await settle(requestIn(await openAuthorize(url, Object.fromEntries(to.searchParams))));
      const checks = { pkceCodeVerifier: verifier, expectedState };
      const expected =
        scope?.includes('openid') === true ? { ...checks, expectedNonce, idTokenExpected: true } : checks;
      return openid.authorizationCodeGrant(config, back, expected);
    },
    async close() {
      host.closeAllConnections();
      host.close();
    },
  };
}

/** Lets the client into a project, with the organization's key, on the page. */
export function letIn(platform: TestPlatform, project: { readonly projectId: string }) {
  return async (request: string): Promise<URL> => {
    const { token } = platform.organization;
    return redirectOf(await sendConsent(platform.url, { request, token, project_id: project.projectId }));
  };
}
