/** Names that trademarks claim: shown, accepted and bought, over HTTP, EPP and the clearinghouse's own protocol. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { removeEndedNotices } from '../../src/domains/claims/index.ts';
import { createOperator } from '../../src/domains/operator/index.ts';
import { LAUNCH } from '../../src/domains/registry/epp/namespaces.ts';
import { readBill } from '../../src/domains/registry/simulated/index.ts';
import { auditLedger, readWallet } from '../../src/domains/wallet/index.ts';
import { systemDb, workspaceDb } from '../../src/domains/workspace-scope.ts';
import type { Share } from '../conformance/take-turns.ts';
import type { TestWorkspace } from './domains.ts';
import { startDomainsOverEpp, type TestDomainsOverEpp } from './domains-over-epp.ts';
import { connectNoticeService, noticeDocument, startNoticeService, type TestNoticeService } from './notice-service.ts';
import { refusal } from './orders.ts';
import { eventually } from './turns.ts';

export async function testClaimsNotices(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const HOUR_MS = 3_600_000;
  const confirm_price = 11.9;
  const PAID_CENTS = 1_190;
  const FUNDS_CENTS = 1_000_000;

  /** Claimed names and the keys of their notices; a test has a name of its own. */
  const claims = new Map(
    ['gold', 'silver', 'tin', 'iron', 'zinc', 'lead', 'neon', 'argon', 'radon', 'xenon', 'boron', 'carbon'].map(
      (label, index) => [`${label}.com`, `2026030100/2/6/${index}/key-of-${label}`] as const,
    ),
  );
  let notices: TestNoticeService;
  let client: ReturnType<typeof connectNoticeService>;
  let service: TestDomainsOverEpp;
  /** For the soak. */
  let bare: TestDomainsOverEpp | undefined;
  before(async () => {
    notices = await startNoticeService();
    client = connectNoticeService(notices.url);
    const launchPhaseOf = (zone: string) => (zone === 'com' ? ({ phase: 'claims' } as const) : undefined);
    const endpoint = { extensionUris: [LAUNCH], launchPhaseOf, connections: 4, termsTimeoutMs: 5_000 };
    service = await startDomainsOverEpp({ habits: { claims }, endpoint, noticeService: client });
    if (share === 'all') bare = await startDomainsOverEpp({ habits: { claims }, endpoint });
  });
  after(async () => {
    await service.close();
    await bare?.close();
    await client.close();
    await notices.close();
  });
  beforeEach(() => {
    let number = 0;
    for (const [name, key] of claims) {
      notices.answer(key, () => {
        number += 1;
        const from = service.epp.clock.now();
        const until = new Date(from.getTime() + 48 * HOUR_MS);
        return noticeDocument({
          label: name.replace('.com', ''),
          from,
          until,
          number: String(number).padStart(19, '0'),
        });
      });
    }
    service.deliver(undefined);
  });

  const now = () => service.epp.clock.now().toISOString();
  const balance = async ({ workspaceId }: TestWorkspace) => {
    const { availableCents, heldCents } = await readWallet(service.db, workspaceId);
    return [availableCents, heldCents];
  };
  const creations = async (name: string) =>
    (await readBill(service.db, service.epp.ours.registrarId)).filter((charge) => charge.name === name).length;

  async function isAtRest({ workspaceId }: TestWorkspace, orderId: string): Promise<true | undefined> {
    const orders = workspaceDb(service.db, workspaceId).selectFrom('orders').select('lease_until');
    const order = await orders.where('id', '=', orderId).executeTakeFirst();
    return order?.lease_until === null ? true : undefined;
  }

  async function read(workspace: TestWorkspace, name: string) {
    const { status, body, text } = await workspace.get(`/claims-notices/${name}`);
    assert.equal(status, 200, text);
    return body;
  }

  const buy = (workspace: TestWorkspace, domain: string, claims_notice?: object, others: object = {}) =>
    workspace.post('/domains', { domain, confirm_price, ...(claims_notice && { claims_notice }), ...others });

  test('who asks is told that a notice has to be accepted, of claimed names alone', async () => {
    const { body } = await service.anybody.get('/check?q=gold.com');
    assert.deepEqual([body.results[0].status, body.results[0].requires], ['available', 'claims_notice']);
    const { body: other } = await service.anybody.get('/check?q=unclaimed.com');
    assert.deepEqual([other.results[0].status, 'requires' in other.results[0]], ['available', false]);
  });

  test('a notice is shown whole, and a purchase that accepts it is kept with it and sent with it', async () => {
    const workspace = await service.owner();
    const notice = await read(workspace, 'gold.com');
    assert.deepEqual([notice.domain, notice.claims[0].mark_name], ['gold.com', 'Gold & Sons']);
    assert.deepEqual(notice.claims[0].jurisdiction, { code: 'AU', name: 'Australia' });
    assert.equal(notice.expires_at, new Date(service.epp.clock.now().getTime() + 48 * HOUR_MS).toISOString());
    assert.deepEqual(await read(workspace, 'gold.com'), notice, 'it is the same one until it ends');
    assert.equal(notices.paths.filter((path) => path.includes('key-of-gold')).length, 1, 'and was fetched once');

    const accepted = { id: notice.id, accepted_at: now() };
    service.epp.clock.advance(HOUR_MS);
    const bought = await buy(workspace, 'gold.com', accepted);
    assert.deepEqual([bought.status, bought.body.status], [201, 'Completed'], bought.text);
    const { body: order } = await workspace.get(`/orders/${bought.body.order_id}`);
    const { token_id, ...kept } = order.claims_notice;
    assert.deepEqual(kept, { ...accepted, recorded_at: now() });
    const { body: tokens } = await workspace.get('/tokens');
    const mine = tokens.tokens.find(({ id }: { id: string }) => id === token_id);
    assert.equal(mine?.scope, 'write', 'by the token that bought it');
    const shown = await createOperator({ db: service.db, clock: service.epp.clock }).show_order({ id: order.id });
    assert.deepEqual(shown.claims_notice, accepted);
    assert.deepEqual(await balance(workspace), [FUNDS_CENTS - PAID_CENTS, 0]);
  });

  test('without an accepted notice nothing is held, and the refusal leads to it', async () => {
    const workspace = await service.owner();
    const refused = await buy(workspace, 'silver.com');
    assert.deepEqual(refusal(refused), [422, 'registration_failed']);
    const { message, ...details } = refused.body.details;
    assert.deepEqual(details, { reason: 'claims_notice_required', notice: '/claims-notices/silver.com' });
    assert.match(message, /Nothing was charged\. Read GET \/claims-notices\/silver\.com/);
    assert.deepEqual((await workspace.get('/orders')).body.orders, []);
    assert.deepEqual(await balance(workspace), [FUNDS_CENTS, 0]);
    assert.equal((await workspace.get(details.notice)).status, 200, 'the path is one');
  });

  test('the notice of another name, of another workspace, or that never was, is refused', async () => {
    const [workspace, other] = [await service.owner(), await service.owner()];
    const ids = [(await read(workspace, 'tin.com')).id, (await read(other, 'silver.com')).id, 'made-up'];
    for (const id of ids) {
      const refused = await buy(workspace, 'silver.com', { id, accepted_at: now() });
      assert.deepEqual(
        [...refusal(refused), refused.body.details.reason],
        [422, 'registration_failed', 'claims_notice_unknown'],
      );
    }
    assert.deepEqual(await balance(workspace), [FUNDS_CENTS, 0]);
    assert.equal(await creations('silver.com'), 0);
  });

  test('a notice that has ended is refused, and the next that is read is another', async () => {
    const workspace = await service.owner();
    const first = await read(workspace, 'iron.com');
    const accepted = { id: first.id, accepted_at: now() };
    service.epp.clock.advance(48 * HOUR_MS);
    const refused = await buy(workspace, 'iron.com', accepted);
    assert.deepEqual(
      [...refusal(refused), refused.body.details.reason],
      [422, 'registration_failed', 'claims_notice_expired'],
    );
    const next = await read(workspace, 'iron.com');
    assert.notEqual(next.id, first.id);
    const rows = () =>
      workspaceDb(service.db, workspace.workspaceId).selectFrom('claims_notices').select('notice_id').execute();
    await removeEndedNotices(systemDb(service.db), service.epp.clock.now());
    assert.deepEqual(await rows(), [{ notice_id: next.id }], 'it is kept no longer than it is valid');
    assert.equal((await buy(workspace, 'iron.com', { id: next.id, accepted_at: now() })).status, 201);
  });

  test('an acceptance counts for 48 hours, however long its notice is valid', async () => {
    const workspace = await service.owner();
    const from = service.epp.clock.now();
    const until = new Date(from.getTime() + 300 * HOUR_MS);
    notices.answer(claims.get('zinc.com') ?? '', () => noticeDocument({ label: 'zinc', from, until }));
    const { id } = await read(workspace, 'zinc.com');
    const accepted = { id, accepted_at: now() };
    service.epp.clock.advance(48 * HOUR_MS);
    const refused = await buy(workspace, 'zinc.com', accepted);
    assert.equal(refused.body.details.reason, 'claims_notice_expired');
    assert.equal((await buy(workspace, 'zinc.com', { id, accepted_at: now() })).status, 201);
  });

  test('a moment before the notice was shown, in the future, or that is none, is a bad request', async () => {
    const workspace = await service.owner();
    const { id } = await read(workspace, 'lead.com');
    const at = (ms: number) => new Date(service.epp.clock.now().getTime() + ms).toISOString();
    for (const accepted_at of [at(-HOUR_MS), at(HOUR_MS), 'yesterday', undefined]) {
      const { status, body } = await buy(workspace, 'lead.com', { id, ...(accepted_at && { accepted_at }) });
      assert.deepEqual([status, body.error, body.details.param], [400, 'bad_request', 'claims_notice.accepted_at']);
    }
    // Clocks of callers are a little wrong; the registry is never told a moment that is to come.
    const bought = await buy(workspace, 'lead.com', { id, accepted_at: at(60_000) });
    assert.equal(bought.status, 201, bought.text);
    assert.equal((await workspace.get(`/orders/${bought.body.order_id}`)).body.claims_notice.accepted_at, now());
  });

  test('a notice that cannot be had is an error that says so, and nothing is held', async () => {
    const workspace = await service.owner();
    const key = claims.get('neon.com') ?? '';
    const from = service.epp.clock.now();
    const foreign = noticeDocument({ label: 'other', from, until: new Date(from.getTime() + HOUR_MS) });
    const forged = noticeDocument({
      label: 'neon',
      from,
      until: new Date(from.getTime() + HOUR_MS),
      id: `00000000${'1'.repeat(19)}`,
    });
    const ended = noticeDocument({ label: 'neon', from, until: from });
    for (const document of [undefined, () => '<html/>', () => foreign, () => forged, () => ended]) {
      notices.answer(key, document);
      const { status, body } = await workspace.get('/claims-notices/neon.com');
      assert.deepEqual([status, body.error, body.details.reason], [500, 'internal', 'notice_unavailable']);
      assert.match(body.details.message, /Nothing was charged; repeat the call/);
    }
    assert.deepEqual(await balance(workspace), [FUNDS_CENTS, 0]);
  });

  test('a name that no trademark claims has no notice, is bought without one, and one that comes along is of no meaning', async () => {
    const workspace = await service.owner();
    assert.deepEqual(refusal(await workspace.get('/claims-notices/unclaimed-1.com')), [404, 'not_found']);
    assert.deepEqual(refusal(await workspace.get('/claims-notices/gold.unsold')), [400, 'bad_request']);
    assert.equal((await buy(workspace, 'unclaimed-1.com')).status, 201);
    const other = await buy(workspace, 'unclaimed-2.com', { id: 'any', accepted_at: now() });
    assert.equal(other.status, 201);
    assert.equal('claims_notice' in (await workspace.get(`/orders/${other.body.order_id}`)).body, false);
  });

  soakTest?.('while the registry says nothing of claims nothing is bought, and what is ordered waits', async () => {
    const workspace = await service.owner();
    const { id } = await read(workspace, 'argon.com');
    service.deliver((command) => (command.kind === 'domain:check' ? { kind: 'silent' } : undefined));
    const { status, body } = await buy(workspace, 'argon.com', { id, accepted_at: now() });
    assert.deepEqual([status, body.status], [201, 'Pending']);
    assert.equal(await creations('argon.com'), 0);
    service.deliver(undefined);
    service.cutConnections();
    await eventually(() => isAtRest(workspace, body.order_id), 'nobody works on the order');
    await service.later(HOUR_MS);
    assert.equal((await workspace.get(`/orders/${body.order_id}`)).body.status, 'Completed');
    assert.equal(await creations('argon.com'), 1);
    assert.deepEqual(await balance(workspace), [FUNDS_CENTS - PAID_CENTS, 0]);
  });

  test('a lost answer to the create is found out, and paid once', async () => {
    const workspace = await service.owner();
    const { id } = await read(workspace, 'radon.com');
    let lost = 0;
    service.deliver((command) => {
      if (command.kind !== 'domain:create' || lost > 0) return undefined;
      lost += 1;
      return { kind: 'cut' };
    });
    const bought = await buy(workspace, 'radon.com', { id, accepted_at: now() });
    assert.equal(bought.status, 201, bought.text);
    await service.later(HOUR_MS);
    assert.equal((await workspace.get(`/orders/${bought.body.order_id}`)).body.status, 'Completed');
    assert.equal(lost, 1);
    assert.equal(await creations('radon.com'), 1);
    assert.deepEqual(await balance(workspace), [FUNDS_CENTS - PAID_CENTS, 0]);
  });

  test('an order that another process finds is sent with its notice, and ends with the money back once that has ended', async () => {
    for (const [name, waitMs, status] of [
      ['xenon.com', HOUR_MS, 'Completed'],
      ['boron.com', 48 * HOUR_MS, 'Failed'],
    ] as const) {
      const workspace = await service.owner();
      const { id } = await read(workspace, name);
      // It has its hold, and nothing has arrived: as where the process dies in between.
      service.deliver((command) => (command.kind === 'domain:create' ? { kind: 'refused', code: 2500 } : undefined));
      const bought = await buy(workspace, name, { id, accepted_at: now() });
      assert.deepEqual([bought.status, bought.body.status], [201, 'Pending'], bought.text);
      assert.deepEqual(await balance(workspace), [FUNDS_CENTS - PAID_CENTS, PAID_CENTS]);
      await eventually(() => isAtRest(workspace, bought.body.order_id), 'nobody works on the order');
      service.deliver(undefined);
      await service.later(waitMs);
      await service.later(HOUR_MS);
      const { body: order } = await workspace.get(`/orders/${bought.body.order_id}`);
      assert.equal(order.status, status, JSON.stringify(order));
      if (status === 'Failed') assert.match(order.failure.message, /acceptance of the claims notice .* ended/);
      const left = status === 'Failed' ? FUNDS_CENTS : FUNDS_CENTS - PAID_CENTS;
      assert.deepEqual(await balance(workspace), [left, 0]);
    }
  });

  test('of two purchases at once of a claimed name one has it, and the other is refused', async () => {
    const [one, other] = [await service.owner(), await service.owner()];
    const accepted = async (workspace: TestWorkspace) => ({
      id: (await read(workspace, 'carbon.com')).id,
      accepted_at: now(),
    });
    const [first, second] = [await accepted(one), await accepted(other)];
    assert.notEqual(first.id, second.id);
    const answers = await Promise.all([buy(one, 'carbon.com', first), buy(other, 'carbon.com', second)]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 422]);
    assert.equal(await creations('carbon.com'), 1);
    const sums = [await balance(one), await balance(other)].map(([available, held]) => [available, held]).sort();
    assert.deepEqual(
      sums,
      [
        [FUNDS_CENTS, 0],
        [FUNDS_CENTS - PAID_CENTS, 0],
      ].sort(),
    );
    assert.deepEqual(await auditLedger(service.db), []);
  });

  test('a claimed name that the workspace has is told to be its own, and a repeated purchase joins the first', async () => {
    const workspace = await service.owner();
    const { id } = await read(workspace, 'tin.com');
    const accepted = { id, accepted_at: now() };
    const key = { 'idempotency-key': 'tin-1' };
    const body = { domain: 'tin.com', confirm_price, claims_notice: accepted };
    const first = await workspace.post('/domains', body, key);
    const again = await workspace.post('/domains', body, key);
    assert.deepEqual([first.status, again.status, again.body], [201, 201, first.body]);
    assert.deepEqual(refusal(await buy(workspace, 'tin.com')), [409, 'already_in_portfolio']);
  });

  soakTest?.('where no service of notices is configured claimed names are not sold', async () => {
    assert.ok(bare !== undefined);
    const { body } = await bare.anybody.get('/check?q=gold.com');
    assert.deepEqual([body.results[0].status, body.results[0].available], ['reserved', false]);
    const workspace = await bare.owner();
    for (const refused of [
      await buy(workspace, 'gold.com'),
      await buy(workspace, 'gold.com', { id: 'any', accepted_at: now() }),
      await workspace.get('/claims-notices/gold.com'),
    ]) {
      assert.deepEqual(
        [...refusal(refused), refused.body.details.reason],
        [422, 'registration_failed', 'claims_not_supported'],
      );
    }
    assert.equal((await buy(workspace, 'unclaimed.com')).status, 201);
  });
}
