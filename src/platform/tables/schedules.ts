/** Schedules, the deliveries of each, and the queues in which a smith's deliveries wait. */
import type { ColumnType, Generated } from 'kysely';
import type { Json, JsonObject, ProjectId, TableNames } from './columns.ts';

/** What became of a delivery, as its schedule shows it. */
export interface ScheduleDelivery {
  id: string;
  status: 'started' | 'failed' | 'skipped';
  /** ISO-8601. */
  due_at: string;
  run_id: string | null;
  error: { code: string; message: string } | null;
}

interface SchedulesTable {
  project_id: ProjectId;
  id: string;
  smith_id: string;
  name: string | null;
  cron: string;
  timezone: string;
  input: Json<JsonObject[]>;
  thread_id: string | null;
  enabled: boolean;
  next_fire_at: Date | null;
  last_fire_at: Date | null;
  waiting: Generated<number>;
  last_delivery: ColumnType<ScheduleDelivery | null, string | null | undefined, string | null>;
  created_at: Date;
  updated_at: Date;
}

interface ScheduleFiresTable {
  project_id: ProjectId;
  id: string;
  schedule_id: string;
  smith_id: string;
  kind: 'scheduled' | 'manual';
  due_at: Date;
  status: 'queued' | ScheduleDelivery['status'];
  run_id: string | null;
  error: ColumnType<ScheduleDelivery['error'], string | null, string | null>;
  created_at: Date;
  settled_at: Date | null;
}

interface ScheduleQueuesTable {
  project_id: ProjectId;
  smith_id: string;
  next_attempt_at: Date | null;
  version: Generated<number>;
  waits: Generated<number>;
  failures: Generated<number>;
  claims: Generated<number>;
}

export interface SchedulesTables {
  schedules: SchedulesTable;
  schedule_fires: ScheduleFiresTable;
  schedule_queues: ScheduleQueuesTable;
}

export const schedulesTables: TableNames<SchedulesTables> = {
  schedules: true,
  schedule_fires: true,
  schedule_queues: true,
};
