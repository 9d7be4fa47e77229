import type { Schedule } from './schema.ts';
import type { ScheduleRow } from './store.ts';

export function renderSchedule(row: ScheduleRow): Schedule {
  const { input, next_fire_at, last_fire_at, created_at, updated_at, ...rest } = row;
  return {
    ...rest,
    // As it was checked when it was saved.
    input: input as Schedule['input'],
    next_fire_at: next_fire_at?.toISOString() ?? null,
    last_fire_at: last_fire_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
