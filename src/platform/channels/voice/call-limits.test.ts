import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallLimits } from './call-limits.ts';

test('a replica has 500 calls at once, and each that ends makes room for another', () => {
  const limits = createCallLimits();
  const ends = Array.from({ length: 5 }, (_, project) =>
    Array.from({ length: 100 }, () => limits.begin(`proj_${project}`) ?? assert.fail('there is room')),
  ).flat();
  assert.equal(limits.isFull('proj_6'), true);
  assert.equal(limits.begin('proj_6'), undefined);
  ends[0]?.();
  const end = limits.begin('proj_6') ?? assert.fail('there is room');
  assert.equal(limits.begin('proj_0'), undefined);
  end();
  assert.equal(limits.isFull('proj_0'), false);
  assert.equal(limits.isFull('proj_1'), true);
});
