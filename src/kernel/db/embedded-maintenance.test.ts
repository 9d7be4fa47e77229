import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock, runWithClock } from '../clock/clock.ts';
import type { Executor, Rows, Statement } from './database.ts';
import { createEmbeddedMaintenance } from './embedded-maintenance.ts';

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A store whose tables need what they are said to, until it is done. */
function createScene(needs: { small?: string[]; large?: string[] }) {
  const clock = createManualClock(new Date(0));
  const done: string[] = [];
  let looks = 0;
  const left = { small: needs.small ?? [], large: needs.large ?? [] };
  const describe = (table: string, bytes: number) => ({
    ...{ table, bytes, liveRows: 0, deadRows: 5_000, plannedRows: 0, age: 0 },
  });
  const answer = (text: string): object[] => {
    if (text.includes('pg_control_checkpoint')) return [{ bytes: 0 }];
    if (text.includes('pg_class c')) {
      looks += 1;
      return [...left.small.map((each) => describe(each, 1)), ...left.large.map((each) => describe(each, 1e9))];
    }
    const [, table] = /^vacuum (?:\(analyze\) )?(\w+)$/.exec(text) ?? [];
    if (table === undefined) return [];
    done.push(table);
    left.small = left.small.filter((each) => each !== table);
    left.large = left.large.filter((each) => each !== table);
    return [];
  };
  const db: Executor = {
    query: async <Row>({ text }: Statement): Promise<Rows<Row>> => {
      const rows = answer(text);
      return { rows: rows as Row[], rowCount: rows.length };
    },
    wake: () => undefined,
  };
  const maintenance = runWithClock(clock, () => createEmbeddedMaintenance(db, undefined));
  const advance = async (ms: number) => {
    clock.advance(ms);
    for (let turn = 0; turn < 5; turn += 1) await settle();
  };
  const runStatements = (count: number) =>
    runWithClock(clock, () => {
      for (let index = 0; index < count; index += 1) maintenance.noteStatement();
    });
  return { maintenance, advance, runStatements, done, countLooks: () => looks };
}

test('maintenance does nothing in a store that nobody uses', async () => {
  const { maintenance, advance, runStatements, countLooks } = createScene({ small: ['a'], large: ['b'] });
  runStatements(499);
  await advance(86_400_000);
  assert.equal(countLooks(), 0);
  await maintenance.stop();
});

test('maintenance begins a second after 500 statements, and does one thing at a time until nothing is left', async () => {
  const { maintenance, advance, runStatements, done, countLooks } = createScene({ small: ['a', 'b'] });
  runStatements(500);
  await advance(999);
  assert.deepEqual(done, []);
  await advance(1);
  assert.deepEqual(done, ['a']);
  await advance(99);
  assert.deepEqual(done, ['a']);
  await advance(1);
  assert.deepEqual(done, ['a', 'b']);
  await advance(100);
  assert.equal(countLooks(), 3);
  await advance(86_400_000);
  assert.equal(countLooks(), 3);
  await maintenance.stop();
});

test('maintenance vacuums large tables one after the other when the store is quiet', async () => {
  const { maintenance, advance, runStatements, done } = createScene({ small: ['a'], large: ['b', 'c'] });
  runStatements(500);
  await advance(1_000);
  await advance(100);
  for (let busy = 0; busy < 3; busy += 1) {
    runStatements(450);
    await advance(10_000);
  }
  assert.deepEqual(done, ['a']);
  await advance(10_000);
  assert.deepEqual(done, ['a', 'b']);
  await advance(100);
  await advance(10_000);
  assert.deepEqual(done, ['a', 'b', 'c']);
  await maintenance.stop();
});

test('maintenance that stops begins nothing more', async () => {
  const { maintenance, advance, runStatements, countLooks } = createScene({ small: ['a'], large: ['b'] });
  runStatements(500);
  await maintenance.stop();
  await advance(86_400_000);
  assert.equal(countLooks(), 0);
});
