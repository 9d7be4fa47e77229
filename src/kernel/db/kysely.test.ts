import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { CompiledQuery, type Generated, type Kysely, sql } from 'kysely';
import { describeOnEachStore } from '../../../test/support/database.ts';
import type { Executor } from './database.ts';
import { pageById, scoped, unscoped } from './kysely.ts';

interface Tables {
  smith: { project_id: Generated<string>; id: string; name: string; rank: number; owner_id: string | null };
  owner: { project_id: Generated<string>; id: string; name: string };
  organization: { id: string; name: string };
}
type Db = Kysely<Tables>;

const tables: ReadonlySet<string> = new Set(['smith', 'owner']);
const mine = 'project-a';
const foreign = 'project-b';

const schema = `
  create table owner (project_id text not null, id text not null, name text not null, primary key (project_id, id));
  create unique index on owner (name);
  create table smith (project_id text not null, id text not null, name text not null, rank int not null,
    owner_id text, primary key (project_id, id));
  create table organization (id text primary key, name text not null);
`;

/** Both tenants have the same ids, so that only the tenant's column tells their rows apart. */
async function fill(executor: Executor): Promise<void> {
  const db = unscoped<Tables>(executor);
  await db.deleteFrom('smith').execute();
  await db.deleteFrom('owner').execute();
  for (const project_id of [mine, foreign]) {
    const owners = [1, 2, 3].map((n) => ({ project_id, id: `o${n}`, name: `${project_id} owner ${n}` }));
    await db.insertInto('owner').values(owners).execute();
    const smiths = [1, 2, 3, 4, 5].map((n) => ({
      project_id,
      id: `s${n}`,
      name: `${project_id} smith ${n}`,
      rank: n,
      owner_id: n === 5 ? null : `o${1 + (n % 3)}`,
    }));
    await db.insertInto('smith').values(smiths).execute();
  }
}

async function foreignRows(executor: Executor): Promise<unknown> {
  const db = unscoped<Tables>(executor);
  const smiths = await db.selectFrom('smith').selectAll().where('project_id', '=', foreign).orderBy('id').execute();
  const owners = await db.selectFrom('owner').selectAll().where('project_id', '=', foreign).orderBy('id').execute();
  return { smiths, owners };
}

