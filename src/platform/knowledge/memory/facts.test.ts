import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addFact, listFacts, MAX_MEMORY_CHARS, mergeFacts } from './facts.ts';

const east = Float32Array.of(1, 0);
const nearlyEast = Float32Array.of(0.95, Math.sqrt(1 - 0.95 ** 2));
const north = Float32Array.of(0, 1);

test('a fact is a line that names its run; one that is known gains the run, once', () => {
  const first = addFact('Speaks Spanish.', 'Prefers tea', 'run_1') ?? '';
  assert.equal(first, 'Speaks Spanish.\n- Prefers tea (run_1)');
  assert.equal(addFact(first, 'Prefers tea', 'run_1'), first);
  assert.equal(addFact(first, 'prefers TEA', 'run_2'), 'Speaks Spanish.\n- Prefers tea (run_1, run_2)');
});

test('a memory that is full takes no further fact', () => {
  assert.equal(addFact('x'.repeat(MAX_MEMORY_CHARS), 'Prefers tea', 'run_1'), undefined);
});

test('facts that say the same are put into the newest words with the runs of all; the rest stays as it is', () => {
  const content = ['Notes', '- Likes tea (run_1)', '- Owns a boat (run_2)', 'More', '- Loves tea (run_3)'].join('\n');
  assert.equal(
    mergeFacts(content, [nearlyEast, north, east]),
    ['Notes', '- Owns a boat (run_2)', 'More', '- Loves tea (run_1, run_3)'].join('\n'),
  );
  assert.deepEqual(
    listFacts(content).map(({ line }) => line),
    [1, 2, 4],
  );
  assert.equal(mergeFacts(content, [east, north, Float32Array.of(-1, 0)]), content);
});
