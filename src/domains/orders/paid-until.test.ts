import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RegistryDomain } from '../registry/registry.ts';
import { paidUntil, restoredUntil } from './paid-until.ts';

const NOW = new Date('2027-03-01T12:00:00Z');
const GRACE = { autoRenewGraceDays: 45 };
const END = { autoRenewGraceDays: undefined };

const dateOf = (day: string) => new Date(`${day}T12:00:00Z`);

function infoOf(expires: string | undefined, created?: string): RegistryDomain {
  return {
    ...{ name: 'one.com', registryId: 'D1', isOurs: true, statuses: ['ok'], updatedAt: null },
    ...{ nameservers: [], dsRecords: [], isPrivate: true },
    ...(expires === undefined ? {} : { expiresAt: dateOf(expires).toISOString() }),
    ...(created === undefined ? {} : { createdAt: dateOf(created).toISOString() }),
  };
}

function orderOf(kind: 'registration' | 'renewal' | 'transfer', years: number, ordered = '2027-03-01') {
  return { kind, years, created_at: dateOf(ordered), baseline: null, from_expires_at: null, is_application: false };
}

function transferOf(before: string | undefined, years = 1, ordered = '2027-03-01') {
  const expiresAt = before === undefined ? {} : { expiresAt: dateOf(before).toISOString() };
  const baseline = { kind: 'foreign', at: NOW.toISOString(), ...expiresAt } as const;
  return { ...orderOf('transfer', years, ordered), baseline };
}

const dayOf = (date: Date | null) => date?.toISOString().slice(0, 10);

describe('a registration is paid', () => {
  const cases = [
    ['until the registry’s date, where that is about its years', '2028-03-02', '2027-03-01', '2028-03-02'],
    ['from its creation, where the registry shows that as its end', '2027-03-01', '2027-03-01', '2028-03-01'],
    [
      'from its creation, where the registry shows a year that it added by itself',
      '2029-03-01',
      '2027-03-01',
      '2028-03-01',
    ],
    ['from its creation, where the registry shows no end', undefined, '2027-02-27', '2028-02-27'],
    ['from now, where neither is told', undefined, undefined, '2028-03-01'],
    ['from now, where no creation is told, and the end is wrong', '1970-01-01', undefined, '2028-03-01'],
    ['from now, where the creation is wrong too', '1971-01-01', '1970-01-01', '2028-03-01'],
  ] as const;
  for (const [what, ends, created, until] of cases) {
    test(what, () => {
      const shown = { info: infoOf(ends, created), now: NOW, habits: GRACE };
      assert.equal(dayOf(paidUntil(orderOf('registration', 1), shown)), until);
    });
  }

  test('until the registry’s date where it was done some time after the order, and no creation is told', () => {
    const shown = { info: infoOf('2028-02-10'), now: NOW, habits: END };
    assert.equal(dayOf(paidUntil(orderOf('registration', 1, '2027-02-01'), shown)), '2028-02-10');
  });

  test('until the registry’s date where that counts from when an application has won', () => {
    const order = { ...orderOf('registration', 1, '2026-12-01'), is_application: true };
    const shown = { info: infoOf('2028-02-20', '2026-12-01'), now: NOW, habits: END };
    assert.equal(dayOf(paidUntil(order, shown)), '2028-02-20');
  });
});

