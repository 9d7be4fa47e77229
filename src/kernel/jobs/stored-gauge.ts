/**
 * Gauges of what a job measures now and then, on one replica for all. The last value is in the database, so that every replica
 * shows the same, also one that has just started, and none an older one of its own.
 */

import type { Database, Executor } from '../db/database.ts';
import { asLook } from '../db/looks.ts';
import type { Metrics } from '../metrics/metrics.ts';

export interface StoredGauge {
  /** Of every replica, from its next scrape on. */
  set(value: number): Promise<void>;
}

/** pg-boss has made the schema. Races with other processes end in a unique violation, after which a second try finds it. */
export async function createMeasurements(db: Executor): Promise<void> {
  const { rows } = await db.query<{ found: boolean }>({
    text: `select to_regclass('jobs.measurement') is not null as found`,
    values: [],
  });
  if (rows[0]?.found === true) return;
  await db.query({
    text: `
      create table if not exists jobs.measurement (
        name text primary key,
        value double precision not null,
        measured_at timestamptz not null default now()
      )`,
  });
}

/** 0 until it is measured for the first time. The jobs make its table when they start. */
export function storedGauge(
  { db, metrics }: { readonly db: Database; readonly metrics: Metrics },
  name: string,
  help: string,
): StoredGauge {
  metrics.sharedGauge(name, help, [], async (gauge) => {
    // Without the database the page shows what was last known.
    const value = await readMeasurement(db, name).catch(() => undefined);
    if (value !== undefined) gauge.set(value);
  });
  return {
    async set(value) {
      await asLook(db).query({
        text: `insert into jobs.measurement (name, value) values ($1, $2)
          on conflict (name) do update set value = excluded.value, measured_at = excluded.measured_at`,
        values: [name, value],
      });
    },
  };
}

/** Those of one scrape ask at the same time: they share what is read. */
const readings = new WeakMap<Database, Promise<ReadonlyMap<string, number>>>();

async function readMeasurement(db: Database, name: string): Promise<number | undefined> {
  const reading = readings.get(db) ?? readMeasurements(db).finally(() => readings.delete(db));
  readings.set(db, reading);
  return (await reading).get(name);
}

async function readMeasurements(db: Database): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ name: string; value: number }>({
    text: 'select name, value from jobs.measurement',
    values: [],
  });
  return new Map(rows.map(({ name, value }) => [name, value]));
}
