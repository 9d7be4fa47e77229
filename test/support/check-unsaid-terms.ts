/** Registries that do not say in time what a restoration costs, or that a trademark claims a name: over EPP, silent, failing or limiting. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createBackgroundWork } from '../../src/domains/background-work.ts';
import { createOperator } from '../../src/domains/operator/index.ts';
import { placeOrder } from '../../src/domains/orders/place-order.ts';
import { settlePrice } from '../../src/domains/orders/settle-price.ts';
import { countSubmission } from '../../src/domains/orders/store.ts';
import { EXTENSION_URIS, LAUNCH } from '../../src/domains/registry/epp/namespaces.ts';
import { readBill } from '../../src/domains/registry/simulated/index.ts';
import { auditLedger, readWallet, unconfiguredPayments } from '../../src/domains/wallet/index.ts';
import { workspaceDb } from '../../src/domains/workspace-scope.ts';
import type { Share } from '../conformance/take-turns.ts';
import { NAMESERVERS, startDomains, type TestWorkspace } from './domains.ts';
import { startDomainsOverEpp } from './domains-over-epp.ts';
import { connectNoticeService, noticeDocument, startNoticeService } from './notice-service.ts';
import { refusal } from './orders.ts';
import { standardPrices } from './prices.ts';
import { done, testContact } from './simulated-registry.ts';
import { openTestLogger } from './test-log.ts';
import { eventually } from './turns.ts';

export async function testUnsaidTerms(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const MINUTE_MS = 60_000;
  const HOUR_MS = 60 * MINUTE_MS;
  const DAY_MS = 24 * HOUR_MS;
  const PRICE = 11.9;
  const PRICE_CENTS = 1_190;
  const RESTORE = 99;
  const RESTORE_CENTS = 9_900;
  const FUNDS_CENTS = 1_000_000;

  const CLAIMED = [
    'gold',
    'silver',
    'tin',
    'iron',
    'zinc',
    'lead',
    'neon',
    'argon',
    'radon',
    'xenon',
    'boron',
    'carbon',
  ];
  const claims = new Map(
    CLAIMED.map((label, index) => [`${label}.com`, `2026030100/2/6/${index}/key-of-${label}`] as const),
  );
  const notices = await startNoticeService();
  const noticeService = connectNoticeService(notices.url);
  const launchPhaseOf = (zone: string) => (zone === 'com' ? ({ phase: 'claims' } as const) : undefined);
  const endpoint = {
    fees: {},
    extensionUris: [...EXTENSION_URIS, LAUNCH],
    launchPhaseOf,
    // Of each of the two processes: the registry allows ten sessions together.
    connections: 5,
    limitDelayMs: 50,
    // Of a question for a price or a claim, which has to fail here.
    termsTimeoutMs: 5_000,
  };
  const service = await startDomainsOverEpp({ habits: { claims }, endpoint, noticeService });
  const { db, deliver, later, owner } = service;
  const { clock, core, ours, theirs } = service.epp;
  const adapter = await service.epp.connect(endpoint);
  /** Another process of the same service. */
  const other = await startDomains({
    clock,
    registry: () => adapter,
    sharing: { db, vault: service.vault },
    logger: openTestLogger(),
    parts: { noticeService },
    patience: service.patience,
  });
  after(async () => {
    assert.deepEqual(await auditLedger(db), []);
    await other.close();
    await service.close();
    await noticeService.close();
    await notices.close();
  });
  beforeEach(() => {
    deliver(undefined);
    for (const [name, key] of claims) {
      notices.answer(key, () => {
        const from = clock.now();
        return noticeDocument({
          label: name.replace('.com', ''),
          from,
          until: new Date(from.getTime() + 60 * HOUR_MS),
        });
      });
    }
  });

  const wallet = async ({ workspaceId }: TestWorkspace) => {
    const { availableCents, heldCents } = await readWallet(db, workspaceId);
    return [availableCents, heldCents];
  };
  const billed = async (name: string, kind: string) =>
    (await readBill(db, ours.registrarId)).filter((charge) => charge.name === name && charge.kind === kind).length;
  const orderOf = async (workspace: TestWorkspace, id: string) => (await workspace.get(`/orders/${id}`)).body;
  const restore = (workspace: TestWorkspace, name: string, price = RESTORE) =>
    workspace.post(`/domains/${name}/restore`, { confirm_price: price });
  const buy = (workspace: TestWorkspace, domain: string, others: object = {}) =>
    workspace.post('/domains', { domain, confirm_price: PRICE, ...others });
  const accept = (workspace: TestWorkspace, orderId: string, claims_notice: object, headers = {}) =>
    workspace.post(`/orders/${orderId}/accept-notice`, { claims_notice }, headers);
  const eventsOf = async (workspace: TestWorkspace, type: string) =>
    (await workspace.get(`/events?limit=100`)).body.events.filter((event: { type: string }) => event.type === type);

  /** A busy machine may need more than one look. */
  const becomes = (workspace: TestWorkspace, id: string, status: 'Completed' | 'Failed' | 'NoticeRequired') =>
    eventually(async () => {
      const order = await orderOf(workspace, id);
      if (order.status === status) return order;
      clock.advance(MINUTE_MS);
      await service.domains.orders.sweep();
      return undefined;
    }, `the order is ${status}`);

  /** Names in their redemption period, of one workspace: they have to be older than their first days when they are deleted. */
  const DELETED = [
    ...['gone-1.com', 'over.com', 'mute.com'],
    ...(share === 'all' ? ['gone-0.com', 'gone-2.com', 'placed.com', 'priced.com', 'counted.com', 'lost.com'] : []),
  ];
  let seller: TestWorkspace;
  before(async () => {
    seller = await owner(...DELETED);
    await later(10 * DAY_MS);
    for (const name of DELETED) {
      await eventually(async () => {
        if ((await seller.get(`/domains/${name}`)).body.status === 'Redemption') return true;
        // One whose order a busy machine has not finished cannot be deleted yet.
        await seller.delete(`/domains/${name}`);
        await service.domains.resendDeletions();
        await later(MINUTE_MS);
        return undefined;
      }, `${name} is deleted`);
    }
  });

  /** Whoever waited for an answer is gone, and the registry answers again. */
  async function comeBack(): Promise<void> {
    deliver(undefined);
    service.cutConnections();
  }

  /** Nobody works on the order any more. */
  const atRest = ({ workspaceId }: TestWorkspace, orderId: string) =>
    eventually(async () => {
      const orders = workspaceDb(db, workspaceId).selectFrom('orders').select('lease_until');
      const order = await orders.where('id', '=', orderId).executeTakeFirstOrThrow();
      return order.lease_until === null ? true : undefined;
    }, 'nobody works on the order');

  const TROUBLES = {
    silent: () => deliver(() => ({ kind: 'silent' })),
    'failing (2400)': () => deliver(({ kind }) => (kind === 'login' ? undefined : { kind: 'refused', code: 2400 })),
    'limiting (2502)': () => deliver(({ kind }) => (kind === 'login' ? undefined : { kind: 'refused', code: 2502 })),
  } as const;

  for (const [index, [trouble, begin]] of Object.entries(TROUBLES).entries()) {
    (trouble === 'failing (2400)' ? test : soakTest)?.(
      `a registry that is ${trouble} restores and registers later what is ordered now, once and at the price that was agreed to`,
      async () => {
        const gone = `gone-${index}.com`;
        const claimed = `${CLAIMED[index]}.com`;
        const workspace = seller;
        const { id } = (await workspace.get(`/claims-notices/${claimed}`)).body;
        const [before = 0] = await wallet(workspace);
        await begin();
        const shown = await workspace.get(`/domains/${gone}`);
        assert.equal(shown.body.restoration.price, RESTORE, 'as it is of ordinary names');
        const answers = await Promise.all([
          restore(workspace, gone),
          buy(workspace, claimed, { claims_notice: { id, accepted_at: clock.now().toISOString() } }),
        ]);
        for (const answer of answers) {
          assert.equal(answer.body.status, 'Pending', answer.text);
        }
        assert.deepEqual(await wallet(workspace), [before - RESTORE_CENTS - PRICE_CENTS, RESTORE_CENTS + PRICE_CENTS]);
        await comeBack();
        for (const { body } of answers) {
          await atRest(workspace, body.order_id);
          await becomes(workspace, body.order_id, 'Completed');
        }
        assert.deepEqual([await billed(gone, 'restore'), await billed(claimed, 'create')], [1, 1]);
        assert.deepEqual(await wallet(workspace), [before - RESTORE_CENTS - PRICE_CENTS, 0]);
      },
    );
  }

  describe('while the registry says nothing', () => {
    const silence = () =>
      deliver(({ kind }) =>
        kind === 'domain:check' || kind === 'domain:info' ? { kind: 'refused', code: 2400 } : undefined,
      );

    test('a name that nobody can restore any more gives the money back, and so does one whose registry never answers again', async () => {
      const workspace = seller;
      const before = await wallet(workspace);
      silence();
      const [over, mute] = await Promise.all([restore(workspace, 'over.com'), restore(workspace, 'mute.com')]);
      for (const { body } of [over, mute]) await atRest(workspace, body.order_id);
      deliver(({ kind, name }) =>
        name === 'mute.com' && (kind === 'domain:check' || kind === 'domain:info')
          ? { kind: 'refused', code: 2400 }
          : undefined,
      );
      done(await core.restoreDomain(ours, { name: 'over.com' }));
      const { failure } = await becomes(workspace, over.body.order_id, 'Failed');
      assert.equal(failure.error, 'restore_failed');
      assert.match(failure.message, /over\.com is not deleted, so there is nothing to restore/);
      for (let day = 0; day < 6; day += 1) await later(DAY_MS);
      assert.equal((await orderOf(workspace, mute.body.order_id)).status, 'Pending');
      await later(DAY_MS);
      const unsaid = await orderOf(workspace, mute.body.order_id);
      assert.deepEqual([unsaid.status, unsaid.failure.error], ['Failed', 'restore_failed']);
      assert.match(
        unsaid.failure.message,
        /has not said in seven days what mute\.com costs\. Nothing was charged; repeat the call/,
      );
      assert.deepEqual(await wallet(workspace), before);
      assert.equal(await billed('mute.com', 'restore'), 0);
    });

    soakTest?.('an order whose process ends between two steps is finished by another, and done once', async () => {
      const names = ['placed.com', 'priced.com', 'counted.com'];
      const workspace = seller;
      const { workspaceId } = workspace;
      const [before = 0] = await wallet(workspace);
      const logger = openTestLogger();
      const own = {
        db,
        clock,
        logger,
        background: createBackgroundWork(logger),
        vault: service.vault,
        registry: adapter,
      };
      const deps = { ...own, payments: unconfiguredPayments, prices: standardPrices, nameservers: NAMESERVERS };
      const ids: string[] = [];
      for (const [steps, name] of names.entries()) {
        const row = workspaceDb(db, workspaceId).selectFrom('domains').select('id').where('name', '=', name);
        const { id: domainId } = await row.executeTakeFirstOrThrow();
        const terms = { years: 0, priceCents: RESTORE_CENTS, isPriceUnasked: true } as const;
        const purchase = { workspaceId, kind: 'restoration', origin: 'request', name, ...terms } as const;
        const { order } = await placeOrder(deps, purchase, { domainId });
        ids.push(order.id);
        const isAgreed = async () => (await settlePrice(deps, order)).kind === 'agreed' || undefined;
        // The registry may have hung up on the other process, which connects again.
        if (steps > 0) await eventually(isAgreed, `the price of ${name} is agreed to`);
        if (steps > 1) await countSubmission(workspaceDb(db, workspaceId), order.id, clock.now());
      }
      for (const id of ids) await becomes(workspace, id, 'Completed');
      assert.deepEqual(await Promise.all(names.map((name) => billed(name, 'restore'))), [1, 1, 1]);
      assert.deepEqual(await wallet(workspace), [before - 3 * RESTORE_CENTS, 0]);
    });

    soakTest?.('an answer that is lost afterwards does nothing twice', async () => {
      const workspace = seller;
      const [before = 0] = await wallet(workspace);
      silence();
      const { body } = await restore(workspace, 'lost.com');
      await atRest(workspace, body.order_id);
      let cuts = 0;
      deliver(({ kind }) => {
        if (kind !== 'domain:update' || cuts > 0) return undefined;
        cuts += 1;
        return { kind: 'cut' };
      });
      await becomes(workspace, body.order_id, 'Completed');
      assert.deepEqual([cuts, await billed('lost.com', 'restore')], [1, 1]);
      assert.deepEqual(await wallet(workspace), [before - RESTORE_CENTS, 0]);
    });

    // A year passes: the others are within their redemption period before it.
    soakTest?.(
      'price_changed: a restoration that then costs more, as its term is over meanwhile, gives the money back',
      async () => {
        const workspace = await owner();
        await buy(workspace, 'year.com');
        await workspace.patch('/domains/year.com/settings', { auto_renew: false });
        await later(364 * DAY_MS);
        await workspace.delete('/domains/year.com');
        await later(MINUTE_MS);
        const before = await wallet(workspace);
        silence();
        const { body } = await restore(workspace, 'year.com');
        assert.equal(body.status, 'Pending');
        await atRest(workspace, body.order_id);
        deliver(undefined);
        await later(3 * DAY_MS);
        const order = await becomes(workspace, body.order_id, 'Failed');
        assert.equal(order.failure.error, 'price_changed');
        assert.match(order.failure.message, new RegExp(`${RESTORE + PRICE} EUR .*Nothing was charged`));
        assert.deepEqual(await wallet(workspace), before);
        const again = await restore(workspace, 'year.com', RESTORE + PRICE);
        assert.equal((await becomes(workspace, again.body.order_id, 'Completed')).duration, 1);
      },
    );
  });

  describe('a claimed name that is ordered without its notice while the registry does not say that it is claimed', () => {
    /** The order asks for the notice. */
    async function ordered(name: string, others: object = {}, workspace?: TestWorkspace) {
      const buyer = workspace ?? (await owner());
      deliver(({ kind }) => (kind === 'domain:check' ? { kind: 'refused', code: 2400 } : undefined));
      const answer = await buy(buyer, name, others);
      assert.deepEqual([answer.status, answer.body.status], [201, 'Pending'], answer.text);
      await atRest(buyer, answer.body.order_id);
      deliver(undefined);
      const id: string = answer.body.order_id;
      const { notice_required: wanted } = await becomes(buyer, id, 'NoticeRequired');
      return { workspace: buyer, id, wanted };
    }
    const acceptance = async (workspace: TestWorkspace, name: string) => ({
      id: (await workspace.get(`/claims-notices/${name}`)).body.id as string,
      accepted_at: clock.now().toISOString(),
    });

    test('waits for the notice, says so in its status and by one event, and is registered once it is accepted', async () => {
      const { id, wanted, workspace } = await ordered('lead.com');
      assert.equal(wanted.notice, '/claims-notices/lead.com');
      const leftMs = Date.parse(wanted.until) - clock.now().getTime();
      assert.ok(leftMs > 47 * HOUR_MS && leftMs <= 48 * HOUR_MS, wanted.until);
      const unregistered = await workspace.get('/domains/lead.com');
      assert.deepEqual(refusal(unregistered), [409, 'pending_at_registry']);
      assert.match(unregistered.body.details.message, new RegExp(`notice .* see GET /orders/${id}`));
      await Promise.all([later(HOUR_MS), other.domains.orders.sweep()]);
      const [event, ...further] = await eventsOf(workspace, 'order.notice_required');
      assert.deepEqual(further, []);
      const { notice, order_id, until } = event.data;
      assert.deepEqual([notice, order_id, until], ['/claims-notices/lead.com', id, wanted.until]);
      assert.deepEqual(await wallet(workspace), [FUNDS_CENTS - PRICE_CENTS, PRICE_CENTS]);
      assert.equal(await billed('lead.com', 'create'), 0);

      // The registry is not needed to show it.
      deliver(() => ({ kind: 'refused', code: 2400 }));
      const claims_notice = await acceptance(workspace, 'lead.com');
      deliver(undefined);
      const key = { 'idempotency-key': 'lead-1' };
      const accepted = await accept(workspace, id, claims_notice, key);
      assert.equal(accepted.status, 200, accepted.text);
      assert.equal(accepted.body.claims_notice.id, claims_notice.id);
      assert.equal('notice_required' in accepted.body, false);
      const again = await accept(workspace, id, claims_notice, key);
      assert.deepEqual([again.headers.get('idempotent-replay'), again.body], ['true', accepted.body]);
      assert.equal((await accept(workspace, id, claims_notice)).status, 200);
      await becomes(workspace, id, 'Completed');
      assert.equal(await billed('lead.com', 'create'), 1);
      assert.deepEqual(await wallet(workspace), [FUNDS_CENTS - PRICE_CENTS, 0]);
    });

    test('ends with the money back after 48 hours, and an acceptance that comes later changes nothing', async () => {
      const { id, workspace } = await ordered('neon.com');
      await later(47 * HOUR_MS);
      await createOperator({ db, clock }).retry_order({ id });
      await later(0);
      assert.equal((await orderOf(workspace, id)).status, 'NoticeRequired');
      const late = await acceptance(workspace, 'neon.com');
      await later(HOUR_MS);
      const order = await becomes(workspace, id, 'Failed');
      assert.equal(order.failure.error, 'registration_failed');
      assert.match(
        order.failure.message,
        /notice was not accepted before .* Nothing was charged\. Read GET \/claims-notices\/neon\.com/,
      );
      const [failed] = await eventsOf(workspace, 'order.failed');
      assert.equal(failed.data.order_id, id);
      assert.deepEqual(await wallet(workspace), [FUNDS_CENTS, 0]);
      assert.deepEqual(refusal(await accept(workspace, id, late)), [404, 'not_found']);
      assert.equal(await billed('neon.com', 'create'), 0);
      assert.deepEqual(refusal(await workspace.get('/domains/neon.com')), [404, 'not_found']);
    });

    test('takes no notice of another name or workspace, none that was not shown, and no moment that cannot be', async () => {
      const { id, workspace } = await ordered('argon.com');
      const stranger = await owner();
      const mine = await acceptance(workspace, 'argon.com');
      const refused = [
        [{ ...mine, id: (await acceptance(workspace, 'radon.com')).id }, 'claims_notice_unknown'],
        [{ ...mine, id: (await acceptance(stranger, 'radon.com')).id }, 'claims_notice_unknown'],
        [{ ...mine, id: 'made-up' }, 'claims_notice_unknown'],
      ] as const;
      for (const [notice, reason] of refused) {
        const answer = await accept(workspace, id, notice);
        assert.deepEqual([...refusal(answer), answer.body.details.reason], [422, 'registration_failed', reason]);
      }
      const early = await accept(workspace, id, {
        ...mine,
        accepted_at: new Date(clock.now().getTime() - DAY_MS).toISOString(),
      });
      assert.deepEqual(
        [...refusal(early), early.body.details.param],
        [400, 'bad_request', 'claims_notice.accepted_at'],
      );
      assert.deepEqual(refusal(await workspace.post(`/orders/${id}/accept-notice`, {})), [400, 'bad_request']);
      assert.deepEqual(refusal(await accept(stranger, id, mine)), [404, 'not_found']);
      assert.deepEqual(refusal(await accept(workspace, 'ord_none', mine)), [404, 'not_found']);
      const reader = await workspace.reader.post(`/orders/${id}/accept-notice`, { claims_notice: mine });
      assert.deepEqual(refusal(reader), [403, 'insufficient_scope']);
      const nobody = await service.anybody.post(`/orders/${id}/accept-notice`, { claims_notice: mine });
      assert.deepEqual(refusal(nobody), [401, 'missing_token']);
      assert.equal((await orderOf(workspace, id)).status, 'NoticeRequired');
      assert.equal((await accept(workspace, id, mine)).status, 200);
      await becomes(workspace, id, 'Completed');
    });

    soakTest?.(
      'is registered once, however many accept the notice and look at it at once; one that ends after the acceptance goes on',
      async () => {
        const { id, workspace } = await ordered('radon.com');
        const notice = await acceptance(workspace, 'radon.com');
        // The process that has taken the acceptance ends before it does anything.
        deliver(() => ({ kind: 'silent' }));
        const answers = await Promise.all([accept(workspace, id, notice), accept(workspace, id, notice)]);
        assert.deepEqual(
          answers.map(({ body, status }) => [status, body.status]),
          [
            [200, 'Pending'],
            [200, 'Pending'],
          ],
        );
        await comeBack();
        await atRest(workspace, id);
        await becomes(workspace, id, 'Completed');
        assert.equal(await billed('radon.com', 'create'), 1);
        assert.equal((await eventsOf(workspace, 'order.notice_required')).length, 1);
      },
    );

    soakTest?.('whose acceptance has ended while the registry was away asks for it again', async () => {
      const workspace = await owner();
      const notice = await acceptance(workspace, 'xenon.com');
      deliver(({ kind }) => (kind === 'domain:check' ? { kind: 'refused', code: 2400 } : undefined));
      const { body } = await buy(workspace, 'xenon.com', { claims_notice: notice });
      await atRest(workspace, body.order_id);
      for (let day = 0; day < 2; day += 1) await later(DAY_MS);
      deliver(undefined);
      await later(6 * HOUR_MS);
      const order = await becomes(workspace, body.order_id, 'NoticeRequired');
      assert.equal('claims_notice' in order, false);
      await accept(workspace, body.order_id, await acceptance(workspace, 'xenon.com'));
      await becomes(workspace, body.order_id, 'Completed');
    });

    soakTest?.(
      'asks nobody to accept anything where somebody else was faster, and a name that nobody claims needs nothing',
      async () => {
        await core.createContact(theirs, testContact('FASTER'));
        const workspace = await owner();
        deliver(({ kind }) => (kind === 'domain:check' ? { kind: 'refused', code: 2400 } : undefined));
        const [taken, free] = await Promise.all([
          buy(workspace, 'taken-elsewhere.com'),
          buy(workspace, 'unclaimed.com'),
        ]);
        for (const { body } of [taken, free]) await atRest(workspace, body.order_id);
        deliver(undefined);
        const failed = await becomes(workspace, taken.body.order_id, 'Failed');
        assert.equal(failed.failure.error, 'registration_failed');
        await becomes(workspace, free.body.order_id, 'Completed');
        assert.deepEqual(await eventsOf(workspace, 'order.notice_required'), []);
      },
    );
  });
}
