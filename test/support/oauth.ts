/** Clients of the authorization server, step by step as they stand on the wire. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';

export const REDIRECT = 'http://127.0.0.1/callback';

export interface Pkce {
  readonly verifier: string;
  readonly challenge: string;
}

export function newPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

type Fields = Readonly<Record<string, string | undefined>>;

function formOf(fields: Fields): URLSearchParams {
  return new URLSearchParams(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

export interface OAuthAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  readonly body: any;
}

async function read(response: Response): Promise<OAuthAnswer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

export function postForm(url: string, fields: Fields, headers: Readonly<Record<string, string>> = {}) {
  return fetch(url, { method: 'POST', body: formOf(fields), headers, redirect: 'manual' }).then(read);
}

/** A client that registers itself; public, unless the metadata says otherwise. */
export async function register(url: string, metadata: Readonly<Record<string, unknown>> = {}): Promise<OAuthAnswer> {
  const body = {
    client_name: 'Test client',
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: 'none',
    ...metadata,
  };
  const headers = { 'content-type': 'application/json' };
  return read(await fetch(`${url}/oauth/register`, { method: 'POST', headers, body: JSON.stringify(body) }));
}

export async function newClientId(url: string): Promise<string> {
  const registered = await register(url);
  assert.equal(registered.status, 201, registered.text);
  return registered.body.client_id;
}

/** Opens the address that a client sends browsers to. */
export function openAuthorize(url: string, parameters: Fields): Promise<OAuthAnswer> {
  const usual = { response_type: 'code', redirect_uri: REDIRECT, code_challenge_method: 'S256' };
  return fetch(`${url}/oauth/authorize?${formOf({ ...usual, ...parameters })}`, { redirect: 'manual' }).then(read);
}

/** The id of the request that the consent page is about. */
export function requestIn(page: OAuthAnswer): string {
  const [, id] = /name="request" value="([\w-]+)"/.exec(page.text) ?? [];
  assert.ok(id, `no consent page: ${page.status} ${page.text}`);
  return id;
}

/** Sends the consent page's form, as that page does. */
export function sendConsent(url: string, fields: Fields, origin = url): Promise<OAuthAnswer> {
  return postForm(`${url}/oauth/authorize`, { decision: 'approve', ...fields }, { origin });
}

/** What came back with the redirect. */
export function redirectOf(answer: OAuthAnswer): URL {
  const location = answer.headers.get('location');
  assert.ok(location, `no redirect: ${answer.status} ${answer.text}`);
  return new URL(location);
}

export interface Consented {
  readonly clientId: string;
  readonly code: string;
  readonly verifier: string;
}

/** From a new client to a code. */
export async function obtainCode(
  url: string,
  {
    resource,
    token,
    clientId,
    smithId,
    origin = url,
  }: { resource: string; token: string; clientId?: string; smithId?: string; origin?: string },
): Promise<Consented> {
  const id = clientId ?? (await newClientId(url));
  const { verifier, challenge } = newPkce();
  const page = await openAuthorize(url, { client_id: id, resource, code_challenge: challenge, state: 's' });
  const answer = await sendConsent(url, { request: requestIn(page), token, smith_id: smithId }, origin);
  const code = redirectOf(answer).searchParams.get('code');
  assert.ok(code, answer.headers.get('location') ?? '');
  return { clientId: id, code, verifier };
}

export function redeem(
  url: string,
  { clientId, code, verifier }: Consented,
  more: Fields = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<OAuthAnswer> {
  const fields = {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    code_verifier: verifier,
    redirect_uri: REDIRECT,
    ...more,
  };
  return postForm(`${url}/oauth/token`, fields, headers);
}

export function refreshWith(url: string, clientId: string, refreshToken: string, more: Fields = {}) {
  return postForm(`${url}/oauth/token`, {
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: refreshToken,
    ...more,
  });
}
