import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../../../test/support/database.ts';
import { chooseTask, type MaintenanceTask, runTask, type TableNeeds } from './maintenance-tasks.ts';

const MB = 1024 * 1024;

const describeTable = (needs: Partial<TableNeeds>): TableNeeds => ({
  table: 't',
  bytes: 0,
  liveRows: 0,
  deadRows: 0,
  plannedRows: needs.liveRows ?? 0,
  age: 0,
  ...needs,
});

interface Case {
  readonly what: string;
  readonly tables?: readonly Partial<TableNeeds>[];
  readonly walBytes?: number;
  readonly isQuiet?: boolean;
  readonly task?: string;
  readonly waits?: boolean;
}

const million = 1_000_000;
const CASES: readonly Case[] = [
  { what: 'a store that needs nothing', tables: [{ liveRows: million, bytes: 900 * MB }] },
  { what: 'a small table with few dead rows', tables: [{ deadRows: 200 }] },
  { what: 'a small table with many dead rows', tables: [{ deadRows: 201 }], task: 'vacuum t' },
  { what: 'dead rows that are few beside the live ones', tables: [{ liveRows: 5_000, deadRows: 1_200, bytes: MB }] },
  { what: 'a large table with dead rows', tables: [{ liveRows: 10, deadRows: 2_100, bytes: 2 * MB }], waits: true },
  {
    what: 'a large table with dead rows, in a quiet store',
    tables: [{ liveRows: 10, deadRows: 2_100, bytes: 2 * MB }],
    isQuiet: true,
    task: 'tidy t',
    waits: true,
  },
  {
    what: 'a bloated table',
    tables: [{ liveRows: 10, deadRows: 10_021, bytes: 2 * MB }],
    task: 'vacuum t',
    waits: true,
  },
  { what: 'a table that was never looked at', tables: [{ liveRows: 501, plannedRows: -1 }], task: 'analyze t' },
  { what: 'a table that has grown by half', tables: [{ liveRows: 2_001, plannedRows: 1_000 }], task: 'analyze t' },
  { what: 'a table that has grown by less', tables: [{ liveRows: 1_999, plannedRows: 1_000 }] },
  { what: 'a table that has shrunk', tables: [{ liveRows: 10, plannedRows: million }] },
  { what: 'an old table', tables: [{ age: 150_000_001 }], waits: true },
  { what: 'a table that is too old', tables: [{ age: 1_000_000_001 }], task: 'vacuum t', waits: true },
  { what: 'a long log', walBytes: 64 * MB + 1, task: 'checkpoint' },
  { what: 'a short log', walBytes: 64 * MB },
  {
    what: 'a long log and a table with dead rows',
    walBytes: 65 * MB,
    tables: [{ deadRows: 300 }],
    task: 'checkpoint',
  },
  {
    what: 'two tables with dead rows',
    tables: [
      { table: 'few', deadRows: 300 },
      { table: 'many', deadRows: 400 },
    ],
    task: 'vacuum many',
  },
  {
    what: 'a table that has grown and a small one with dead rows',
    tables: [
      { table: 'grown', liveRows: 9_000, plannedRows: 0, deadRows: 1_000, bytes: MB },
      { table: 'hot', deadRows: 300 },
    ],
    task: 'vacuum hot',
  },
];

const nameTask = (task: MaintenanceTask | undefined) =>
  task && 'table' in task ? `${task.kind} ${task.table}` : task?.kind;

for (const { what, tables = [], walBytes = 0, isQuiet = false, task, waits = false } of CASES) {
  test(`maintenance chooses ${task ?? (waits ? 'to wait' : 'nothing')} for ${what}`, () => {
    const chosen = chooseTask({ tables: tables.map(describeTable), walBytes }, { isQuiet, isDone: () => false });
    assert.deepEqual({ task: nameTask(chosen.task), waits: chosen.waits }, { task, waits });
  });
}

test('maintenance leaves out what is done, and waits for nothing that is', () => {
  const needs = { tables: [describeTable({ deadRows: 3_000 })], walBytes: 65 * MB };
  const done = new Set(['checkpoint', 'vacuum t', 'tidy t']);
  const isDone = (task: MaintenanceTask) => done.has(nameTask(task) ?? '');
  assert.deepEqual(chooseTask(needs, { isQuiet: true, isDone }), { task: undefined, waits: false });
});

test('maintenance makes statistics of the columns that indexes have, or of all where there is no index', async () => {
  const { db, close } = await openTestDatabase({ sources: [], store: 'embedded' });
  try {
    await db.query({
      text: `
        create table items (id int primary key, "of whom" text, body jsonb);
        create index on items ("of whom");
        create table bare (id int, body jsonb);
        insert into items select n, n % 7, '{}' from generate_series(1, 50) n;
        insert into bare select n, '{}' from generate_series(1, 50) n`,
    });
    for (const table of ['items', 'bare']) await runTask(db, { kind: 'analyze', table });
    const { rows } = await db.query({
      text: `
        select tablename as "table", string_agg(attname, ', ' order by attname) as columns,
          (select reltuples from pg_class where oid = tablename::regclass) as "rows"
        from pg_stats where schemaname = 'public' group by tablename order by tablename`,
      values: [],
    });
    assert.deepEqual(rows, [
      { table: 'bare', columns: 'body, id', rows: 50 },
      { table: 'items', columns: 'id, of whom', rows: 50 },
    ]);
  } finally {
    await close();
  }
});
