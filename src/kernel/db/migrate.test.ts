import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, it } from 'node:test';
import { describeOnEachStore } from '../../../test/support/database.ts';
import { connectServer } from './connect-server.ts';
import { type MigrationSource, migrate, pendingMigrations } from './migrate.ts';

describeOnEachStore('migrations', { sources: [] }, (current) => {
  let source: MigrationSource;
  let services = 0;
  const write = (name: string, sql: string) => writeFile(join(source.folder, name), sql);
  const tables = async (): Promise<string[]> => {
    const { rows } = await current().db.query<{ name: string }>({
      text: `select tablename as name from pg_tables where tablename like $1 order by 1`,
      values: [`${source.service}%`],
    });
    return rows.map(({ name }) => name);
  };

  // Each test is a service of its own, with tables of its own.
  beforeEach(async () => {
    services += 1;
    source = { service: `svc${services}`, folder: await mkdtemp(join(tmpdir(), 'migrations-')) };
  });
  afterEach(() => rm(source.folder, { recursive: true }));

  it('run in order, each once', async () => {
    await write('0002_second.sql', `alter table ${source.service} add column b int;`);
    await write('0001_first.sql', `create table ${source.service} (a int);`);
    assert.deepEqual(await pendingMigrations(current().db, source), ['0001_first.sql', '0002_second.sql']);
    assert.deepEqual(await migrate(current().db, source), { applied: ['0001_first.sql', '0002_second.sql'] });
    assert.deepEqual(await migrate(current().db, source), { applied: [] });
    await write('0003_third.sql', `alter table ${source.service} add column c int;`);
    assert.deepEqual(await migrate(current().db, source), { applied: ['0003_third.sql'] });
    assert.deepEqual(await pendingMigrations(current().db, source), []);
  });

  it('may hold many statements, functions and comments', async () => {
    await write(
      '0001_all.sql',
      `-- a comment; with a semicolon
       create table ${source.service} (a int);
       create function ${source.service}_f() returns int language plpgsql as $$ begin return 1; end; $$;
       create table ${source.service}_2 (a int default ${source.service}_f()); insert into ${source.service} values (1);`,
    );
    await migrate(current().db, source);
    assert.deepEqual(await tables(), [source.service, `${source.service}_2`]);
  });

  it('that fail apply nothing of their file, and the files before it stay', async () => {
    await write('0001_good.sql', `create table ${source.service} (a int);`);
    await write('0002_bad.sql', `create table ${source.service}_2 (a int); select 1/0;`);
    const message = new RegExp(`${source.service}/0002_bad.sql failed and nothing of it was applied: division by zero`);
    await assert.rejects(migrate(current().db, source), message);
    assert.deepEqual(await tables(), [source.service]);
    assert.deepEqual(await pendingMigrations(current().db, source), ['0002_bad.sql']);
    await write('0002_bad.sql', `create table ${source.service}_2 (a int);`);
    assert.deepEqual(await migrate(current().db, source), { applied: ['0002_bad.sql'] });
  });

  it('refuse a file that was changed after it was applied, but not other line ends', async () => {
    await write('0001_first.sql', `create table ${source.service} (a int);\n`);
    await migrate(current().db, source);
    await write('0001_first.sql', `create table ${source.service} (a int);\r\n`);
    assert.deepEqual(await migrate(current().db, source), { applied: [] });
    await write('0001_first.sql', `create table ${source.service} (b int);\n`);
    await assert.rejects(migrate(current().db, source), /0001_first.sql was changed after it was applied/);
    await assert.rejects(pendingMigrations(current().db, source), /was changed after it was applied/);
  });

  it('refuse names that have no order', async () => {
    await write('0001_first.sql', 'select 1;');
    await write('0001_again.sql', 'select 1;');
    await assert.rejects(migrate(current().db, source), /the number 0001 is taken/);
    await rm(join(source.folder, '0001_again.sql'));
    await write('second.sql', 'select 1;');
    await assert.rejects(migrate(current().db, source), /name it NNNN_name.sql/);
  });

  it('run once when several processes start at the same time', async () => {
    await write('0001_first.sql', `create table ${source.service} (a int); insert into ${source.service} values (1);`);
    await write('0002_second.sql', `insert into ${source.service} values (2);`);
    const { db, url } = current();
    const others =
      url === undefined ? [db, db] : await Promise.all([1, 2, 3].map(() => connectServer({ url, poolSize: 2 })));
    const results = await Promise.all([db, ...others].map((each) => migrate(each, source)));
    assert.deepEqual(results.flatMap(({ applied }) => applied).sort(), ['0001_first.sql', '0002_second.sql']);
    const { rows } = await db.query({ text: `select a from ${source.service} order by a`, values: [] });
    assert.deepEqual(rows, [{ a: 1 }, { a: 2 }]);
    if (url !== undefined) await Promise.all(others.map((each) => each.close()));
  });
});
