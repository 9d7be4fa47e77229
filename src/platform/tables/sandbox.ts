/** What run_command has: secrets, and the box of each run. */
import type { Generated } from 'kysely';
import type { JsonDefault, ProjectId, TableNames } from './columns.ts';

interface SandboxSecretsTable {
  project_id: ProjectId;
  name: string;
  sealed_value: string;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface SandboxBoxesTable {
  project_id: ProjectId;
  run_id: string;
  id: string;
  /** The workspace as the last finished command left it. */
  archive_id: string | null;
  archive_bytes: Generated<number>;
  /** Path below /workspace/output → SHA-256 of what was made a file of it. */
  outputs: JsonDefault<Record<string, string>>;
  created_at: Generated<Date>;
}

export interface SandboxTables {
  sandbox_secrets: SandboxSecretsTable;
  sandbox_boxes: SandboxBoxesTable;
}

export const sandboxTables: TableNames<SandboxTables> = { sandbox_secrets: true, sandbox_boxes: true };
