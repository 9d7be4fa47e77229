/** Accounts that users have connected to smiths, and the OAuth clients by which they are. */
import type { Generated } from 'kysely';
import type { Json, JsonObject, ProjectId, TableNames } from './columns.ts';

export type ClientAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
export type ConnectionStatus = 'active' | 'expired' | 'disabled';
/** Of a saved provider, registered at the issuer, or our metadata document. */
export type ClientKind = 'provider' | 'dynamic' | 'metadata_document';

/** Where a sign-in goes and what it asks for. */
export interface SignInTarget {
  /** Undefined: it is not known, and what comes back names none that could be compared. */
  issuer?: string;
  /** What comes back has to name the issuer. */
  names_itself: boolean;
  token_endpoint: string;
  revocation_endpoint?: string;
  client_kind: ClientKind;
  /** Of a saved provider. */
  client_provider?: string;
  client_id: string;
  /** What the token is for (RFC 8707), as it is sent. */
  resource?: string;
  /** The server's address as it was registered. */
  server_url?: string;
  scopes: string[];
}

interface OauthProvidersTable {
  project_id: ProjectId;
  provider: string;
  client_id: string;
  secret_id: string | null;
  sealed_client_secret: string | null;
  scopes_allowed: string[];
  issuer: string | null;
  authorization_endpoint: string;
  token_endpoint: string;
  revocation_endpoint: string | null;
  token_endpoint_auth_method: ClientAuthMethod;
  names_itself: boolean;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface McpIssuersTable {
  project_id: ProjectId;
  server_id: string;
  issuer: string;
  client_id: string | null;
  secret_id: string | null;
  sealed_client_secret: string | null;
  secret_expires_at: Date | null;
  token_endpoint_auth_method: ClientAuthMethod | null;
  redirect_uri: string | null;
  found_at: Generated<Date>;
}

interface ConnectionsTable {
  project_id: ProjectId;
  id: string;
  smith_id: string;
  provider: string;
  server_id: string | null;
  status: ConnectionStatus;
  scopes: string[];
  scopes_asked: string[] | null;
  metadata: Json<JsonObject>;
  credential_id: string;
  sealed_credential: string;
  has_refresh_token: boolean;
  credential_at: Generated<Date>;
  expires_at: Date | null;
  issuer: string | null;
  server_url: string | null;
  resource: string | null;
  token_endpoint: string | null;
  revocation_endpoint: string | null;
  client_kind: ClientKind | null;
  client_provider: string | null;
  client_id: string | null;
  granted_at: Generated<Date>;
  works_once: boolean | null;
  refresh_id: string | null;
  refresh_until: Date | null;
  refresh_again_at: Date | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface ConnectionLinksTable {
  project_id: ProjectId;
  state_hash: string;
  smith_id: string;
  provider: string;
  server_id: string | null;
  sealed_verifier: string;
  target: Json<SignInTarget>;
  return_url: string | null;
  created_at: Generated<Date>;
  expires_at: Date;
}

interface ConnectionRevocationsTable {
  project_id: ProjectId;
  credential_id: string;
  sealed_credential: string;
  revocation_endpoint: string;
  client_kind: ClientKind;
  client_provider: string | null;
  client_id: string;
  token_endpoint_auth_method: ClientAuthMethod;
  issuer: string | null;
  secret_id: string | null;
  sealed_client_secret: string | null;
  created_at: Generated<Date>;
}

export interface ConnectionsTables {
  oauth_providers: OauthProvidersTable;
  mcp_issuers: McpIssuersTable;
  connections: ConnectionsTable;
  connection_links: ConnectionLinksTable;
  connection_revocations: ConnectionRevocationsTable;
}

export const connectionsTables: TableNames<ConnectionsTables> = {
  oauth_providers: true,
  mcp_issuers: true,
  connections: true,
  connection_links: true,
  connection_revocations: true,
};
