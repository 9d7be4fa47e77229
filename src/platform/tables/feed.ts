/** The feed of events. */
import type { Generated } from 'kysely';
import type { Actor, Json, JsonObject, ProjectId, TableNames } from './columns.ts';

interface EventsTable {
  project_id: ProjectId;
  id: string;
  type: string;
  smith_id: string | null;
  actor: Json<Actor> | null;
  data: Json<JsonObject>;
  created_at: Generated<Date>;
  /** The number of the transaction, as text. */
  written_by: Generated<string>;
}

export interface FeedTables {
  events: EventsTable;
}

export const feedTables: TableNames<FeedTables> = {
  events: true,
};