/** Reads in every position that a table can stand in. */
const reads: Record<string, (db: Db) => Promise<unknown[]>> = {
  select: (db) => db.selectFrom('smith').selectAll().execute(),
  alias: (db) => db.selectFrom('smith as s').selectAll('s').execute(),
  'two tables': (db) => db.selectFrom(['smith', 'owner']).select(['smith.name', 'owner.name as by']).execute(),
  'a condition with a bare or': (db) => db.selectFrom('smith').selectAll().where(sql<boolean>`true or true`).execute(),
  'an or of the builder': (db) =>
    db
      .selectFrom('smith')
      .selectAll()
      .where((eb) => eb.or([eb('rank', '>', 0), eb('rank', '<', 9)]))
      .execute(),
  'inner join': (db) =>
    db
      .selectFrom('smith')
      .innerJoin('owner', 'owner.id', 'smith.owner_id')
      .select(['smith.name', 'owner.name as by'])
      .execute(),
  'left join': (db) =>
    db
      .selectFrom('smith as s')
      .leftJoin('owner as o', (join) => join.onRef('o.id', '=', 's.owner_id'))
      .select(['s.name', 'o.name as by'])
      .execute(),
  'a join whose condition has a bare or': (db) =>
    db
      .selectFrom('smith')
      .leftJoin('owner', (join) => join.on(sql<boolean>`true or true`))
      .select(['smith.name', 'owner.name as by'])
      .execute(),
  'cross join': (db) => db.selectFrom('smith').crossJoin('owner').select(['smith.name', 'owner.name as by']).execute(),
  'a join on true': (db) =>
    db
      .selectFrom('smith')
      .innerJoin('owner', (join) => join.onTrue())
      .select(['smith.name', 'owner.name as by'])
      .execute(),
  'lateral join': (db) =>
    db
      .selectFrom('owner')
      .innerJoinLateral(
        (eb) => eb.selectFrom('smith').select('smith.name as top').orderBy('rank', 'desc').limit(9).as('best'),
        (join) => join.onTrue(),
      )
      .select(['owner.name', 'best.top'])
      .execute(),
  'a subquery as a table': (db) =>
    db
      .selectFrom((eb) => eb.selectFrom('smith').selectAll().as('inside'))
      .selectAll()
      .execute(),
  'a subquery as a value': (db) =>
    db
      .selectFrom('smith')
      .select((eb) => [
        'smith.name',
        eb
          .selectFrom('owner')
          .select((inner) => inner.fn.countAll<number>().as('n'))
          .as('owners'),
      ])
      .execute(),
  'a subquery in a condition': (db) =>
    db
      .selectFrom('smith')
      .selectAll()
      .where((eb) => eb.exists(eb.selectFrom('owner').select('owner.id').where('owner.name', 'like', `${foreign}%`)))
      .execute(),
  'a subquery in a list': (db) =>
    db
      .selectFrom('smith')
      .select('name')
      .where('owner_id', 'in', (eb) => eb.selectFrom('owner').select('owner.id'))
      .execute(),
  'a subquery in the order': (db) =>
    db
      .selectFrom('smith')
      .select('name')
      .orderBy((eb) => eb.selectFrom('owner').select((inner) => inner.fn.max('owner.name').as('m')))
      .execute(),
  with: (db) =>
    db
      .with('strong', (q) => q.selectFrom('smith').selectAll())
      .selectFrom('strong')
      .selectAll()
      .execute(),
  'with inside with': (db) =>
    db
      .with('first', (q) => q.selectFrom('smith').selectAll())
      .with('second', (q) =>
        q
          .selectFrom('first')
          .innerJoin('owner', (j) => j.onTrue())
          .select(['first.name', 'owner.id']),
      )
      .selectFrom('second')
      .selectAll()
      .execute(),
  'with recursive': (db) =>
    db
      .withRecursive('chain(id, rank)', (q) =>
        q
          .selectFrom('smith')
          .select(['smith.id', 'smith.rank'])
          .where('rank', '=', 1)
          .unionAll((u) =>
            u
              .selectFrom('chain')
              .innerJoin('smith', (join) => join.on(sql<boolean>`smith.rank = chain.rank + 1`))
              .select(['smith.id', 'smith.rank']),
          ),
      )
      .selectFrom('chain')
      .selectAll()
      .execute(),
  union: (db) =>
    db
      .selectFrom('smith')
      .select('name')
      .union((eb) => eb.selectFrom('owner').select('name'))
      .execute(),
  'group and having': (db) =>
    db
      .selectFrom('smith')
      .select(['owner_id', (eb) => eb.fn.countAll<number>().as('n')])
      .groupBy('owner_id')
      .having(
        (eb) => eb.fn.countAll<number>(),
        '<=',
        (eb) => eb.selectFrom('owner').select((i) => i.fn.countAll<number>().as('n')),
      )
      .execute(),
  'a call as a table': (db) =>
    db
      .selectFrom(sql<{ n: number }>`unnest(array[1, 2])`.as(sql`numbers(n)`) as never)
      .select(sql<number>`1`.as('one'))
      .execute(),
  'for update': (db) => db.selectFrom('smith').selectAll().forUpdate().execute(),
  'no table': (db) => db.selectNoFrom(sql<number>`1`.as('one')).execute(),
  page: (db) => pageById(db.selectFrom('smith').selectAll(), 'smith.id', { limit: 10, after: 's9' }).execute(),
};

const writes: Record<string, (db: Db) => Promise<unknown>> = {
  insert: (db) => db.insertInto('owner').values({ id: 'o9', name: 'new' }).returningAll().execute(),
  'insert several': (db) =>
    db
      .insertInto('owner')
      .values([
        { id: 'o8', name: 'new' },
        { id: 'o9', name: sql<string>`upper('new')` },
      ])
      .returningAll()
      .execute(),
  'insert from a query': (db) =>
    db
      .insertInto('owner')
      .columns(['id', 'name'])
      .expression((eb) => eb.selectFrom('smith').select(['smith.id', 'smith.name']))
      .returningAll()
      .execute(),
  'insert or update': (db) =>
    db
      .insertInto('owner')
      .values({ id: 'o1', name: 'again' })
      .onConflict((oc) => oc.columns(['project_id', 'id']).doUpdateSet((eb) => ({ name: eb.ref('excluded.name') })))
      .returningAll()
      .execute(),
  'insert or nothing': (db) =>
    db
      .insertInto('owner')
      .values({ id: 'o1', name: 'again' })
      .onConflict((oc) => oc.doNothing())
      .returningAll()
      .execute(),
  update: (db) => db.updateTable('smith').set({ name: 'changed' }).returningAll().execute(),
  'update with an alias': (db) => db.updateTable('smith as s').set({ name: 'changed' }).returningAll().execute(),
  'update from': (db) =>
    db
      .updateTable('smith')
      .from('owner')
      .set((eb) => ({ name: eb.ref('owner.name') }))
      .whereRef('owner.id', '=', 'smith.owner_id')
      .returningAll('smith')
      .execute(),
  'update to a subquery': (db) =>
    db
      .updateTable('smith')
      .set((eb) => ({ name: eb.selectFrom('owner').select((i) => i.fn.max('owner.name').as('m')) }) as never)
      .returningAll()
      .execute(),
  delete: (db) => db.deleteFrom('smith').returningAll().execute(),
  'delete using': (db) =>
    db.deleteFrom('smith').using('owner').whereRef('owner.id', '=', 'smith.owner_id').returningAll().execute(),
  'delete in with': (db) =>
    db
      .with('gone', (q) => q.deleteFrom('smith').returningAll())
      .selectFrom('gone')
      .selectAll()
      .execute(),
  'delete with a bare or': (db) => db.deleteFrom('smith').where(sql<boolean>`true or true`).returningAll().execute(),
};

