/** What a client asks for with `GET /oauth/authorize`, in the order in which it is checked: who asks, where to answer, what for. */
import { randomBytes } from 'node:crypto';
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { deploymentAt } from '../access/mcp-address.ts';
import type { OAuthClient } from './client.ts';
import type { OAuthDependencies } from './dependencies.ts';
import { readableName } from './display-name.ts';
import { findClient } from './find-client.ts';
import { findTarget } from './find-target.ts';
import { isRegistered, withParameters } from './redirect-uri.ts';
import { type AuthorizeRequest, insertRequest, type NewRequest } from './request-store.ts';
import { readAppScopes, readConnectorScopes } from './requested-scopes.ts';

export interface AuthorizeQuery {
  readonly client_id?: string;
  readonly redirect_uri?: string;
  readonly response_type?: string;
  readonly response_mode?: string;
  readonly scope?: string;
  readonly state?: string;
  readonly nonce?: string;
  readonly code_challenge?: string;
  readonly code_challenge_method?: string;
  readonly resource?: string;
}

/** A refusal that the client is told of, by way of the browser (RFC 6749, section 4.1.2.1). */
class ToldToClient extends Error {
  readonly error: string;

  constructor(error: string, description: string) {
    super(description);
    this.error = error;
  }
}

/** SHA-256, base64url (RFC 7636, section 4.2). */
const CHALLENGE = /^[\w-]{43}$/;

/**
 * A request that waits for its consent, or where to send the browser with the refusal. Throws `invalid_request` where the client
 * or the redirect is not known: then nobody may be sent anywhere.
 */
export async function beginRequest(
  deps: OAuthDependencies,
  query: AuthorizeQuery,
): Promise<{ readonly request: AuthorizeRequest; readonly client: OAuthClient } | { readonly location: string }> {
  if (query.client_id === undefined) throw refused('client_id', 'The address names no client: `client_id` is missing.');
  const client = await findClient(deps.db, deps.documents, query.client_id);
  const redirectUri = checkRedirect(client, query.redirect_uri);
  try {
    return { request: await begin(deps, client, redirectUri, query), client };
  } catch (error) {
    const told = error instanceof ApiError ? new ToldToClient(error.code, error.message) : error;
    if (!(told instanceof ToldToClient)) throw error;
    const { state } = query;
    const parameters = {
      error: told.error,
      error_description: asDescription(told.message),
      state,
      iss: deps.publicUrl,
    };
    return { location: withParameters(redirectUri, parameters) };
  }
}

function checkRedirect({ metadata }: OAuthClient, given: string | undefined): string {
  const registered = metadata.redirect_uris;
  const uri = given ?? (registered.length === 1 ? registered[0] : undefined);
  if (uri === undefined)
    throw refused('redirect_uri', 'The address says nowhere to go back to: `redirect_uri` is missing.');
  if (isRegistered(registered, uri)) return uri;
  throw refused('redirect_uri', 'The program wants you sent back to an address that it is not registered for.');
}

async function begin(
  { db, publicUrl }: OAuthDependencies,
  client: OAuthClient,
  redirectUri: string,
  query: AuthorizeQuery,
): Promise<AuthorizeRequest> {
  if (query.response_type !== 'code') {
    throw new ToldToClient('unsupported_response_type', 'Only `response_type=code` is served.');
  }
  if (query.response_mode !== undefined && query.response_mode !== 'query') {
    throw new ToldToClient('invalid_request', 'Only `response_mode=query` is served.');
  }
  if (query.code_challenge_method !== 'S256' || !CHALLENGE.test(query.code_challenge ?? '')) {
    throw new ToldToClient('invalid_request', 'Send a `code_challenge` with `code_challenge_method=S256`.');
  }
  return insertRequest(db, {
    id: `oar_${randomBytes(24).toString('base64url')}`,
    client_id: client.id,
    client_name: readableName(client.metadata.client_name),
    redirect_uri: redirectUri,
    state: query.state ?? null,
    nonce: query.nonce ?? null,
    code_challenge: query.code_challenge ?? '',
    ...(query.resource === undefined
      ? readApp(client, query.scope)
      : await readConnector(db, publicUrl, query.resource, query.scope)),
  });
}

type Purpose = Pick<NewRequest, 'project_id' | 'deployment_id' | 'scopes'>;

async function readConnector(
  db: Database,
  publicUrl: string,
  resource: string,
  scope: string | undefined,
): Promise<Purpose> {
  const deploymentId = deploymentAt(publicUrl, resource);
  const target = deploymentId === undefined ? undefined : await findTarget(db, deploymentId);
  if (target === undefined) {
    throw new ToldToClient('invalid_target', '`resource` must be the address of an MCP server that is served here.');
  }
  return { project_id: target.project_id, deployment_id: target.id, scopes: readConnectorScopes(scope) };
}

/** An app is to be recognized by whoever disconnects it, so it has a name that a host vouches for. */
function readApp({ isDocument, metadata }: OAuthClient, scope: string | undefined): Purpose {
  if (!isDocument) {
    throw new ToldToClient(
      'invalid_target',
      'Send `resource`: an app without one needs a client id metadata document.',
    );
  }
  return { project_id: null, deployment_id: null, scopes: readAppScopes(scope, metadata.scope) };
}

/** What the section allows in a description. */
function asDescription(text: string): string {
  return text.replaceAll('"', "'").replaceAll(/[^\x20-\x7e]|\\/gu, ' ');
}

function refused(param: string, message: string): ApiError {
  return new ApiError('invalid_request', { param, message });
}
