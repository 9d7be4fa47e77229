/** Threads, their messages, and the conversations that are threads with a name. */
import type { ColumnType, Generated } from 'kysely';
import type { Json, JsonDefault, JsonObject, ProjectId, TableNames } from './columns.ts';

interface ThreadsTable {
  project_id: ProjectId;
  smith_id: string;
  id: string;
  turns: Generated<number>;
  summary: string | null;
  summary_turn: Generated<number>;
  recalled_turn: Generated<number>;
  /** How often something was taken out of its messages. */
  removals: Generated<number>;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

/** What was taken out of a message since it was written, and the role that it was written with. */
export interface RemovedParts {
  role: 'system' | 'user' | 'assistant' | 'tool';
  parts: { index: number; type: string; call_id?: string }[];
}

interface MessagesTable {
  project_id: ProjectId;
  smith_id: string;
  thread_id: string;
  turn: number;
  position: number;
  run_id: string | null;
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: Json<unknown>;
  tokens: number;
  removed: ColumnType<RemovedParts | null, string | null | undefined, string>;
  created_at: Generated<Date>;
}

interface ConversationsTable {
  project_id: ProjectId;
  id: string;
  smith_id: string;
  title: string | null;
  metadata: JsonDefault<JsonObject>;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  deleted_at: Date | null;
}

export interface ThreadsTables {
  threads: ThreadsTable;
  messages: MessagesTable;
  conversations: ConversationsTable;
}

export const threadsTables: TableNames<ThreadsTables> = {
  threads: true,
  messages: true,
  conversations: true,
};
