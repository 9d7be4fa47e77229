import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import { json } from '../../../kernel/db/values.ts';
import type { FileAttributes } from '../../tables.ts';
import { type AttributeFilter, type FilterValue, parseFilter } from './attribute-filter.ts';
import { filterCondition, StatementValues } from './filter-condition.ts';

/** The rules once more, in words of another language. */
function passes(filter: AttributeFilter, attributes: FileAttributes | null): boolean {
  switch (filter.type) {
    case 'and':
      return filter.filters.every((each) => passes(each, attributes));
    case 'or':
      return filter.filters.some((each) => passes(each, attributes));
    case 'in':
      return filter.value.some((value) => value === ownValue(attributes, filter.key));
    case 'nin':
      return !filter.value.some((value) => value === ownValue(attributes, filter.key));
    case 'eq':
      return ownValue(attributes, filter.key) === filter.value;
    case 'ne':
      return ownValue(attributes, filter.key) !== filter.value;
    default:
      return passesOrder(filter.type, ownValue(attributes, filter.key), filter.value);
  }
}

function ownValue(attributes: FileAttributes | null, name: string): FilterValue | undefined {
  return attributes !== null && Object.hasOwn(attributes, name) ? attributes[name] : undefined;
}

function passesOrder(type: 'gt' | 'gte' | 'lt' | 'lte', own: FilterValue | undefined, value: FilterValue): boolean {
  if (typeof own !== typeof value) return false;
  const order =
    typeof own === 'string'
      ? Buffer.compare(Buffer.from(own), Buffer.from(String(value)))
      : Number(own) - Number(value);
  return { gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[type];
}

const key = fc.constantFrom('a', 'b', `it's "quoted"`, '$1', '__proto__');
const text = fc.constantFrom(
  '',
  'a',
  'B',
  'b',
  'é',
  '1',
  'true',
  `'; drop table files; --`,
  '10',
  '9',
  '\u{1F600}',
  '\uffee',
);
const number = fc.oneof(
  fc.constantFrom(0, 1, -1, 9, 10, 1.5, 1e21, 1e-7, Number.MAX_VALUE),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const scalar = fc.oneof(text, number);
const attributes = fc.option(fc.dictionary(key, fc.oneof(scalar, fc.boolean()), { noNullPrototype: true }));
const { filter } = fc.letrec<{ filter: AttributeFilter }>((tie) => ({
  filter: fc.oneof(
    { depthSize: 'small', maxDepth: 5 },
    fc.record({ type: fc.constantFrom('eq' as const, 'ne' as const), key, value: fc.oneof(scalar, fc.boolean()) }),
    fc.record({
      type: fc.constantFrom('gt' as const, 'gte' as const, 'lt' as const, 'lte' as const),
      key,
      value: scalar,
    }),
    fc.record({ type: fc.constantFrom('in' as const, 'nin' as const), key, value: fc.array(scalar, { maxLength: 4 }) }),
    fc.record({
      type: fc.constantFrom('and' as const, 'or' as const),
      filters: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }),
    }),
  ),
}));

describeOnEachStore('a filter in SQL', { sources: [] }, (current) => {
  it('lets pass what its comparisons say, whatever the attributes', async () => {
    const rows = fc.sample(attributes, { numRuns: 200, seed: 1 }).map((each) => each && normalize(each));
    await fc.assert(
      fc.asyncProperty(filter, async (given) => {
        const parsed = parseFilter(JSON.parse(JSON.stringify(given)), 'filters');
        const values = new StatementValues();
        const list = values.add(rows.map((row) => row && json(row)));
        const statement = `select array_agg(${filterCondition(parsed, 'f.attributes', values)} order by f.n) as passed
          from unnest(${list}::jsonb[]) with ordinality f (attributes, n)`;
        const { rows: found } = await current().db.query<{ passed: boolean[] }>({
          text: statement,
          values: values.list,
        });
        assert.deepEqual(
          found[0]?.passed,
          rows.map((row) => passes(parsed, row)),
        );
      }),
      { numRuns: 150, seed: 7 },
    );
  });
});

/** As it comes out of jsonb: without a negative zero. */
function normalize(given: FileAttributes): FileAttributes {
  return JSON.parse(JSON.stringify(given)) as FileAttributes;
}
