/** What the authorization server says of itself (RFC 8414), and of the MCP servers that take its tokens (RFC 9728). */
import { TENANT_MARKER } from '../access/caller.ts';
import { mcpAddress } from '../access/mcp-address.ts';
import { SCOPES } from '../access/scopes.ts';
import { CLIENT_AUTH_METHODS } from './client.ts';
import { ASSERTION_ALGORITHMS } from './client-assertion.ts';
import { CONNECTOR_SCOPE, IDENTITY_SCOPES } from './requested-scopes.ts';

export function serverMetadata(publicUrl: string) {
  return {
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}/oauth/authorize`,
    token_endpoint: `${publicUrl}/oauth/token`,
    registration_endpoint: `${publicUrl}/oauth/register`,
    revocation_endpoint: `${publicUrl}/oauth/revoke`,
    jwks_uri: `${publicUrl}/.well-known/jwks.json`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: [...CLIENT_AUTH_METHODS],
    token_endpoint_auth_signing_alg_values_supported: [...ASSERTION_ALGORITHMS],
    revocation_endpoint_auth_methods_supported: [...CLIENT_AUTH_METHODS],
    revocation_endpoint_auth_signing_alg_values_supported: [...ASSERTION_ALGORITHMS],
    scopes_supported: [...SCOPES, TENANT_MARKER, ...IDENTITY_SCOPES],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  };
}

/** The same for OpenID Connect (Discovery, section 3). */
export function openIdConfiguration(publicUrl: string) {
  return {
    ...serverMetadata(publicUrl),
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    claims_supported: ['iss', 'aud', 'sub', 'iat', 'exp', 'nonce', 'name', 'picture', 'email', 'email_verified'],
  };
}

export function resourceMetadata(publicUrl: string, deploymentId: string) {
  return {
    resource: mcpAddress(publicUrl, deploymentId),
    authorization_servers: [publicUrl],
    bearer_methods_supported: ['header'],
    scopes_supported: [CONNECTOR_SCOPE],
  };
}
