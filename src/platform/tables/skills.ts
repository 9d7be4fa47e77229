/** Skills and their versions. */
import type { Generated } from 'kysely';
import type { Json, ProjectId, TableNames } from './columns.ts';

interface SkillsTable {
  project_id: ProjectId;
  id: string;
  name: string;
  default_version: number;
  /** Of all that there ever were. */
  latest_version: number;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

/** A file of a version. */
export interface SkillFileEntry {
  path: string;
  size: number;
  sha256: string;
  media_type: string;
  /** Where its deflated bytes begin in the archive, and how many there are. */
  packed_at: number;
  packed_bytes: number;
}

interface SkillVersionsTable {
  project_id: ProjectId;
  skill_id: string;
  version: number;
  description: string;
  license: string | null;
  compatibility: string | null;
  metadata: Json<Record<string, string>> | null;
  files: Json<SkillFileEntry[]>;
  bytes: number;
  archive_id: string;
  archive_bytes: number;
  archive_sha256: string;
  created_at: Generated<Date>;
}

export interface SkillsTables {
  skills: SkillsTable;
  skill_versions: SkillVersionsTable;
}

export const skillsTables: TableNames<SkillsTables> = { skills: true, skill_versions: true };