const refused: Record<string, (db: Db) => Promise<unknown>> = {
  'a table that is no tenant table': (db) => db.selectFrom('organization').selectAll().execute(),
  'such a table joined': (db) =>
    db
      .selectFrom('smith')
      .innerJoin('organization', (join) => join.onTrue())
      .select('smith.id')
      .execute(),
  'such a table inside WITH of its own name': (db) =>
    db
      .with('organization', (q) => q.selectFrom('organization').selectAll())
      .selectFrom('organization')
      .selectAll()
      .execute(),
  'such a table after a WITH of an inner query': (db) =>
    db
      .selectFrom(
        db
          .with('organization', (q) => q.selectFrom('smith').select(['id', 'name']))
          .selectFrom('organization')
          .select('organization.id as key')
          .as('x'),
      )
      .innerJoin('organization', (join) => join.onTrue())
      .select('x.key')
      .execute(),
  'WITH that hides a tenant table': (db) =>
    db
      .with('smith', (q) => q.selectFrom('smith').selectAll())
      .selectFrom('smith')
      .selectAll()
      .execute(),
  'a schema': (db) => db.withSchema('public').selectFrom('smith').selectAll().execute(),
  'right join': (db) =>
    db.selectFrom('smith').rightJoin('owner', 'owner.id', 'smith.owner_id').select('owner.id').execute(),
  'full join': (db) =>
    db.selectFrom('smith').fullJoin('owner', 'owner.id', 'smith.owner_id').select('owner.id').execute(),
  merge: (db) =>
    db.mergeInto('smith').using('owner', 'owner.id', 'smith.owner_id').whenMatched().thenDelete().execute(),
  'insert with the tenant’s column': (db) =>
    db.insertInto('owner').values({ project_id: foreign, id: 'o9', name: 'x' }).execute(),
  'update of the tenant’s column': (db) => db.updateTable('owner').set({ project_id: foreign }).execute(),
  'conflict that sets the tenant’s column': (db) =>
    db
      .insertInto('owner')
      .values({ id: 'o1', name: 'x' })
      .onConflict((oc) => oc.columns(['project_id', 'id']).doUpdateSet({ project_id: foreign }))
      .execute(),
  'insert from a union': (db) =>
    db
      .insertInto('owner')
      .columns(['id', 'name'])
      .expression((eb) =>
        eb
          .selectFrom('smith')
          .select(['id', 'name'])
          .union(eb.selectFrom('smith').select(['id', 'name'])),
      )
      .execute(),
  'a raw statement': (db) => sql`select * from smith`.execute(db),
  'a raw subquery': (db) => db.selectFrom('smith').select(sql<number>`(select count(*) from smith)`.as('n')).execute(),
  'a raw table': (db) =>
    db
      .selectFrom(sql<Tables['smith']>`smith`.as('s') as never)
      .select(sql`1`.as('one'))
      .execute(),
  'a raw table behind a call': (db) =>
    db
      .selectFrom(sql`unnest(array[1]), smith`.as('s') as never)
      .select(sql`1`.as('one'))
      .execute(),
  'sql.table': (db) =>
    db
      .selectFrom(sql.table('smith').as('s') as never)
      .select(sql`1`.as('one'))
      .execute(),
  'raw SQL that closes a parenthesis': (db) =>
    db.selectFrom('smith').selectAll().where(sql<boolean>`true) or (true`).execute(),
  'raw SQL with a comment': (db) => db.selectFrom('smith').selectAll().where(sql<boolean>`true --`).execute(),
  'a query compiled elsewhere': (db) => db.executeQuery(CompiledQuery.raw('select * from smith')),
  'a query compiled without the scope': async (db) =>
    db.executeQuery(
      unscoped<Tables>({ query: () => Promise.reject(new Error('never')), wake: () => {} })
        .selectFrom('smith')
        .selectAll()
        .compile(),
    ),
  'a change of the schema': (db) => db.schema.dropTable('smith').execute(),
  'a transaction of Kysely': (db) =>
    db.transaction().execute(async (tx) => tx.selectFrom('smith').selectAll().execute()),
  stream: async (db) => {
    for await (const row of db.selectFrom('smith').selectAll().stream()) return row;
    return undefined;
  },
};

