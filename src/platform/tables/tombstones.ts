/** Where objects stood in their lists that are gone. */
import type { Generated } from 'kysely';
import type { ProjectId, TableNames } from './columns.ts';

export type TombstoneKind = 'conversation' | 'file' | 'skill' | 'vector_store';

interface ObjectTombstonesTable {
  project_id: ProjectId;
  kind: TombstoneKind;
  id: string;
  smith_id: string | null;
  removed_at: Generated<Date>;
}

interface VectorStoreFileTombstonesTable {
  project_id: ProjectId;
  vector_store_id: string;
  file_id: string;
  position: number;
  batch_id: string | null;
  removed_at: Generated<Date>;
}

export interface TombstonesTables {
  tombstones: ObjectTombstonesTable;
  vector_store_file_tombstones: VectorStoreFileTombstonesTable;
}

export const tombstonesTables: TableNames<TombstonesTables> = {
  tombstones: true,
  vector_store_file_tombstones: true,
};
