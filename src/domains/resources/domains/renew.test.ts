import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { sql } from 'kysely';
import type { TestWorkspace } from '../../../../test/support/domains.ts';
import { refusal, silenceAfter, startOrders } from '../../../../test/support/orders.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { workspaceDb } from '../../workspace-scope.ts';

const RENEW_MS = 60_000;
const service = await startOrders({ simulated: { delays: { createSeconds: 0, renewSeconds: RENEW_MS / 1000 } } });
const { plan, balance, later, fundedWorkspace } = service;
after(() => service.close());

/** Of a year, whether it is registered or renewed. */
const PRICE = 11.9;

/** A workspace with one name, which was paid for so many years. */
async function owner(name: string, years = 1): Promise<TestWorkspace> {
  const workspace = await fundedWorkspace();
  const body = { domain: name, duration: years, confirm_price: (PRICE * years).toFixed(2) };
  const { status, text } = await workspace.post('/domains', body);
  assert.equal(status, 201, text);
  return workspace;
}

async function expiryOf(workspace: TestWorkspace, name: string): Promise<string> {
  return (await workspace.get(`/domains/${name}`)).body.expires_at.slice(0, 10);
}

test('a renewal is held, charged when the registry has done it, and a later one adds a further term', async () => {
  const workspace = await owner('renewed.com');
  const [before] = await balance(workspace);
  const first = await workspace.post('/domains/Renewed.com/renew', { duration: 2, confirm_price: '23.80' });
  assert.equal(first.status, 200, first.text);
  const { order_id: orderId, ...rest } = first.body;
  assert.match(orderId, /^ord_/);
  assert.deepEqual(rest, {
    domain: 'renewed.com',
    kind: 'renewal',
    status: 'Pending',
    duration: 2,
    price: 23.8,
    currency: 'EUR',
    paid_with: 'wallet',
    expires_at: null,
  });
  assert.deepEqual(await balance(workspace), [before - 2_380, 2_380]);
  await later(RENEW_MS);
  assert.deepEqual(await balance(workspace), [before - 2_380, 0]);
  assert.equal(await expiryOf(workspace, 'renewed.com'), '2030-03-01');
  const second = await workspace.post('/domains/renewed.com/renew', { confirm_price: PRICE });
  assert.equal(second.status, 200, second.text);
  await later(RENEW_MS);
  assert.equal(await expiryOf(workspace, 'renewed.com'), '2031-03-01');
  assert.deepEqual(await balance(workspace), [before - 2_380 - 1_190, 0]);
  await service.assertBooksAreRight();
});

test('renewal_in_progress: of 20 requests at once for one term, with and without a key, one buys', async () => {
  const workspace = await owner('rush.com');
  const [before] = await balance(workspace);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      workspace.post(
        '/domains/rush.com/renew',
        { confirm_price: PRICE },
        index % 2 ? { 'idempotency-key': 'rush' } : {},
      ),
    ),
  );
  const bought = answers.filter(({ status }) => status === 200);
  assert.equal(new Set(bought.map(({ body }) => body.order_id)).size, 1);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    assert.deepEqual(refusal(answer), [409, 'renewal_in_progress']);
    assert.match(answer.body.details.state, /^(submitted|pending)$/);
  }
  assert.deepEqual(await balance(workspace), [before - 1_190, 1_190]);
  await later(RENEW_MS);
  assert.equal(await expiryOf(workspace, 'rush.com'), '2029-03-01');
  assert.deepEqual(await balance(workspace), [before - 1_190, 0]);
});

test('renewals that are asked for at the moment in which one completes add a term, or wait', async () => {
  const workspace = await owner('moment.com');
  let years = 1;
  for (let round = 0; round < 3; round += 1) {
    const renew = () => workspace.post('/domains/moment.com/renew', { confirm_price: PRICE });
    await renew();
    const [answers] = await Promise.all([Promise.all(Array.from({ length: 6 }, renew)), later(RENEW_MS)]);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assert.deepEqual(refusal(answer), [409, 'renewal_in_progress'], answer.text);
    }
    await later(RENEW_MS);
    years += 1 + answers.filter(({ status }) => status === 200).length;
    assert.equal(await expiryOf(workspace, 'moment.com'), `${2027 + years}-03-01`);
  }
  assert.deepEqual(await balance(workspace), [100_000 - 1_190 * years, 0]);
});

