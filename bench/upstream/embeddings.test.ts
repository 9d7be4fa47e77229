import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createVectors, EMBEDDING_DIMENSIONS, renderEmbeddings } from './embeddings.ts';

it('every vector is another one of length 1', () => {
  const next = createVectors();
  const texts = Array.from({ length: 3000 }, () => next());
  assert.equal(new Set(texts).size, texts.length);
  for (const text of [texts[0], texts[70], texts[2999]]) {
    const vector: number[] = JSON.parse(text ?? '');
    assert.equal(vector.length, EMBEDDING_DIMENSIONS);
    assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-3);
  }
});

it('the answer has a vector for each input, in order', () => {
  const answer = JSON.parse(renderEmbeddings('vectors', ['one', 'two'], createVectors()));
  assert.deepEqual(
    answer.data.map(({ index, embedding }: { index: number; embedding: number[] }) => [index, embedding.length]),
    [
      [0, EMBEDDING_DIMENSIONS],
      [1, EMBEDDING_DIMENSIONS],
    ],
  );
  assert.equal(answer.usage.total_tokens, 2);
});
