import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOnEachStore } from '../../../test/support/database.ts';
import { sqlStateOf } from '../../kernel/db/sql-errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { TenantDatabase, type TenantDb } from './tenant-db.ts';

describeOnEachStore('a handle of one project', {}, (current) => {
  const open = () => new TenantDatabase(current().db, mintId('proj'));

  test('sees its own rows by queries and by raw SQL, in a transaction too', async () => {
    const [home, abroad] = [open(), open()];
    for (const db of [home, abroad]) await insertEvent(db, 'evt_same');
    await home.transaction(async (tx) => {
      await insertEvent(tx, 'evt_second');
      assert.deepEqual(await listIds(tx), ['evt_same', 'evt_second']);
    });
    assert.deepEqual(await listIds(home), ['evt_same', 'evt_second']);
    assert.deepEqual(await listIds(abroad), ['evt_same']);
  });

  test('passes the project as the first value of raw SQL, before those that it is given', async () => {
    const home = open();
    const { rows } = await home.raw<{ project: string; given: string }>({
      text: 'select $1::text as project, $2::text as given',
      values: ['second'],
    });
    assert.deepEqual(rows, [{ project: home.projectId, given: 'second' }]);
  });

  test('refuses raw SQL that leaves the project out', async () => {
    const home = open();
    for (const [text, values] of [
      ['select id from events', []],
      ['select id from events where id = $2', ['evt_same']],
    ] as const) {
      await assert.rejects(home.raw({ text, values }), (error: unknown) => {
        assert.ok(['08P01', '42P18'].includes(String(sqlStateOf(error))), String(error));
        return true;
      });
    }
  });

  test('is no executor: what takes any tenant’s SQL does not take it', () => {
    const home = open();
    assert.equal('query' in home, false);
    assert.equal('schema' in home, false);
  });

  test('goes back to a savepoint and keeps what came before it', async () => {
    const home = open();
    await home.transaction(async (tx) => {
      await insertEvent(tx, 'evt_kept');
      await tx.savepoint('unlinked');
      await insertEvent(tx, 'evt_undone');
      await tx.rollbackTo('unlinked');
    });
    assert.deepEqual(await listIds(home), ['evt_kept']);
  });

  test('acts after the commit, and not after a rollback', async () => {
    const home = open();
    const acted: string[] = [];
    await home.transaction(async (tx) => tx.afterCommit(() => acted.push('committed')));
    const undone = home.transaction(async (tx) => {
      tx.afterCommit(() => acted.push('rolled back'));
      throw new Error('undone');
    });
    await assert.rejects(undone, /undone/);
    assert.deepEqual(acted, ['committed']);
  });
});

async function insertEvent(db: TenantDb, id: string): Promise<void> {
  await db.insertInto('events').values({ id, type: 'run.completed', actor: null, data: '{}' }).execute();
}

async function listIds(db: TenantDb): Promise<string[]> {
  const built = await db.selectFrom('events').select('id').orderBy('id').execute();
  const { rows } = await db.raw<{ id: string }>({ text: 'select id from events where project_id = $1 order by id' });
  assert.deepEqual(rows, built);
  return rows.map(({ id }) => id);
}
