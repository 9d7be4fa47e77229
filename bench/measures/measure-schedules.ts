/** Schedules that come due together, beside many that do not. */
import { setTimeout as wait } from 'node:timers/promises';
import type { BenchDatabase } from '../database.ts';
import type { Findings } from '../figure.ts';
import { watchCpu } from '../process-usage.ts';
import type { BenchContext } from './bench-context.ts';
import { percent } from './remarks.ts';

const FIRES_PER_SECOND = 500;
const PATIENCE_MS = 300_000;
const POLL_MS = 50;
/** The first round warms up. */
const ROUNDS = 3;

interface Round {
  readonly fires: number;
  /** From the moment at which all are due to the start of the first turn, of the last, and to the end of the last. */
  readonly firstSeconds: number;
  readonly startedSeconds: number;
  readonly endedSeconds: number;
}

/** PostgreSQL only: the rows are written by SQL. */
export async function measureSchedules({ server, smiths, database, quick, say }: BenchContext): Promise<Findings> {
  if (database === undefined) {
    return { figures: [], remarks: ['Schedules are measured on PostgreSQL.'], details: {} };
  }
  const [due, idle] = quick ? [100, 1_000] : [2_000, 100_000];
  const ids = await smiths.take(due);
  say(`schedules: ${due} due together, beside ${idle} others`);
  await seed(database, server.credentials.project_id, ids, idle);
  const { result: rounds, usage } = await watchCpu(server.pid, async () => {
    const measured: Round[] = [];
    for (let round = 0; round < ROUNDS; round += 1) measured.push(await fireAll(database, due));
    return measured;
  });
  const paces = rounds
    .slice(1)
    .map(({ fires, firstSeconds, startedSeconds }) => fires / (startedSeconds - firstSeconds));
  const ends = rounds.slice(1).map(({ fires, firstSeconds, endedSeconds }) => fires / (endedSeconds - firstSeconds));
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    figures: [
      { name: 'schedules fired', value: mean(paces), unit: 'fires/s', bar: { atLeast: FIRES_PER_SECOND } },
      { name: 'schedules fired, until their turns have ended', value: mean(ends), unit: 'fires/s' },
    ],
    remarks: [`Schedules: server at ${percent(usage.used ?? 0)} of a core, machine ${percent(usage.machine)} busy.`],
    details: { rounds, usage, idle },
  };
}

async function seed({ client }: BenchDatabase, projectId: string, smithIds: readonly string[], idle: number) {
  await client.query(
    `insert into schedules
       (project_id, id, smith_id, cron, timezone, input, enabled, next_fire_at, created_at, updated_at)
     select $1, case when n <= cardinality($2::text[]) then 'sch_due_' else 'sch_idle_' end || n,
       ($2::text[])[1 + n % cardinality($2::text[])], '0 0 1 1 *', 'Europe/Berlin',
       '[{"role": "user", "content": "Write 2 words"}]', true, now() + interval '1 year', now(), now()
     from generate_series(1, cardinality($2::text[]) + $3::int) n`,
    [projectId, smithIds, idle],
  );
  await client.query('analyze schedules');
}

async function fireAll({ client }: BenchDatabase, fires: number): Promise<Round> {
  await client.query('delete from schedule_fires');
  const { rows: armed } = await client.query<{ at: Date }>(
    `with armed as (update schedules set next_fire_at = now() where id like 'sch\\_due\\_%' returning id)
     select now() as at from armed limit 1`,
  );
  const at = armed[0]?.at ?? new Date();
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const { rows } = await client.query<{ started: number; running: number; first: Date; last: Date; ended: Date }>(
      `select count(*) filter (where f.status = 'started')::int as started,
         count(*) filter (where r.status = 'in_progress')::int as running,
         min(r.created_at) as first, max(r.created_at) as last, max(r.updated_at) as ended
       from schedule_fires f left join runs r on r.project_id = f.project_id and r.id = f.run_id`,
    );
    const [row] = rows;
    if (row !== undefined && row.started === fires && row.running === 0) {
      const since = (to: Date) => (to.getTime() - at.getTime()) / 1_000;
      return { fires, firstSeconds: since(row.first), startedSeconds: since(row.last), endedSeconds: since(row.ended) };
    }
    if (performance.now() > deadlineMs) throw new Error(`${row?.started} of ${fires} schedules fired`);
    await wait(POLL_MS);
  }
}
