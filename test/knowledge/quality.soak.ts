/** Whether searches find what they should: recall@5 of each half alone and of both together, on a small set with answers. */
import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createOutbound } from '../../src/kernel/outbound/outbound.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { NO_CREDITS } from '../../src/platform/billing/index.ts';
import {
  BUILTIN_EMBED_MODEL,
  createBuiltinEmbedder,
  createEmbedders,
  type Embedders,
} from '../../src/platform/knowledge/embed/index.ts';
import { createKnowledgeSearch, type RankingOptions } from '../../src/platform/knowledge/search/index.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { PASSAGES, QUESTIONS } from './quality-set.ts';
import { seedProject, seedVectorStore } from './seed-vector-store.ts';

const DEPTH = 5;
const FLOOR = 0.95;

const variants: readonly (readonly [name: string, ranking: RankingOptions])[] = [
  ['words alone', { embeddingWeight: 0, textWeight: 1 }],
  ['meaning alone', { embeddingWeight: 1, textWeight: 0 }],
  ['hybrid, by default', {}],
];

describe('the quality of searches', () => {
  let database: TestDatabase;
  const builtin = createBuiltinEmbedder();
  let embedders: Embedders;
  let projectId: string;

  before(async () => {
    database = await openTestDatabase();
    const { db } = database;
    embedders = createEmbedders({
      db,
      vault: createVault([createSecretKey(randomBytes(32))]),
      outbound: createOutbound({ allow: [] }),
      allowPrivate: false,
      credits: NO_CREDITS,
      builtin,
    });
    projectId = await seedProject(db);
    const embedder = await embedders.open(projectId, BUILTIN_EMBED_MODEL);
    const texts = Object.values(PASSAGES);
    const { vectors } = await embedder.embed(texts);
    const chunks = texts.map((text, index) => ({ text, vector: [...(vectors[index] ?? [])] }));
    const files = Object.keys(PASSAGES).map((id, index) => ({ id, chunks: chunks.slice(index, index + 1) }));
    await seedVectorStore(db, projectId, { id: 'vs_1', model: BUILTIN_EMBED_MODEL, files });
  });

  after(async () => {
    await builtin.close();
    await database?.close();
  });

  async function rankOf(question: string, answer: string, ranking: RankingOptions): Promise<number> {
    const search = createKnowledgeSearch({ db: database.db, embedders });
    const request = { projectId, vectorStoreIds: ['vs_1'], queries: [question], maxResults: 20, ranking };
    const { hits } = await search.search(request);
    return hits.findIndex((hit) => hit.fileId === answer) + 1 || Number.POSITIVE_INFINITY;
  }

  it('is at least as good by both halves as by either', async (t) => {
    const recalls = new Map<string, number>();
    t.diagnostic(`${QUESTIONS.length} questions on ${Object.keys(PASSAGES).length} passages`);
    t.diagnostic(`${'ranking'.padEnd(20)} recall@1  recall@${DEPTH}  MRR@20`);
    for (const [name, ranking] of variants) {
      const ranks: number[] = [];
      for (const [question, answer] of QUESTIONS) ranks.push(await rankOf(question, answer, ranking));
      const share = (depth: number) => ranks.filter((rank) => rank <= depth).length / ranks.length;
      const reciprocal = ranks.reduce((sum, rank) => sum + 1 / rank, 0) / ranks.length;
      recalls.set(name, share(DEPTH));
      const figures = [share(1), share(DEPTH), reciprocal].map((figure) => figure.toFixed(3).padStart(8));
      t.diagnostic(`${name.padEnd(20)} ${figures.join('  ')}`);
      const missed = QUESTIONS.filter((_, index) => (ranks[index] ?? 0) > DEPTH).map(([question]) => question);
      if (missed.length > 0) t.diagnostic(`  missed: ${missed.join(' | ')}`);
    }
    const [words = 0, meaning = 0, hybrid = 0] = variants.map(([name]) => recalls.get(name));
    assert.ok(hybrid >= words && hybrid >= meaning, `${hybrid} against ${words} and ${meaning}`);
    assert.ok(hybrid >= FLOOR, `${hybrid} is below ${FLOOR}`);
  });
});
