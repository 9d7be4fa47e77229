/** Who may do what: organizations, projects, and the keys and tokens of both. */
import type { Generated } from 'kysely';
import type { Json, JsonDefault, JsonObject, ProjectId, TableNames } from './columns.ts';

interface OrganizationsTable {
  id: string;
  name: string;
  contact_email: string | null;
  created_at: Generated<Date>;
}

interface ProjectsTable {
  id: string;
  organization_id: string;
  name: string;
  metadata: JsonDefault<JsonObject>;
  created_at: Generated<Date>;
  archived_at: Date | null;
}

interface SigningKeysTable {
  kid: string;
  public_jwk: Json<JsonObject>;
  sealed_private_jwk: string;
  created_at: Generated<Date>;
  retired_at: Date | null;
}

interface OrganizationKeysTable {
  organization_id: string;
  id: string;
  name: string | null;
  expires_at: Date | null;
  created_at: Generated<Date>;
  revoked_at: Date | null;
}

interface TokensTable {
  project_id: ProjectId;
  id: string;
  scope: 'admin' | 'smith';
  smith_id: string | null;
  scopes: string[];
  name: string | null;
  expires_at: Date | null;
  created_at: Generated<Date>;
  revoked_at: Date | null;
  client_id: string | null;
  deployment_id: string | null;
  app_id: string | null;
}

export interface AccessTables {
  tokens: TokensTable;
}

export const accessTables: TableNames<AccessTables> = {
  tokens: true,
};

/** Tables above the tenants. */
export interface SystemTables {
  organizations: OrganizationsTable;
  projects: ProjectsTable;
  signing_keys: SigningKeysTable;
  organization_keys: OrganizationKeysTable;
}