describeOnEachStore('a handle scoped to a tenant', { sources: [] }, (current) => {
  const database = (): Executor => current().db;
  const db = (): Db => scoped<Tables>(database(), { column: 'project_id', value: mine, tables });
  before(async () => {
    await database().query({ text: schema });
  });

  describe('shows no foreign row', () => {
    before(() => fill(database()));
    for (const [name, read] of Object.entries(reads)) {
      it(name, async () => {
        const text = JSON.stringify(await read(db()));
        assert.ok(text.length > 2 || name.includes('condition'), 'the query finds its own rows');
        assert.ok(!text.includes(foreign), text);
      });
    }

    it('a subquery counts its own rows alone', async () => {
      const counts = await db()
        .selectFrom('owner')
        .select((eb) =>
          eb
            .selectFrom('smith')
            .select((i) => i.fn.countAll<number>().as('n'))
            .as('smiths'),
        )
        .execute();
      assert.deepEqual(
        counts.map(({ smiths }) => smiths),
        [5, 5, 5],
      );
    });

    it('a left join keeps the rows that have no partner', async () => {
      const rows = await db()
        .selectFrom('smith')
        .leftJoin('owner', 'owner.id', 'smith.owner_id')
        .select(['smith.id', 'owner.id as owner'])
        .orderBy('smith.id')
        .execute();
      assert.equal(rows.length, 5);
      assert.equal(rows.at(-1)?.owner, null);
    });

    it('also without plugins', async () => {
      const rows = await db().withoutPlugins().selectFrom('smith').selectAll().execute();
      assert.equal(rows.length, 5);
    });
  });

  describe('changes no foreign row', () => {
    for (const [name, write] of Object.entries(writes)) {
      it(name, async () => {
        await fill(database());
        const untouched = await foreignRows(database());
        const answer = JSON.stringify(await write(db()));
        assert.ok(answer.includes(mine) || name === 'insert or nothing', answer);
        assert.ok(!answer.includes(foreign), answer);
        assert.deepEqual(await foreignRows(database()), untouched);
      });
    }
  });

  describe('refuses', () => {
    before(() => fill(database()));
    for (const [name, run] of Object.entries(refused)) {
      it(name, async () => {
        await assert.rejects(
          run(db()),
          (error) =>
            error instanceof Error &&
            !('severity' in error) &&
            /use|build|turn|leave|name|put|choose|must|read|select/.test(error.message),
        );
        assert.equal((await unscoped<Tables>(database()).selectFrom('smith').selectAll().execute()).length, 10);
      });
    }
  });

  it('answers any query as if other tenants did not exist', async () => {
    await fill(database());
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(1000), { minLength: 40, maxLength: 40 }), async (choices) => {
        const build = (): Promise<unknown> => randomQuery(db(), choices[Symbol.iterator]()).execute();
        const among = await build();
        let alone: unknown;
        await current()
          .db.transaction(async (tx) => {
            const all = unscoped<Tables>(tx);
            await all.deleteFrom('smith').where('project_id', '=', foreign).execute();
            await all.deleteFrom('owner').where('project_id', '=', foreign).execute();
            alone = await randomQuery(
              scoped<Tables>(tx, { column: 'project_id', value: mine, tables }),
              choices[Symbol.iterator](),
            ).execute();
            throw new Error('undo');
          })
          .catch((error: unknown) => assert.match(String(error), /undo/));
        assert.deepEqual(among, alone);
      }),
      { numRuns: 150 },
    );
  });

  it('rows of other tenants in using and from match nothing', async () => {
    await fill(database());
    const deleted = await db()
      .deleteFrom('smith')
      .using('owner')
      .whereRef('owner.id', '=', 'smith.owner_id')
      .where('owner.name', 'like', `${foreign}%`)
      .executeTakeFirst();
    assert.equal(deleted.numDeletedRows, 0n);
    const updated = await db()
      .updateTable('smith')
      .from('owner')
      .set({ name: 'changed' })
      .where('owner.name', 'like', `${foreign}%`)
      .executeTakeFirst();
    assert.equal(updated.numUpdatedRows, 0n);
  });

  it('a conflict with a foreign row, over an index that spans tenants, changes nothing', async () => {
    await fill(database());
    const untouched = await foreignRows(database());
    const rows = await db()
      .insertInto('owner')
      .values({ id: 'o9', name: `${foreign} owner 1` })
      .onConflict((oc) => oc.column('name').doUpdateSet({ name: 'stolen' }))
      .returningAll()
      .execute();
    assert.deepEqual(rows, []);
    assert.deepEqual(await foreignRows(database()), untouched);
  });

  it('counts what a statement changed', async () => {
    await fill(database());
    const result = await db().updateTable('smith').set({ rank: 0 }).where('rank', '>', 3).executeTakeFirst();
    assert.equal(result.numUpdatedRows, 2n);
  });

  it('works inside a transaction of the port', async () => {
    await fill(database());
    await assert.rejects(
      current().db.transaction(async (tx) => {
        const inside = scoped<Tables>(tx, { column: 'project_id', value: mine, tables });
        await inside.deleteFrom('smith').execute();
        assert.equal((await inside.selectFrom('smith').selectAll().execute()).length, 0);
        throw new Error('undo');
      }),
      /undo/,
    );
    assert.equal((await db().selectFrom('smith').selectAll().execute()).length, 5);
  });

  it('pages through all rows once, newest first or oldest first', async () => {
    await fill(database());
    for (const order of ['desc', 'asc'] as const) {
      const seen: string[] = [];
      let after: string | undefined;
      for (;;) {
        const rows = await pageById(db().selectFrom('smith').select('id'), 'smith.id', {
          limit: 2,
          after,
          order,
        }).execute();
        seen.push(...rows.slice(0, 2).map(({ id }) => id));
        if (rows.length <= 2) break;
        after = seen.at(-1);
      }
      const expected = ['s1', 's2', 's3', 's4', 's5'];
      assert.deepEqual(seen, order === 'asc' ? expected : expected.reverse());
    }
  });
});

