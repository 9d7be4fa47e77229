/** How an OAuth client proves itself at an issuer's endpoints (RFC 6749 section 2.3.1, RFC 7523 section 2.2). */
import type { CryptoKey } from 'jose';
import type { ClientAuth } from 'oauth4webapi';
import type { ClientAuthMethod } from '../../tables.ts';

export interface OAuthClient {
  readonly id: string;
  readonly method: ClientAuthMethod;
  readonly secret?: string;
}

/** Our own key, which the document of the client points at. */
export type SigningKeySource = () => Promise<{ readonly kid: string; readonly key: CryptoKey }>;

/** Adds the proof to the request. `audience`: the issuer, or where none is known its token endpoint. */
export async function authenticate(
  keys: SigningKeySource,
  client: OAuthClient,
  audience: string,
  { body, headers }: { readonly body: URLSearchParams; readonly headers: Headers },
): Promise<void> {
  const proof = await proofOf(keys, client);
  await proof({ issuer: audience }, { client_id: client.id }, body, headers);
}

async function proofOf(keys: SigningKeySource, { method, secret = '' }: OAuthClient): Promise<ClientAuth> {
  // Loaded for the first sign-in: most processes never make one.
  const { ClientSecretPost, None, PrivateKeyJwt } = await import('oauth4webapi');
  switch (method) {
    case 'none':
      return None();
    case 'client_secret_basic':
      return basic(secret);
    case 'client_secret_post':
      return ClientSecretPost(secret);
    case 'private_key_jwt':
      return PrivateKeyJwt(await keys());
  }
}

/** Not the library's, which escapes dashes and dots too: as lawful, and wrong to the many servers that unescape nothing. */
function basic(secret: string): ClientAuth {
  return (_, { client_id }, _body, headers) => {
    const [id, password] = [client_id, secret].map((text) => new URLSearchParams([['', text]]).toString().slice(1));
    headers.set('authorization', `Basic ${btoa(`${id}:${password}`)}`);
  };
}
