import assert from 'node:assert/strict';
import { it } from 'node:test';
import { rotate, summarizeRounds } from './comparison-job.ts';

const round = (direct: number, through: number) =>
  new Map([
    ['direct', { first: direct / 2, end: direct }],
    ['through', { first: through / 2, end: through }],
  ]);

it('what a way adds is taken within each round', () => {
  // The machine is ten times slower in the second half: the percentiles of the ways alone would differ by 4, then by 13.
  const rounds = [round(10, 14), round(10, 14), round(100, 104), round(100, 113)];
  const summaries = summarizeRounds(rounds, ['direct', 'through'], 'direct');
  assert.equal(summaries['through end added']?.p50, 4);
  assert.equal(summaries['through end added']?.p99, 13);
  assert.equal(summaries['through first added']?.p50, 2);
  assert.equal(summaries['direct end']?.max, 100);
  assert.equal(summaries['direct end added'], undefined);
});

it('each way takes each place, in the rounds of the warm-up too', () => {
  const names = ['a', 'b', 'c'];
  assert.deepEqual(
    [-1, 0, 1, 2, 3].map((each) => rotate(names, each).join('')),
    ['cab', 'abc', 'bca', 'cab', 'abc'],
  );
});
