/** The documents of agents' UI resources. */
import type { Generated } from 'kysely';
import type { ProjectId, TableNames } from './columns.ts';

interface UiBundlesTable {
  project_id: ProjectId;
  /** SHA-256, in hexadecimal. */
  content_hash: string;
  blob_id: string;
  bytes: number;
  created_at: Generated<Date>;
}

export interface UiBundlesTables {
  ui_bundles: UiBundlesTable;
}

export const uiBundlesTables: TableNames<UiBundlesTables> = { ui_bundles: true };
