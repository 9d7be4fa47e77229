import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { holdEngine } from '../../../test/support/embedded-engine.ts';
import { connectEmbedded, type EmbeddedDatabase } from './connect-embedded.ts';
import { FolderInUseError } from './folder-lock.ts';
import { chooseTask, readNeeds, runTask } from './maintenance-tasks.ts';

const source = new URL('./connect-embedded.ts', import.meta.url).href;

const ROWS = 40;
const IDLE_TRANSACTION_TIMEOUT_MS = 60_000;

/** Another process that opens the folder and writes so many rows, printing each id once it is committed. It keeps the folder open. */
function startWriter(folder: string, rowCount: number): { process: ChildProcess; lines: AsyncIterator<string> } {
  const program = `
    const { connectEmbedded } = await import(${JSON.stringify(source)});
    const db = await connectEmbedded({ folder: ${JSON.stringify(folder)} });
    await db.query({ text: 'create table if not exists entry (id int primary key)', values: [] });
    const { rows } = await db.query({ text: 'select coalesce(max(id), 0) as last from entry', values: [] });
    for (let id = rows[0].last + 1; id <= rows[0].last + ${rowCount}; id += 1) {
      await db.transaction(async (tx) => tx.query({ text: 'insert into entry values ($1)', values: [id] }));
      process.stdout.write(id + '\\n');
    }
    setInterval(() => undefined, 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { process: child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

let folder: string;
/** What a store holds after its first start, which takes seconds. */
let initial: Uint8Array;

before(async () => {
  await holdEngine();
  folder = await mkdtemp(join(tmpdir(), 'embedded-'));
  // What a first start that was cut off half-way leaves behind.
  await mkdir(join(folder, 'initialised', 'data.partial-1'), { recursive: true });
  await writeFile(join(folder, 'initialised', 'data.partial-1', 'PG_VERSION'), '18');
  await mkdir(join(folder, 'initialised', 'data'));
  const db = await connectEmbedded({ folder: join(folder, 'initialised') });
  initial = await db.dump();
  await db.close();
});
after(() => rm(folder, { recursive: true }));

describe('the embedded store in a folder', () => {
  /** A store as after its first start. */
  async function copyStore(name: string): Promise<string> {
    const store = join(folder, name);
    await cp(join(folder, 'initialised', 'data'), join(store, 'data'), { recursive: true });
    return store;
  }

  it('the embedded store starts anew where a first start was cut off half-way', async () => {
    assert.deepEqual((await readdir(join(folder, 'initialised'))).sort(), ['data', 'lock', 'owner.json']);
  });

  it('the embedded store refuses a second process while the first lives, and keeps what that committed when it is killed', async () => {
    const store = await copyStore('killed');
    const writer = startWriter(store, ROWS);
    for (let count = 0; count < ROWS; count += 1) await writer.lines.next();
    await assert.rejects(connectEmbedded({ folder: store }), (error) => {
      assert.ok(error instanceof FolderInUseError);
      assert.ok(
        error.message.includes(store) && error.message.includes(`process ${writer.process.pid}`),
        error.message,
      );
      return true;
    });
    await kill(writer.process);
    const db = await connectEmbedded({ folder: store });
    const { rows } = await db.query<{ ids: number[]; fsync: string }>({
      text: `select array_agg(id order by id) as ids, current_setting('fsync') as fsync from entry`,
      values: [],
    });
    assert.deepEqual(
      rows[0]?.ids,
      Array.from({ length: ROWS }, (_, index) => index + 1),
    );
    assert.equal(rows[0]?.fsync, 'on', 'it waits for the disk at each commit');
    await assert.rejects(
      connectEmbedded({ folder: store }),
      FolderInUseError,
      'nor does its own process open it twice',
    );
    await db.close();
  });

  it('the embedded store waits for no disk when it is told so', async () => {
    const db = await connectEmbedded({ folder: await copyStore('unflushed'), flush: false });
    const { rows } = await db.query({ text: `select current_setting('fsync') as fsync`, values: [] });
    assert.deepEqual(rows, [{ fsync: 'off' }]);
    await db.close();
  });
});

describe('the embedded store', () => {
  let db: EmbeddedDatabase;
  before(async () => {
    db = await connectEmbedded({
      folder: undefined,
      dump: initial,
      idleTransactionTimeoutMs: IDLE_TRANSACTION_TIMEOUT_MS,
    });
    await db.query({ text: 'create extension vector; create table item (id int, at vector(2))' });
  });
  after(() => db.close());

  it('the embedded store leaves the event loop free while a slow statement runs', async () => {
    let turns = 0;
    let running = true;
    const turn = (): void => {
      turns += 1;
      if (running) setImmediate(turn);
    };
    setImmediate(turn);
    await db.query({ text: 'select count(*) from generate_series(1, 300000)', values: [] });
    running = false;
    assert.ok(turns > 100, `the event loop turned ${turns} times`);
  });

  it('the embedded store rolls back a transaction that sends nothing until its timeout, and goes on', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const inserted = Promise.withResolvers<void>();
    const abandoned = db.transaction(async (tx) => {
      await tx.query({ text: 'insert into item (id) values (1)', values: [] });
      inserted.resolve();
      await new Promise(() => undefined);
    });
    await inserted.promise;
    const next = db.query({ text: 'select * from item', values: [] });
    t.mock.timers.tick(IDLE_TRANSACTION_TIMEOUT_MS);
    await assert.rejects(abandoned, /sent nothing for 60000 ms and was rolled back/);
    assert.deepEqual((await next).rows, []);
  });

  it('the embedded store lets a transaction run for longer than its timeout while it sends statements', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await db.transaction(async (tx) => {
      for (let statement = 0; statement < 5; statement += 1) {
        t.mock.timers.tick(IDLE_TRANSACTION_TIMEOUT_MS - 1);
        const answer = tx.query({ text: 'select 1', values: [] });
        // While a statement is under way nothing is too late.
        t.mock.timers.tick(IDLE_TRANSACTION_TIMEOUT_MS);
        await answer;
      }
    });
  });

  it('searches vectors', async () => {
    await db.transaction(async (tx) => {
      await tx.query({ text: `insert into item values (1, '[1,1]'), (2, '[5,5]')`, values: [] });
      const { rows } = await tx.query({ text: 'select id from item order by at <-> $1 limit 1', values: ['[4,4]'] });
      assert.deepEqual(rows, [{ id: 2 }]);
    });
  });

  it('starts another one from its dump', async () => {
    await db.query({ text: 'create table dumped as select generate_series(1, 1000) as id' });
    const copy = await connectEmbedded({ folder: undefined, dump: await db.dump() });
    await copy.query({ text: 'insert into dumped values (1001)', values: [] });
    const counts = await Promise.all(
      [db, copy].map((each) => each.query<{ n: number }>({ text: 'select count(*) as n from dumped', values: [] })),
    );
    assert.deepEqual(
      counts.map(({ rows }) => rows[0]?.n),
      [1000, 1001],
    );
    await copy.close();
  });

  it('vacuums tables that changed a lot, and writes a checkpoint when the log has grown', async () => {
    await db.query({
      text: `create table churn as select g as id, repeat('x', 1800) as text from generate_series(1, 40000) g`,
    });
    await db.query({ text: 'delete from churn', values: [] });
    const look = async () => {
      // Statistics are written at most once a second otherwise.
      await db.query({ text: 'select pg_stat_force_next_flush()', values: [] });
      const { rows } = await db.query<{ dead: number; wal: number }>({
        text: `select n_dead_tup as dead, (select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::float8
               from pg_control_checkpoint()) as wal from pg_stat_all_tables where relname = 'churn'`,
        values: [],
      });
      return rows[0] ?? { dead: -1, wal: -1 };
    };
    const grown = await look();
    assert.ok(grown.dead >= 40_000 && grown.wal > 64 * 1024 * 1024, JSON.stringify(grown));
    const done: string[] = [];
    for (let left = 9; left > 0; left -= 1) {
      const { task } = chooseTask(await readNeeds(db), { isQuiet: false, isDone: () => false });
      if (task === undefined) break;
      await runTask(db, task);
      if (task.kind !== 'analyze') done.push(task.kind);
    }
    // Vacuum fills the log again.
    assert.deepEqual(done, ['checkpoint', 'vacuum', 'checkpoint']);
    const kept = await look();
    assert.ok(kept.dead === 0 && kept.wal < 1024 * 1024, JSON.stringify(kept));
  });

  it('plans for a table that was emptied do not read all of it when it has grown', async () => {
    const place = join(folder, 'planned');
    await cp(join(folder, 'initialised'), place, { recursive: true });
    const first = await connectEmbedded({ folder: place });
    await first.query({ text: 'create table packed (id text primary key, text text)', values: [] });
    await first.query({ text: 'vacuum full packed' });
    const readRows = async (store: EmbeddedDatabase) => {
      const { rows } = await store.query<{ rows: number }>({
        text: `select reltuples as rows from pg_class where relname = 'packed'`,
        values: [],
      });
      return rows[0]?.rows;
    };
    assert.equal(await readRows(first), 0, 'which is what a template holds');
    await first.close();
    const second = await connectEmbedded({ folder: place });
    try {
      assert.equal(await readRows(second), -1);
      const { rows } = await second.query<Record<string, string>>({
        text: `explain select * from packed where id = 'a'`,
        values: [],
      });
      const plan = rows.map((row) => Object.values(row)[0]).join('\n');
      assert.match(plan, /Index/);
    } finally {
      await second.close();
    }
  });

  it('the embedded store finishes what it accepted before it closes, and then says that it is closed', async () => {
    const other = await connectEmbedded({ folder: undefined, dump: initial });
    const accepted = Promise.all(
      Array.from({ length: 20 }, (_, n) => other.query({ text: 'select $1::int as n', values: [n] })),
    );
    const closed = other.close();
    assert.equal((await accepted).length, 20);
    await closed;
    await assert.rejects(other.query({ text: 'select 1', values: [] }), /is closed/);
    await other.close();
  });
});