test('price_changed, bad_request, insufficient_balance: nothing is set aside', async () => {
  const workspace = await owner('picky.com', 5);
  const before = await balance(workspace);
  const renew = (body: unknown) => workspace.post('/domains/picky.com/renew', body);
  const changed = await renew({ duration: 2, confirm_price: PRICE });
  assert.deepEqual(refusal(changed), [409, 'price_changed']);
  assert.equal(changed.body.details.current_price, 23.8);
  for (const body of [
    {},
    { confirm_price: 'free' },
    { duration: 0, confirm_price: 0 },
    { confirm_price: PRICE, x: 1 },
  ]) {
    assert.deepEqual(refusal(await renew(body)), [400, 'bad_request'], JSON.stringify(body));
  }
  assert.deepEqual(await balance(workspace), before);
  const poor = await fundedWorkspace(1_190);
  await poor.post('/domains', { domain: 'poor.com', confirm_price: PRICE });
  const short = await poor.post('/domains/poor.com/renew', { confirm_price: PRICE });
  assert.deepEqual(refusal(short), [402, 'insufficient_balance']);
  assert.deepEqual([short.body.details.required, short.body.details.available], [1_190, 0]);
});

test('renew_failed: a term that would end beyond the cap is refused before anything is charged', async () => {
  const workspace = await owner('capped.com', 9);
  const before = await balance(workspace);
  const beyond = await workspace.post('/domains/capped.com/renew', { duration: 2, confirm_price: '23.80' });
  assert.deepEqual(refusal(beyond), [422, 'renew_failed']);
  assert.deepEqual(await balance(workspace), before);
  assert.equal((await workspace.post('/domains/capped.com/renew', { confirm_price: PRICE })).status, 200);
  await workspace.post('/domains', { domain: 'yearly.de', confirm_price: 7.9 });
  const years = await workspace.post('/domains/yearly.de/renew', { duration: 2, confirm_price: 15.8 });
  assert.deepEqual([...refusal(years), years.body.details.param], [400, 'bad_request', 'duration']);
});

test('renew_failed: what the registry refuses at once is released, and what it refuses later too', async () => {
  const workspace = await owner('refuse-renew-x.com');
  const renew = (name: string) => workspace.post(`/domains/${name}/renew`, { confirm_price: PRICE });
  assert.deepEqual(refusal(await renew('refuse-renew-x.com')), [422, 'renew_failed']);
  await workspace.post('/domains', { domain: 'reject-renew-x.com', confirm_price: PRICE });
  const before = await balance(workspace);
  // A failure leaves the term to be bought.
  for (const _ of ['once', 'again']) {
    const accepted = await renew('reject-renew-x.com');
    assert.deepEqual([accepted.status, accepted.body.status], [200, 'Pending']);
    assert.deepEqual(refusal(await renew('reject-renew-x.com')), [409, 'renewal_in_progress']);
    await later(RENEW_MS);
    // Whoever looked at the order last may still hold it: the next sweep finds it then.
    await eventually(async () => {
      if ((await balance(workspace))[1] === 0) return true;
      await service.domains.orders.sweep();
      return undefined;
    }, 'the hold is released');
    assert.deepEqual(await balance(workspace), before);
  }
  assert.equal(await expiryOf(workspace, 'reject-renew-x.com'), '2028-03-01');
  await service.assertBooksAreRight();
});

for (const moment of ['before', 'after'] as const) {
  test(`an answer that is lost ${moment} the registry took the renewal is found out, and charged once`, async () => {
    const name = `lost-${moment}.com`;
    const workspace = await owner(name);
    const [before] = await balance(workspace);
    plan(name, [{ command: 'renew', moment, fault: 'disconnect' }]);
    const { status, text } = await workspace.post(`/domains/${name}/renew`, { confirm_price: PRICE });
    assert.equal(status, 200, text);
    await later(RENEW_MS);
    await later(RENEW_MS);
    assert.equal(await expiryOf(workspace, name), '2029-03-01');
    assert.deepEqual(await balance(workspace), [before - 1_190, 0]);
  });
}