/** Nests joins, subqueries, WITH and conditions at random; every row and column that it returns is ordered. */
function randomQuery(db: Db, choices: Iterator<number>) {
  const pick = (count: number): number => Number(choices.next().value ?? 0) % count;
  let query = db
    .with('named', (q) => {
      const base = q.selectFrom('smith as n').select(['n.id as key', 'n.name as label']);
      return pick(2) === 0 ? base : base.where('n.rank', '>', pick(5));
    })
    .selectFrom('smith as s')
    .select(['s.id', 's.name'])
    .orderBy('s.id')
    .orderBy('s.name');
  for (let step = 0, steps = pick(5); step < steps; step += 1) {
    switch (pick(7)) {
      case 0:
        query = query.where((eb) => eb.or([eb('s.rank', '>', pick(5)), eb.not(eb('s.rank', '=', pick(5)))]));
        break;
      case 1:
        query = query.where((eb) =>
          eb(
            's.owner_id',
            pick(2) === 0 ? 'in' : 'not in',
            eb
              .selectFrom('owner')
              .select('owner.id')
              .where('owner.name', 'like', `%${pick(4)}`),
          ),
        );
        break;
      case 2:
        query = query.where((eb) =>
          eb(
            's.rank',
            '<',
            eb.selectFrom('smith').select((i) => i.fn.countAll<number>().as('n')),
          ),
        );
        break;
      case 3:
        query = query.where((eb) => {
          const exists = eb.exists(
            eb
              .selectFrom('owner as e')
              .leftJoin('smith as f', 'f.owner_id', 'e.id')
              .select('e.id')
              .whereRef('f.rank', '>', 's.rank'),
          );
          return pick(2) === 0 ? exists : eb.not(exists);
        });
        break;
      case 4:
        query = query.where(sql<boolean>`s.rank > ${pick(5)} or s.rank < ${pick(5)}`);
        break;
      case 5:
        query = query.where((eb) => eb('s.id', 'in', eb.selectFrom('named').select('named.key')));
        break;
      default:
        query = query.where((eb) =>
          eb(
            's.name',
            'in',
            eb.selectFrom('smith').select('smith.name').union(eb.selectFrom('owner as u').select('u.name')),
          ),
        );
    }
  }
  return query;
}
