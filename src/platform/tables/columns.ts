/** What columns of several tables have in common. */
import type { ColumnType, Generated } from 'kysely';

/** jsonb: read as the parsed value, written as JSON text (see `json` in kernel/db). */
export type Json<T> = ColumnType<T, string, string>;
export type JsonDefault<T> = ColumnType<T, string | undefined, string>;

export type JsonObject = Record<string, unknown>;

/** Who did it, as events and runs show it. */
export interface Actor {
  kind: 'smith' | 'tenant' | 'operator';
  id: string;
  token_id: string;
  email: string;
}

/** In every tenant table the scope fills project_id in, so inserts leave it out. */
export type ProjectId = Generated<string>;

/** The names of these tables, every one and no other: a type alone cannot be listed. */
export type TableNames<Tables> = Readonly<Record<keyof Tables, true>>;
