import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  createTestEmbedders,
  embedWords,
  type SeedFile,
  seedProject,
  seedVectorStore,
} from '../../../../test/knowledge/seed-vector-store.ts';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { createKnowledgeSearch, type SearchHit, type SearchRequest } from './index.ts';

const file = (id: string, ...chunks: SeedFile['chunks']): SeedFile => ({ id, chunks });
const textsOf = (hits: readonly SearchHit[]): string[] => hits.map((hit) => hit.text);

describeOnEachStore('knowledge search', {}, (current) => {
  async function open(embed?: Parameters<typeof createTestEmbedders>[0]) {
    const { db } = current();
    const projectId = await seedProject(db);
    const embedders = createTestEmbedders(embed);
    const search = createKnowledgeSearch({ db, embedders });
    return {
      db,
      projectId,
      embedders,
      seed: (id: string, files: readonly SeedFile[], more = {}) =>
        seedVectorStore(db, projectId, { id, files, ...more }),
      find: (query: string | readonly string[], more: Partial<SearchRequest> = {}) =>
        search.search({
          projectId,
          vectorStoreIds: ['vs_1'],
          queries: typeof query === 'string' ? [query] : query,
          maxResults: 10,
          ...more,
        }),
    };
  }

  it('finds a chunk with everything that a result shows', async () => {
    const { seed, find } = await open();
    await seed('vs_1', [
      { id: 'file_a', chunks: ['apples grow on trees', 'bread is baked'], attributes: { kind: 'fruit', year: 2020 } },
    ]);
    const { hits, hasMore } = await find('baked bread', { maxResults: 1 });
    assert.deepEqual(
      hits.map(({ score, ...hit }) => hit),
      [
        {
          vectorStoreId: 'vs_1',
          fileId: 'file_a',
          filename: 'file_a.txt',
          attributes: { kind: 'fruit', year: 2020 },
          position: 1,
          text: 'bread is baked',
        },
      ],
    );
    assert.equal(hasMore, true);
  });

  it('gives scores in 0..1, as documented: the weighted mean of cosine and the share of words', async () => {
    const { seed, find } = await open((text) => (text === 'alpha beta' ? [1, 0] : [0, 1]));
    await seed('vs_1', [
      file(
        'file_a',
        { text: 'alpha beta', vector: [1, 0] },
        { text: 'gamma', vector: [3, 4] },
        { text: 'beta', vector: [-1, 0] },
      ),
    ]);
    const scores = async (embeddingWeight: number, textWeight: number) => {
      const { hits } = await find('alpha beta', { ranking: { embeddingWeight, textWeight } });
      return Object.fromEntries(hits.map(({ text, score }) => [text, score]));
    };
    const near = (actual: number | undefined, expected: number) =>
      assert.ok(actual !== undefined && Math.abs(actual - expected) < 1e-3, `${actual} is not ${expected}`);
    const meaning = await scores(2, 0);
    near(meaning['alpha beta'], 1);
    near(meaning.gamma, 0.6);
    near(meaning.beta, 0);
    // Rarities among three chunks: alpha in one of them, beta in two.
    const [alpha, beta, once] = [Math.log(1 + 2.5 / 1.5), Math.log(1 + 1.5 / 2.5), 6 / Math.PI ** 2];
    const text = await scores(0, 3);
    near(text['alpha beta'], once);
    near(text.beta, (once * beta) / (alpha + beta));
    assert.equal(text.gamma, undefined);
    const both = await scores(3, 1);
    near(both['alpha beta'], (3 + once) / 4);
    near(both.gamma, (3 * 0.6) / 4);
  });

  it('leaves out what scores below the threshold', async () => {
    const { seed, find } = await open();
    await seed('vs_1', [file('file_a', 'red green blue', 'red yellow violet', 'nothing of that')]);
    const all = await find('red green blue');
    const [first, second] = all.hits;
    assert.ok(first && second && first.score > second.score);
    const some = await find('red green blue', { ranking: { scoreThreshold: (first.score + second.score) / 2 } });
    assert.deepEqual(textsOf(some.hits), ['red green blue']);
    assert.equal(some.hasMore, false);
  });

  it('counts words by their stem, without accents and stop words, and inside of paths', async () => {
    const { seed, find } = await open();
    await seed('vs_1', [
      file(
        'file_a',
        'Die Straße nach München',
        'a runner was running',
        'see src/kernel/open_port.ts',
        '東京は日本の首都',
        'the of and is',
      ),
    ]);
    const words = async (query: string) => textsOf((await find(query, { ranking: { embeddingWeight: 0 } })).hits);
    assert.deepEqual(await words('Munchen'), ['Die Straße nach München']);
    assert.deepEqual(await words('it runs'), ['a runner was running']);
    assert.deepEqual(await words('port'), ['see src/kernel/open_port.ts']);
    assert.deepEqual(await words('日本'), ['東京は日本の首都']);
    assert.deepEqual(await words('the of and'), []);
    assert.deepEqual(await words(`'quoted' & | ! \\ :* <-> file:file_a store:vs_1`), []);
  });

  it('has the similarity alone as the score of a query of stop words', async () => {
    const { seed, find } = await open(() => [1, 0]);
    await seed('vs_1', [file('file_a', { text: 'x', vector: [1, 0] })]);
    const { hits } = await find('to be or not to be');
    assert.equal(hits[0]?.score, 1);
  });

  it('takes each chunk once with the best score among the queries, embedding them together', async () => {
    const { seed, find, embedders } = await open();
    await seed('vs_1', [file('file_a', 'cats sleep', 'dogs bark', 'cats chase dogs')]);
    const one = await find('cats sleep');
    const both = await find(['cats sleep', 'dogs bark']);
    assert.equal(both.hits.length, 3);
    const scoreOf = (hits: readonly SearchHit[], text: string) => hits.find((hit) => hit.text === text)?.score;
    assert.equal(scoreOf(both.hits, 'cats sleep'), scoreOf(one.hits, 'cats sleep'));
    assert.equal(both.hits[2]?.text, 'cats chase dogs');
    assert.deepEqual(embedders.calls.at(-1)?.texts, ['cats sleep', 'dogs bark']);
  });

  it('embeds once for each model, and not at all where words alone count', async () => {
    const { seed, find, embedders } = await open((text, model) => (model === 'a/one' ? [1, 0] : embedWords(text)));
    await seed('vs_1', [file('file_a', { text: 'one apple', vector: [0, 1] })], { model: 'a/one' });
    await seed('vs_2', [file('file_b', 'two apples')], { model: 'b/two' });
    await seed('vs_3', [file('file_c', 'three apples')], { model: 'b/two' });
    const stores = { vectorStoreIds: ['vs_1', 'vs_2', 'vs_3'] };
    const { hits } = await find('apples', stores);
    assert.deepEqual(hits.map((hit) => hit.vectorStoreId).sort(), ['vs_1', 'vs_2', 'vs_3']);
    assert.deepEqual(
      embedders.calls.map(({ model }) => model),
      ['a/one', 'b/two'],
    );
    await find('apples', { ...stores, ranking: { embeddingWeight: 0, textWeight: 1 } });
    assert.equal(embedders.calls.length, 2);
  });

  it('sees completed files of live stores of the own project alone', async () => {
    const { seed, find, db } = await open();
    await seed('vs_1', [
      file('file_a', 'apple one'),
      { ...file('file_b', 'apple two'), status: 'in_progress' },
      { ...file('file_c', 'apple three'), status: 'failed' },
      { ...file('file_d', 'apple four'), status: 'cancelled' },
    ]);
    await seed('vs_gone', [file('file_e', 'apple five')], { deleted: true });
    const other = await seedProject(db);
    await seedVectorStore(db, other, { id: 'vs_1', files: [file('file_a', 'apple six')] });
    await seedVectorStore(db, other, { id: 'vs_other', files: [file('file_f', 'apple seven')] });
    const { hits } = await find('apple', { vectorStoreIds: ['vs_1', 'vs_gone', 'vs_other', 'vs_never', 'vs_1'] });
    assert.deepEqual(textsOf(hits), ['apple one']);
    for (const vectorStoreIds of [[], ['vs_gone'], ['vs_never']]) {
      assert.deepEqual(await find('apple', { vectorStoreIds }), { hits: [], hasMore: false });
    }
  });

  it('finds nothing in a store that is empty', async () => {
    const { seed, find, embedders } = await open();
    await seed('vs_1', []);
    assert.deepEqual(await find('apple'), { hits: [], hasMore: false });
    assert.equal(embedders.calls.length, 0);
  });

  it('keeps to the filter', async () => {
    const { seed, find } = await open();
    await seed('vs_1', [
      { id: 'file_a', chunks: ['apple old'], attributes: { year: 1990 } },
      { id: 'file_b', chunks: ['apple new'], attributes: { year: 2020 } },
      { id: 'file_c', chunks: ['apple bare'] },
    ]);
    const found = async (filter: SearchRequest['filter']) =>
      textsOf((await find('apple', { filter: filter ?? null })).hits).sort();
    assert.deepEqual(await found({ type: 'gt', key: 'year', value: 2000 }), ['apple new']);
    assert.deepEqual(await found({ type: 'ne', key: 'year', value: 2020 }), ['apple bare', 'apple old']);
    assert.deepEqual(await found({ type: 'eq', key: 'year', value: '2020' }), []);
    assert.deepEqual(await found(null), ['apple bare', 'apple new', 'apple old']);
  });

  it('compares with no vector of another length', async () => {
    const { seed, find } = await open(() => [1, 0, 0]);
    await seed('vs_1', [file('file_a', { text: 'apple', vector: [1, 0] }, { text: 'apples', vector: [1, 0, 0] })]);
    const { hits } = await find('pear', { ranking: { embeddingWeight: 1, textWeight: 0 } });
    assert.deepEqual(
      hits.map(({ text, score }) => [text, score]),
      [
        ['apples', 1],
        ['apple', 0],
      ],
    );
  });

  it('pages through the same order that one page shows, equals by file and position, 1,000 deep at most', async () => {
    const { seed, find } = await open(() => [1, 0]);
    const chunks = (count: number) => Array.from({ length: count }, () => ({ text: 'same', vector: [1, 0] }));
    await seed('vs_1', [file('file_b', ...chunks(600)), file('file_a', ...chunks(600)), file('file_C', ...chunks(3))]);
    const seen: string[] = [];
    let pages = 0;
    for (let hasMore = true; hasMore; pages += 1) {
      const page = await find('same', { maxResults: 50, offset: seen.length });
      seen.push(...page.hits.map((hit) => `${hit.fileId} ${hit.position}`));
      hasMore = page.hasMore;
    }
    assert.equal(pages, 20);
    const ids = ['file_C', 'file_a', 'file_b'];
    const expected = ids.flatMap((id) => Array.from({ length: id === 'file_C' ? 3 : 600 }, (_, n) => `${id} ${n}`));
    assert.deepEqual(seen, expected.slice(0, 1000));
    assert.deepEqual(await find('same', { offset: 1000 }), { hits: [], hasMore: false });
  });

  it('refuses weights that are both zero, and sizes out of bounds', async () => {
    const { find } = await open();
    const refusals: [param: string, more: Partial<SearchRequest>][] = [
      ['ranking_options.hybrid_search', { ranking: { embeddingWeight: 0, textWeight: 0 } }],
      ['ranking_options.hybrid_search', { ranking: { embeddingWeight: -1, textWeight: 2 } }],
      ['max_num_results', { maxResults: 51 }],
      ['max_num_results', { maxResults: 0 }],
      ['query', { queries: [] }],
      ['query', { queries: Array(21).fill('x') }],
    ];
    for (const [param, more] of refusals) {
      await assert.rejects(find('x', more), (error) => {
        assert.ok(error instanceof ApiError && error.code === 'invalid_request', String(error));
        assert.equal(error.detail.param, param);
        return true;
      });
    }
  });

  it('takes weights of any size', async () => {
    const { seed, find } = await open(() => [1, 0]);
    await seed('vs_1', [file('file_a', { text: 'apple', vector: [1, 0] })]);
    const { hits } = await find('pear', {
      ranking: { embeddingWeight: Number.MAX_VALUE, textWeight: Number.MAX_VALUE },
    });
    assert.equal(hits[0]?.score, 0.5);
  });
});
