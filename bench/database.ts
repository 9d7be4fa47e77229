import pg from 'pg';

/** A database made for this run on a server that somebody else runs. */
export interface BenchDatabase {
  readonly url: string;
  /** Version and the settings that decide what a commit costs. */
  readonly description: string;
  readonly client: pg.Client;
  drop(): Promise<void>;
}

/** `purpose` tells the databases of one run apart. */
export async function createDatabase(serverUrl: string, purpose = ''): Promise<BenchDatabase> {
  const name = `ironcraft_bench_${process.pid}${purpose}`;
  const admin = new pg.Client(serverUrl);
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const client = new pg.Client(url.href);
  await client.connect();
  return {
    url: url.href,
    description: await describeServer(client),
    client,
    async drop() {
      await client.end();
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}

async function describeServer(client: pg.Client): Promise<string> {
  const settings = ['server_version', 'fsync', 'synchronous_commit', 'shared_buffers'];
  const { rows } = await client.query<{ name: string; value: string }>(
    'select s.name, current_setting(s.name) as value from unnest($1::text[]) as s (name)',
    [settings],
  );
  const [version, ...others] = rows.map(({ name, value }) => (name === 'server_version' ? value : `${name} ${value}`));
  return `PostgreSQL ${version} (${others.join(', ')})`;
}

/** How many transactions its database has ended, those of this connection among them. Undefined: without a database. */
export async function countTransactions(database: BenchDatabase | undefined): Promise<number | undefined> {
  const { rows } = (await database?.client.query<{ count: string }>(
    'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
  )) ?? { rows: [] };
  return rows[0] && Number(rows[0].count);
}
