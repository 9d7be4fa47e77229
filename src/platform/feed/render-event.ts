import type { Actor, JsonObject } from '../tables.ts';

/** What every consumer of the feed gets, by poll or by webhook, byte for byte. */
export interface EventEnvelope {
  readonly v: 1;
  readonly id: string;
  readonly type: string;
  readonly created_at: string;
  readonly tenant_id: string;
  readonly smith_id: string | null;
  readonly actor: Actor | null;
  readonly data: JsonObject;
}

export interface EventRow {
  readonly id: string;
  readonly type: string;
  readonly created_at: Date;
  readonly smith_id: string | null;
  readonly actor: Actor | null;
  readonly data: JsonObject;
}

/** The envelope of a row. The order of its members is the feed's, which no jsonb keeps. */
export function renderEvent(projectId: string, row: EventRow): EventEnvelope {
  const { id, type, created_at, smith_id, actor, data } = row;
  return {
    v: 1,
    id,
    type,
    created_at: created_at.toISOString(),
    tenant_id: projectId,
    smith_id,
    actor: actor && renderActor(actor),
    data,
  };
}

function renderActor({ kind, id, token_id, email }: Actor): Actor {
  return { kind, id, token_id, email };
}
