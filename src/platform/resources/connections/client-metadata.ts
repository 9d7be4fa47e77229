import { callbackUrlOf, documentUrlOf } from '../../connections/index.ts';
import type { ClientMetadataDocument } from './schema.ts';

/** Ourselves as an OAuth client, for issuers that read who we are where our id points. */
export function describeClient(publicUrl: string): ClientMetadataDocument {
  return {
    client_id: documentUrlOf(publicUrl),
    client_name: 'Ironcraft',
    client_uri: publicUrl,
    redirect_uris: [callbackUrlOf(publicUrl)],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks_uri: `${publicUrl}/.well-known/jwks.json`,
  };
}
