import type { Event } from './schema.ts';
import type { EventRow } from './store.ts';

/** The envelope of a row. */
export function renderEvent(projectId: string, row: EventRow): Event {
  const { id, type, created_at, smith_id, actor, data } = row;
  return { v: 1, id, type, created_at: created_at.toISOString(), tenant_id: projectId, smith_id, actor, data };
}