describe('a transfer is paid', () => {
  const cases = [
    ['for its year, which the registry shows', '2027-09-01', '2028-09-01', '2028-09-01'],
    ['for its year, which the registry does not show yet', '2027-09-01', '2027-09-01', '2028-09-01'],
    ['for its year, where the registry shows no end', '2027-09-01', undefined, '2028-09-01'],
    ['for its year, where the registry shows nonsense', '2027-09-01', '9999-12-31', '2028-09-01'],
    ['from the day of the transfer, where the registry counts so', '2027-09-01', '2028-03-01', '2028-03-01'],
    ['for ten years ahead at most', '2036-09-01', '2037-03-01', '2037-03-01'],
    ['for ten years ahead at most, where the registry shows none of it yet', '2036-09-01', '2036-09-01', '2037-03-01'],
    ['for no year more, where the term is that long', '2037-03-01', '2037-03-01', '2037-03-01'],
    ['for its year, where the name was renewed while it came', '2027-02-28', '2029-02-28', '2029-02-28'],
    ['for its year, of a name whose term is over', '2027-02-20', '2028-02-20', '2028-02-20'],
    ['as the registry shows it, of a name whose term it did not show before', undefined, '2029-05-01', '2029-05-01'],
    ['for a year more, where that is too short to have moved', undefined, '2027-09-01', '2028-09-01'],
    ['from now, where nothing is known', undefined, '1970-01-01', '2028-03-01'],
    ['from now, where what was shown before is nonsense', '9999-12-31', '9999-12-31', '2028-03-01'],
  ] as const;
  for (const [what, before, ends, until] of cases) {
    test(what, () => {
      assert.equal(dayOf(paidUntil(transferOf(before), { info: infoOf(ends), now: NOW, habits: GRACE })), until);
    });
  }

  describe('after an automatic renewal, which the registry takes back', () => {
    const order = transferOf('2028-02-20');
    const kept = { info: infoOf('2028-02-20'), now: NOW };
    test('for the year in its place', () => {
      assert.equal(dayOf(paidUntil(order, { ...kept, habits: GRACE })), '2028-02-20');
    });
    test('for a year more where the registry says that the transfer adds it, or shows it', () => {
      const until = { ...kept, habits: GRACE, transferredUntil: dateOf('2029-02-20') };
      assert.equal(dayOf(paidUntil(order, until)), '2029-02-20');
      const shown = { info: infoOf('2029-02-20'), now: NOW, habits: GRACE };
      assert.equal(dayOf(paidUntil(order, shown)), '2029-02-20');
    });
    test('for a year more at a registry that renews nothing by itself, or once its days are over', () => {
      assert.equal(dayOf(paidUntil(order, { ...kept, habits: END })), '2029-02-20');
      const earlier = { info: infoOf('2028-01-10'), now: NOW, habits: GRACE };
      assert.equal(dayOf(paidUntil(transferOf('2028-01-10'), earlier)), '2029-01-10');
    });
  });

  test('for as many years as it was sold with', () => {
    const shown = (ends: string) => ({ info: infoOf(ends), now: NOW, habits: END });
    assert.equal(dayOf(paidUntil(transferOf('2027-09-01', 2), shown('2028-09-01'))), '2029-09-01');
    assert.equal(dayOf(paidUntil(transferOf('2027-09-01', 0), shown('2027-09-01'))), '2027-09-01');
    assert.equal(dayOf(paidUntil(transferOf('2027-09-01', 0), shown('2027-04-01'))), '2027-09-01');
  });
});

test('a renewal is paid for its years, whatever the registry shows', () => {
  const order = { ...orderOf('renewal', 2), from_expires_at: dateOf('2027-03-20') };
  for (const [ends, until] of [
    ['2029-03-21', '2029-03-21'],
    ['2027-03-20', '2029-03-20'],
    ['2030-03-20', '2029-03-20'],
    [undefined, '2029-03-20'],
  ] as const) {
    assert.equal(dayOf(paidUntil(order, { info: infoOf(ends), now: NOW, habits: GRACE })), until);
  }
});

test('a restoration is paid for the years that it takes for the term to end in the future, and none where it takes none', () => {
  const row = { billed_until: dateOf('2027-02-20'), expires_at: dateOf('2027-02-20') };
  const unknown = { billed_until: null, expires_at: null };
  for (const [ends, paid, years, until] of [
    ['2028-02-20', row, 1, '2028-02-20'],
    ['2027-02-20', row, 1, '2028-02-20'],
    ['2030-02-20', row, 1, '2028-02-20'],
    [undefined, row, 1, '2028-02-20'],
    ['2028-02-20', row, 0, '2027-02-20'],
    ['2028-02-20', unknown, 1, '2028-02-20'],
    ['1970-01-01', unknown, 1, undefined],
    // The registry has billed the year between, and bills another.
    ['2028-02-20', { billed_until: dateOf('2026-02-20'), expires_at: dateOf('2026-02-20') }, 1, '2028-02-20'],
    ['1970-01-01', { billed_until: dateOf('2026-02-20'), expires_at: dateOf('2026-02-20') }, 1, '2028-02-20'],
  ] as const) {
    const order = { created_at: NOW, years };
    assert.equal(dayOf(restoredUntil(paid, order, { info: infoOf(ends), now: NOW })), until, `${ends}, ${years}`);
  }
});
