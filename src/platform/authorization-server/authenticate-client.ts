/** Who calls the token endpoint: every client proves itself in the one way that it is registered for (RFC 6749, section 2.3). */
import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { ClientAuthMethod, OAuthClient } from './client.ts';
import { checkAssertion, subjectOfAssertion } from './client-assertion.ts';
import type { ClientDocuments } from './client-documents.ts';
import { hashCredential } from './credentials.ts';
import { findClient } from './find-client.ts';

export interface ClientCredentials {
  readonly authorization: string | undefined;
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
  readonly client_assertion_type?: string | undefined;
  readonly client_assertion?: string | undefined;
}

export interface AuthenticationDependencies {
  readonly db: Database;
  readonly documents: ClientDocuments;
  readonly clock: Clock;
  readonly publicUrl: string;
}

interface Presented {
  readonly clientId: string;
  readonly method: ClientAuthMethod;
  /** The secret or the assertion. */
  readonly proof: string;
}

/** Throws `unauthenticated`. */
export async function authenticateClient(
  deps: AuthenticationDependencies,
  credentials: ClientCredentials,
): Promise<OAuthClient> {
  const { clientId, method, proof } = readPresented(credentials);
  const client = await requireClient(deps, clientId);
  const wanted = client.metadata.token_endpoint_auth_method;
  if (method !== wanted) throw refused(`This client is registered for ${wanted}. Authenticate with that`);
  if (method === 'private_key_jwt') await checkAssertion(deps, client, proof);
  else if (method !== 'none' && !isSecret(client, proof)) throw refused('The client’s secret is not this one');
  return client;
}

async function requireClient({ db, documents }: AuthenticationDependencies, id: string): Promise<OAuthClient> {
  try {
    return await findClient(db, documents, id);
  } catch (error) {
    if (error instanceof ApiError) throw refused(error.message.replace(/\.$/, ''), error);
    throw error;
  }
}

function readPresented(given: ClientCredentials): Presented {
  const { authorization, client_id, client_secret, client_assertion } = given;
  const ways = [authorization, client_secret, client_assertion].filter((way) => way !== undefined);
  if (ways.length > 1) throw refused('Authenticate in one way, not in several');
  const named = (clientId: string | undefined, presented: Omit<Presented, 'clientId'>): Presented => {
    if (clientId === undefined) throw refused('Say which client this is: send `client_id`');
    if (client_id !== undefined && client_id !== clientId) throw refused('Two different clients are named');
    return { clientId, ...presented };
  };
  if (authorization !== undefined) {
    const [id, secret] = readBasic(authorization);
    return named(id, { method: 'client_secret_basic', proof: secret });
  }
  if (client_secret !== undefined) return named(client_id, { method: 'client_secret_post', proof: client_secret });
  if (client_assertion === undefined) return named(client_id, { method: 'none', proof: '' });
  if (given.client_assertion_type !== 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer') {
    throw refused('`client_assertion_type` must be urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
  }
  return named(subjectOfAssertion(client_assertion), { method: 'private_key_jwt', proof: client_assertion });
}

/** Both halves are form-encoded first (RFC 6749, section 2.3.1). */
function readBasic(authorization: string): [id: string, secret: string] {
  const [, encoded = ''] = /^Basic +([\w+/=-]+)$/i.exec(authorization) ?? [];
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const at = text.indexOf(':');
  if (at < 0) throw refused('`Authorization` must be `Basic`, with the client’s id and secret');
  const decode = (half: string) => new URLSearchParams(`half=${half.replaceAll('&', '%26')}`).get('half') ?? '';
  return [decode(text.slice(0, at)), decode(text.slice(at + 1))];
}

function isSecret({ secretHash }: OAuthClient, secret: string): boolean {
  return secretHash !== null && timingSafeEqual(Buffer.from(secretHash), Buffer.from(hashCredential(secret)));
}

function refused(what: string, cause?: unknown): ApiError {
  return new ApiError('unauthenticated', {
    message: `${what}.`,
    headers: { 'www-authenticate': 'Basic realm="ironcraft"' },
    cause,
  });
}