test('Pending: while the outcome is not known the hold stays; the same key is answered the same, although the cap is reached by then', async () => {
  const name = 'silent.com';
  const workspace = await owner(name, 5);
  const [before] = await balance(workspace);
  const renew = () =>
    workspace.post(`/domains/${name}/renew`, { duration: 3, confirm_price: 35.7 }, { 'idempotency-key': 'k' });
  // The first question, which finds the term, is answered.
  const [lost, ...silence] = silenceAfter('renew');
  plan(name, lost === undefined ? [] : [lost, ...silence]);
  const first = await renew();
  assert.deepEqual([first.status, first.body.status], [200, 'Pending']);
  assert.deepEqual(await balance(workspace), [before - 3_570, 3_570]);
  plan(name, []);
  await later(RENEW_MS * 20);
  await later(RENEW_MS * 20);
  const second = await renew();
  assert.equal(second.status, 200, second.text);
  assert.equal(second.body.order_id, first.body.order_id);
  assert.equal(await expiryOf(workspace, name), '2035-03-01');
  assert.deepEqual(await balance(workspace), [before - 3_570, 0]);
  const replayed = await renew();
  assert.equal(replayed.headers.get('idempotent-replay'), 'true');
  const reused = await workspace.post(`/domains/${name}/renew`, { confirm_price: PRICE }, { 'idempotency-key': 'k' });
  assert.deepEqual(refusal(reused), [409, 'idempotency_key_reused']);
});

describe('a registry that cannot be asked for the term', () => {
  const silent = { command: 'info', moment: 'before', fault: 'timeout' } as const;

  test('renews the one that it reported last', async () => {
    const workspace = await owner('away.com');
    const [before] = await balance(workspace);
    plan('away.com', [silent]);
    const { status, text } = await workspace.post('/domains/away.com/renew', { confirm_price: PRICE });
    assert.equal(status, 200, text);
    await later(RENEW_MS);
    assert.equal(await expiryOf(workspace, 'away.com'), '2029-03-01');
    assert.deepEqual(await balance(workspace), [before - 1_190, 0]);
  });

  test('refuses one that has moved since, and nothing is charged', async () => {
    const workspace = await owner('moved.com');
    const before = await balance(workspace);
    const currentExpiresAt = (await workspace.get('/domains/moved.com')).body.expires_at;
    await service.registry.renew({ name: 'moved.com', years: 1, currentExpiresAt, transactionId: 'by-hand' });
    service.clock.advance(RENEW_MS);
    plan('moved.com', [silent]);
    const answer = await workspace.post('/domains/moved.com/renew', { confirm_price: PRICE });
    assert.deepEqual(refusal(answer), [422, 'renew_failed']);
    assert.deepEqual(await balance(workspace), before);
  });
});

test('internal: a term that was shown as ended, and is paid for, is renewed once the registry tells it', async () => {
  const workspace = await owner('wrong-term.com');
  const before = await balance(workspace);
  const rows = workspaceDb(service.db, workspace.workspaceId).updateTable('domains');
  // As the registry once answered.
  await rows.set({ snapshot: sql`jsonb_set(snapshot, '{expiresAt}', '"2001-01-01T00:00:00.000Z"')` }).execute();
  plan('wrong-term.com', [
    { command: 'info', moment: 'before', fault: 'timeout' },
    { command: 'renew', moment: 'before', fault: 'timeout' },
  ]);
  const answer = await workspace.post('/domains/wrong-term.com/renew', { confirm_price: PRICE });
  assert.deepEqual(refusal(answer), [500, 'internal']);
  await later(RENEW_MS);
  assert.deepEqual(await balance(workspace), before);
});

test('renew_failed: a name that the registry does not report yet has no term', async () => {
  const workspace = await fundedWorkspace();
  await workspace.post('/domains', { domain: 'slow-one.com', confirm_price: PRICE });
  const before = await balance(workspace);
  const answer = await workspace.post('/domains/slow-one.com/renew', { confirm_price: PRICE });
  assert.deepEqual(refusal(answer), [422, 'renew_failed']);
  assert.deepEqual(await balance(workspace), before);
});

test('a term that began on 29 February ends on the 28th where there is none', async () => {
  service.clock.set(new Date('2028-02-29T09:00:00Z'));
  const workspace = await owner('leap.com');
  assert.equal(await expiryOf(workspace, 'leap.com'), '2029-02-28');
  await workspace.post('/domains', { domain: 'leap4.com', duration: 4, confirm_price: 47.6 });
  assert.equal(await expiryOf(workspace, 'leap4.com'), '2032-02-29');
  for (const name of ['leap.com', 'leap4.com']) {
    const { status, text } = await workspace.post(`/domains/${name}/renew`, { duration: 3, confirm_price: 35.7 });
    assert.equal(status, 200, text);
  }
  await later(RENEW_MS);
  assert.equal(await expiryOf(workspace, 'leap.com'), '2032-02-28');
  assert.equal(await expiryOf(workspace, 'leap4.com'), '2035-02-28');
  assert.deepEqual((await balance(workspace))[1], 0);
});
