import type { EventType } from './event-types.ts';

export interface EventRow {
  readonly id: string;
  readonly type: EventType;
  readonly created_at: Date;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What is read back and what is sent. */
export function renderEvent(workspaceId: string, { id, type, created_at, data }: EventRow) {
  return { v: 1 as const, id, type, created_at: created_at.toISOString(), workspace_id: workspaceId, data };
}
