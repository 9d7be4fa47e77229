import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  createTestEmbedders,
  type SeedFile,
  seedProject,
  seedVectorStore,
} from '../../../../test/knowledge/seed-vector-store.ts';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import type { Database, Statement } from '../../../kernel/db/database.ts';
import { createKnowledgeSearch } from './index.ts';
import { indexSettings, rankStatement } from './rank-chunks.ts';
import { INDEXED_DIMENSIONS, type RankedRow, type RankRequest, type ScanMethod } from './rank-request.ts';

const dimensions = INDEXED_DIMENSIONS[0] ?? 0;
const words = ['amber', 'birch', 'cedar', 'delta', 'ember', 'fjord'];

/** A generator of its own, so that every run sees the same chunks. */
function createRandom(): () => number {
  let state = 12345;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function makeVector(random: () => number, topic: number): number[] {
  return Array.from({ length: dimensions }, (_, n) => (n % 10 === topic ? 1 : 0) + random() * 0.6 - 0.3);
}

/** Chunks of ten topics; the words are common and rare. */
function makeFiles(count: number, chunks: number): SeedFile[] {
  const random = createRandom();
  return Array.from({ length: count }, (_, f) => ({
    id: `file_${f}`,
    attributes: { group: f % 4 },
    chunks: Array.from({ length: chunks }, (_, n) => ({
      text: words.filter((_, rank) => random() < 1 / (rank + 1.5)).join(' ') || 'nothing',
      vector: makeVector(random, (f + n) % 10),
    })),
  }));
}

describeOnEachStore('ranking chunks', {}, (current) => {
  const methods: readonly ScanMethod[] = ['every', 'compare', 'index'];

  async function rank(db: Database, request: RankRequest): Promise<RankedRow[]> {
    return db.transaction(async (tx) => {
      if (request.method === 'index') await tx.query(indexSettings(request.depth));
      return (await tx.query<RankedRow>(rankStatement(request))).rows;
    });
  }

  it('gives the same best chunks whichever way they are gone through', async () => {
    const { db } = current();
    const projectId = await seedProject(db);
    const files = makeFiles(20, 20);
    await seedVectorStore(db, projectId, { id: 'vs_1', files });
    // Another tenant's chunks stand in the same indexes.
    await seedVectorStore(db, await seedProject(db), { id: 'vs_1', files });
    const choices: [name: string, files: RankRequest['files'], chunkCount: number][] = [
      ['all files', { kind: 'all' }, 400],
      ['named files', { kind: 'ids', fileIds: ['file_3', 'file_7', 'file_11'] }, 60],
      ['files that pass a filter', { kind: 'filter', filter: { type: 'eq', key: 'group', value: 1 } }, 100],
    ];
    const random = createRandom();
    const vector = Float32Array.from(makeVector(random, 3));
    for (const [name, choice, chunkCount] of choices) {
      for (const half of ['hybrid', 'meaning', 'words']) {
        const base = {
          projectId,
          storeIds: ['vs_1'],
          files: choice,
          chunkCount,
          totalChunks: 400,
          vector: half === 'words' ? undefined : vector,
          words: half === 'meaning' ? [] : ['amber', 'delta', 'fjord'],
          embeddingWeight: 0.5,
          textWeight: 0.5,
          depth: 20,
        };
        const rankings = await Promise.all(methods.map((method) => rank(db, { ...base, method })));
        const keys = rankings.map((rows) =>
          rows.map((row) => `${row.file_id}/${row.position} ${row.score.toFixed(6)}`),
        );
        assert.equal(keys[0]?.length, 20, `${name}, ${half}`);
        assert.deepEqual(keys[2], keys[1], `${name}, ${half}: index`);
        // Behind a filter of many files a word's rarity is that in the whole store.
        if (choice.kind !== 'filter' || half === 'meaning')
          assert.deepEqual(keys[1], keys[0], `${name}, ${half}: compare`);
      }
    }
  });

  it('uses the index of vectors where there is one', async () => {
    const { db } = current();
    const request: RankRequest = {
      projectId: 'proj_x',
      storeIds: ['vs_1'],
      files: { kind: 'all' },
      chunkCount: 1,
      totalChunks: 1,
      method: 'index',
      vector: Float32Array.from(makeVector(createRandom(), 1)),
      words: [],
      embeddingWeight: 1,
      textWeight: 0,
      depth: 10,
    };
    const { text, values } = rankStatement(request);
    const plan = await db.transaction(async (tx) => {
      await tx.query(indexSettings(10));
      const { rows } = await tx.query<{ 'QUERY PLAN': string }>({ text: `explain ${text}`, values: values ?? [] });
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
    assert.equal(plan.includes(`vector_store_chunks_hnsw_${dimensions}`), db.kind === 'server', plan);
  });

  it('leaves no setting behind', async () => {
    const { db } = current();
    await db.transaction((tx) => tx.query(indexSettings(10)));
    const { rows } = await db.query({ text: `select current_setting('enable_sort') as sort`, values: [] });
    assert.deepEqual(rows, [{ sort: 'on' }]);
  });

  it('compares every vector where the index gives up too early', async (t) => {
    const { db } = current();
    if (db.kind === 'embedded') return t.skip('it has no index of vectors');
    const projectId = await seedProject(db);
    const files = makeFiles(10, 20).map((file) => ({ ...file, chunkCount: 100_000 }));
    await seedVectorStore(db, projectId, { id: 'vs_1', files });
    const statements: string[] = [];
    const search = createKnowledgeSearch({
      db: recordStatements(db, statements),
      embedders: createTestEmbedders(() => makeVector(createRandom(), 3)),
    });
    const { hits } = await search.search({
      projectId,
      vectorStoreIds: ['vs_1'],
      queries: ['amber'],
      maxResults: 50,
      ranking: { textWeight: 0 },
      offset: 150,
    });
    assert.equal(hits.length, 50);
    const rankings = statements.flatMap((text) => {
      if (text.includes(`order by c.embedding::halfvec(${dimensions}) <=>`)) return ['by the index'];
      return text.includes('order by c.embedding <=>') ? ['by comparison'] : [];
    });
    assert.deepEqual(rankings, ['by the index', 'by comparison']);
    return undefined;
  });
});

/** The same database, noting the text of each statement. */
function recordStatements(db: Database, texts: string[]): Database {
  const note = (statement: Statement): Statement => {
    texts.push(statement.text);
    return statement;
  };
  return {
    kind: db.kind,
    use: db.use,
    query: (statement) => db.query(note(statement)),
    transaction: (work) =>
      db.transaction((tx) =>
        work({
          query: (statement) => tx.query(note(statement)),
          afterCommit: (action) => tx.afterCommit(action),
          wake: (channel) => db.wake(channel),
          notify: (channel, payload) => tx.notify(channel, payload),
        }),
      ),
    wake: (channel) => db.wake(channel),
    notify: (channel, payload) => db.notify(channel, payload),
    listen: (channel, onMessage, onGap) => db.listen(channel, onMessage, onGap),
    ping: () => db.ping(),
    close: () => db.close(),
  };
}
