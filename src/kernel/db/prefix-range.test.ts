import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { endOfPrefix } from './prefix-range.ts';

const bytewise = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const text = fc.string({ unit: 'binary' });

test('a text begins with the prefix exactly if it lies in the range', () => {
  const edge = fc.constantFrom('\u{10ffff}', 'a\u{10ffff}', '\u{10ffff}\u{10ffff}', '\ud7ff', '\ue000', 'é', '%', '_');
  const prefixes = fc.oneof(text, edge).filter((prefix) => prefix !== '');
  fc.assert(
    fc.property(prefixes, fc.oneof(text, edge), text, (prefix, other, rest) => {
      for (const candidate of [other, prefix, prefix + rest, prefix.slice(0, -1) + rest]) {
        if (!candidate.isWellFormed()) continue;
        const end = endOfPrefix(prefix);
        const inside = bytewise(candidate, prefix) >= 0 && (end === undefined || bytewise(candidate, end) < 0);
        assert.equal(inside, candidate.startsWith(prefix), JSON.stringify([prefix, candidate]));
      }
    }),
    { numRuns: 100 },
  );
});
