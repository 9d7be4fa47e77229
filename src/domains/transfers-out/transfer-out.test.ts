import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TransferOut } from '../tables.ts';
import { mergeTransferOut } from './transfer-out.ts';

const NOW = new Date('2027-03-20T12:00:00Z');
const earlier: TransferOut = {
  state: 'pending',
  requestedBy: 'them',
  requestedAt: '2027-03-10T12:00:00.000Z',
  actsAt: '2027-03-15T12:00:00.000Z',
  decision: null,
  refusal: null,
};
const later: TransferOut = { ...earlier, requestedAt: '2027-03-18T12:00:00.000Z', actsAt: '2027-03-23T12:00:00.000Z' };
const merge = (known: TransferOut | null, seen: TransferOut | undefined) => mergeTransferOut(known, seen, NOW);

describe('what is known of a transfer after the registry has been asked', () => {
  test('stays as it is where the registry says nothing, the same, or something older', () => {
    assert.equal(merge(null, undefined), null);
    assert.equal(merge(later, undefined), later);
    assert.equal(merge(later, { ...later }), later);
    assert.equal(merge(later, { ...earlier, state: 'rejected' }), later);
  });

  test('what has ended does not begin again', () => {
    const ended: TransferOut = { ...later, state: 'rejected' };
    assert.equal(merge(ended, later), ended);
  });

  test('moves on, and keeps what its owner has decided', () => {
    const decided: TransferOut = { ...later, decision: 'reject' };
    assert.deepEqual(merge(decided, { ...later, state: 'rejected' }), { ...decided, state: 'rejected' });
    assert.equal(merge({ ...earlier, state: 'cancelled' }, later), later);
    assert.equal(merge(earlier, later), later);
  });

  test('one of whose request nothing was known is the one that the registry tells of', () => {
    const untold: TransferOut = {
      ...later,
      requestedBy: null,
      requestedAt: NOW.toISOString(),
      actsAt: null,
      decision: 'approve',
    };
    assert.deepEqual(merge(untold, later), { ...later, decision: 'approve' });
  });

  test('one that ended long ago is no news', () => {
    const old = { ...earlier, actsAt: '2027-01-15T12:00:00.000Z', state: 'rejected' } as const;
    assert.equal(merge(null, old), null);
    assert.deepEqual(merge(null, { ...earlier, state: 'approved' })?.state, 'approved');
  });
});
