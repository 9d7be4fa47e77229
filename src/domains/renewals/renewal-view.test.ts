import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standardPrices } from '../../../test/support/prices.ts';
import { addYears } from '../registry/term.ts';
import { type RenewalFacts, type RenewalOrder, renewalOf } from './index.ts';
import { isCapped } from './term-calendar.ts';

const NOW = new Date('2027-03-01T00:00:00.000Z');
const EXPIRY = new Date('2027-03-21T00:00:00.000Z');

const facts = (changes: Partial<RenewalFacts> = {}): RenewalFacts => ({
  name: 'example.com',
  auto_renew: true,
  expires_at: EXPIRY,
  release_at: null,
  billed_until: EXPIRY,
  renewal_state: 'not_due',
  renewal_reason: null,
  renewal_shortfall_cents: null,
  renewal_fee: null,
  ...changes,
});
const order = (changes: Partial<RenewalOrder> = {}): RenewalOrder => ({
  id: 'ord_1',
  state: 'completed',
  origin: 'auto_renew',
  years: 1,
  from_expires_at: EXPIRY,
  error_message: null,
  ended_at: NOW,
  ...changes,
});

test('each state of a term has its word', () => {
  const far = new Date('2027-09-01T00:00:00.000Z');
  const decade = new Date('2036-06-01T00:00:00.000Z');
  const near = new Date('2027-03-11T00:00:00.000Z');
  const next = new Date('2028-03-21T00:00:00.000Z');
  const cases: [string, Partial<RenewalFacts>, RenewalOrder | undefined][] = [
    ['not_due', { expires_at: far }, undefined],
    ['not_due', { expires_at: null, billed_until: null }, undefined],
    ['charging', {}, undefined],
    ['charging', {}, order({ state: 'paying' })],
    ['charging', {}, order({ state: 'held' })],
    ['pending', {}, order({ state: 'submitted' })],
    ['pending', { auto_renew: false }, order({ state: 'pending' })],
    ['renewed', { expires_at: next }, order()],
    ['renewed', { expires_at: next, auto_renew: false }, order()],
    // The registry has not caught up with what was bought.
    ['pending', {}, order()],
    ['not_due', { expires_at: next }, order({ from_expires_at: new Date('2026-03-21T00:00:00.000Z') })],
    ['unpaid', { renewal_state: 'unpaid', renewal_shortfall_cents: 190 }, undefined],
    ['failed', { renewal_state: 'charging' }, order({ state: 'failed', error_message: 'No.' })],
    // A refusal of another term, or to a request, says nothing of this one.
    ['charging', {}, order({ state: 'failed', from_expires_at: far })],
    ['charging', {}, order({ state: 'failed', origin: 'request' })],
    ['failed', { renewal_state: 'failed', renewal_reason: 'No.' }, undefined],
    ['lapsing', { expires_at: near }, undefined],
    ['lapsing', { expires_at: new Date('2027-02-01T00:00:00.000Z') }, undefined],
    ['off', { auto_renew: false }, undefined],
    ['off', { release_at: EXPIRY }, undefined],
    ['capped', { expires_at: decade }, undefined],
  ];
  for (const [term, changes, latest] of cases) {
    assert.equal(renewalOf(standardPrices, facts(changes), latest, NOW).term, term, JSON.stringify([changes, latest]));
  }
});

test('a renewal that is charged says until when, and when the next charge is', () => {
  const pending = renewalOf(standardPrices, facts(), order({ state: 'submitted', years: 2 }), NOW);
  assert.deepEqual(
    [pending.renewed_until, pending.next_charge_at, pending.expires_at],
    ['2029-03-21T00:00:00.000Z', '2029-02-19T00:00:00.000Z', '2027-03-21T00:00:00.000Z'],
  );
  assert.equal(renewalOf(standardPrices, facts(), undefined, NOW).renewed_until, null);
  assert.equal(renewalOf(standardPrices, facts(), order({ state: 'failed' }), NOW).renewed_until, null);
});

test('the shortfall is given in euros, with the amount to top up', () => {
  const { shortfall, reason, price } = renewalOf(standardPrices, facts({ renewal_shortfall_cents: 1 }), undefined, NOW);
  assert.deepEqual([shortfall, price], [0.01, 11.9]);
  assert.match(reason ?? '', /0\.01 EUR short/);
});

test('a TLD that is not offered any more has no price', () => {
  assert.equal(renewalOf(standardPrices, facts({ name: 'example.gone' }), undefined, NOW).price, null);
});

test('29 February is followed by the 28th, and by the 29th only where one began there', () => {
  const leap = new Date('2028-02-29T12:34:56.789Z');
  assert.equal(addYears(leap, 1).toISOString(), '2029-02-28T12:34:56.789Z');
  assert.equal(addYears(leap, 4).toISOString(), '2032-02-29T12:34:56.789Z');
  assert.equal(addYears(addYears(leap, 1), 3).toISOString(), '2032-02-28T12:34:56.789Z');
  assert.equal(addYears(new Date('2027-12-31T23:59:59.999Z'), 1).toISOString(), '2028-12-31T23:59:59.999Z');
});

test('ten years from now are the most that can be paid for, to the millisecond', () => {
  const offer = { years: 1, maxTermYears: 10 };
  const now = new Date('2028-02-29T00:00:00.000Z');
  assert.equal(isCapped(new Date('2037-02-28T00:00:00.000Z'), offer, now), false);
  assert.equal(isCapped(new Date('2037-02-28T00:00:00.001Z'), offer, now), true);
});
