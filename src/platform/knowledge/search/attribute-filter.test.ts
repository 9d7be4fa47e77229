import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../../kernel/http/errors.ts';
import { MAX_FILTER_COMPARISONS, MAX_FILTER_DEPTH, MAX_FILTER_LIST, parseFilter } from './attribute-filter.ts';

function nest(depth: number): unknown {
  return depth === 1 ? { type: 'eq', key: 'k', value: 1 } : { type: 'and', filters: [nest(depth - 1)] };
}

function refusedParam(filter: unknown): string | undefined {
  try {
    parseFilter(filter, 'filters');
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.code, 'invalid_request');
    return error.detail.param;
  }
  return assert.fail(`accepted ${JSON.stringify(filter)}`);
}

describe('a filter', () => {
  it('is taken over with its ten types, and without members that no filter has', () => {
    const filter = {
      type: 'or',
      filters: [
        { type: 'eq', key: 'a', value: true },
        { type: 'ne', key: 'a', value: 'x' },
        { type: 'gt', key: 'a', value: 1 },
        { type: 'gte', key: 'a', value: 1.5 },
        { type: 'lt', key: 'a', value: 'm' },
        { type: 'lte', key: 'a', value: -1 },
        {
          type: 'and',
          filters: [
            { type: 'in', key: 'a', value: ['x', 1] },
            { type: 'nin', key: 'a', value: [] },
          ],
        },
      ],
    };
    assert.deepEqual(parseFilter({ ...filter, note: 'x', key: 'unused' }, 'filters'), filter);
  });

  const comparison = { type: 'eq', key: 'k', value: 1 };
  const refusals: [name: string, filter: unknown, param: string][] = [
    ['that is no object', 'eq', 'filters'],
    ['that is null', null, 'filters'],
    ['that is an array', [comparison], 'filters'],
    ['of an unknown type', { ...comparison, type: 'like' }, 'filters.type'],
    ['whose type is a member of every object', { ...comparison, type: 'toString' }, 'filters.type'],
    ['without a key', { type: 'eq', value: 1 }, 'filters.key'],
    ['with an empty key', { ...comparison, key: '' }, 'filters.key'],
    ['with a key that is too long', { ...comparison, key: 'k'.repeat(65) }, 'filters.key'],
    ['without a value', { type: 'eq', key: 'k' }, 'filters.value'],
    ['that compares with null', { ...comparison, value: null }, 'filters.value'],
    ['that compares with a list', { ...comparison, value: [1] }, 'filters.value'],
    ['that orders booleans', { ...comparison, type: 'gt', value: true }, 'filters.value'],
    ['that compares with no number', { ...comparison, value: Number.NaN }, 'filters.value'],
    ['in a value that is no list', { ...comparison, type: 'in' }, 'filters.value'],
    ['with a boolean in a list', { ...comparison, type: 'nin', value: [1, true] }, 'filters.value.1'],
    ['with too long a list', { ...comparison, type: 'in', value: Array(MAX_FILTER_LIST + 1).fill(1) }, 'filters.value'],
    ['of nothing', { type: 'and', filters: [] }, 'filters.filters'],
    ['of no list', { type: 'or' }, 'filters.filters'],
    [
      'at fault inside',
      { type: 'and', filters: [comparison, { type: 'or', filters: [{ type: 'eq', key: 'k' }] }] },
      'filters.filters.1.filters.0.value',
    ],
    ['one too deep', nest(MAX_FILTER_DEPTH + 1), `filters${'.filters.0'.repeat(MAX_FILTER_DEPTH)}`],
    ['50 deep', nest(50), `filters${'.filters.0'.repeat(MAX_FILTER_DEPTH)}`],
    ['100,000 deep', deepest(100_000), `filters${'.filters.0'.repeat(MAX_FILTER_DEPTH)}`],
    [
      'of too many comparisons',
      { type: 'or', filters: Array(MAX_FILTER_COMPARISONS + 1).fill(comparison) },
      `filters.filters.${MAX_FILTER_COMPARISONS}`,
    ],
  ];
  for (const [name, filter, param] of refusals) {
    it(`${name} is refused at ${param.length < 60 ? param : 'its place'}`, () =>
      assert.equal(refusedParam(filter), param));
  }

  it('may go to its limits', () => {
    parseFilter(nest(MAX_FILTER_DEPTH), 'filters');
    parseFilter({ type: 'or', filters: Array(MAX_FILTER_COMPARISONS).fill(comparison) }, 'filters');
    parseFilter({ ...comparison, type: 'in', value: Array(MAX_FILTER_LIST).fill('x') }, 'filters');
    parseFilter({ ...comparison, key: 'k'.repeat(64) }, 'filters');
  });
});

function deepest(depth: number): unknown {
  let filter: unknown = { type: 'eq', key: 'k', value: 1 };
  for (let level = 1; level < depth; level += 1) filter = { type: 'and', filters: [filter] };
  return filter;
}
