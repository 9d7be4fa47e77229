import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { apportion } from './apportion.ts';

test('what is left over goes to the largest rests, the first of equals before the others', () => {
  assert.deepEqual(apportion(10, [33n, 33n, 34n], 10n), [3, 3, 4]);
  assert.deepEqual(apportion(2, [5n, 5n, 5n], 10n), [1, 1, 0]);
  assert.deepEqual(apportion(1, [19n, 9n], 10n), [1, 0]);
  assert.deepEqual(apportion(0, [], 10n), []);
});

test('shares of what was drawn add up to it, and each differs from its weight by less than a cent', () => {
  const weights = fc.array(fc.bigInt({ min: 0n, max: 10n ** 14n }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(
      weights,
      fc.bigInt({ min: 1n, max: 10n ** 12n }),
      fc.bigInt({ min: 0n, max: 10n ** 12n }),
      (parts, unit, carried) => {
        // As a wallet draws: whole cents of the sum and what was carried before.
        const sum = parts.reduce((total, part) => total + part, carried % unit);
        const total = Number(sum / unit);
        const shares = apportion(total, parts, unit);
        assert.equal(
          shares.reduce((all, share) => all + share, 0),
          total,
        );
        for (const [index, share] of shares.entries()) {
          const rest = BigInt(share) * unit - (parts[index] ?? 0n);
          assert.ok(rest > -unit && rest <= unit, `${share} for ${parts[index]}`);
        }
      },
    ),
  );
});
