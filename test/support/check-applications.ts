/** Names that are applied for while their TLD is being launched, at prices of their own: over HTTP and EPP. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { createBackgroundWork } from '../../src/domains/background-work.ts';
import { createOperator } from '../../src/domains/operator/index.ts';
import type { OrderRow } from '../../src/domains/orders/order.ts';
import { placeOrder } from '../../src/domains/orders/place-order.ts';
import { markPending } from '../../src/domains/orders/settle-order.ts';
import { EXTENSION_URIS, LAUNCH } from '../../src/domains/registry/epp/namespaces.ts';
import { readBill } from '../../src/domains/registry/simulated/index.ts';
import { auditLedger, readWallet, unconfiguredPayments } from '../../src/domains/wallet/index.ts';
import { createStripePayments } from '../../src/domains/wallet/payments/stripe-payments.ts';
import { systemDb, workspaceDb } from '../../src/domains/workspace-scope.ts';
import type { Share } from '../conformance/take-turns.ts';
import { startStripe } from '../fakes/stripe-server.ts';
import { NAMESERVERS, type TestWorkspace } from './domains.ts';
import { startDomainsOverEpp, type TestDomainsOverEpp } from './domains-over-epp.ts';
import { launchedCom, type TestLaunch } from './launches.ts';
import { connectNoticeService, noticeDocument, startNoticeService } from './notice-service.ts';
import { refusal } from './orders.ts';
import { standardPrices } from './prices.ts';
import { done } from './simulated-registry.ts';
import { openTestLogger } from './test-log.ts';
import { eventually } from './turns.ts';

export async function testApplications(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const HOUR_MS = 3_600_000;
  const FUNDS_CENTS = 1_000_000;
  const REGISTRATION_CENTS = 1_190;
  const APPLICATION_CENTS = 5_000;
  const COST_CENTS = 4_000;
  /** What the registry asks for a year. */
  const CREATE_CENTS = 1_000;
  const CENTS = REGISTRATION_CENTS + APPLICATION_CENTS;
  const confirm_price = CENTS / 100;
  const LANDRUSH = {
    phase: { phase: 'landrush' },
    applicationCents: APPLICATION_CENTS,
    costCents: COST_CENTS,
  } as const;

  type Options = NonNullable<Parameters<typeof startDomainsOverEpp>[0]>;

  function start(launch: TestLaunch, { endpoint, habits, ...options }: Options = {}): Promise<TestDomainsOverEpp> {
    const { launches, launchPhaseOf, prices } = launchedCom(launch);
    return startDomainsOverEpp({
      prices,
      habits: { launches, ...habits },
      endpoint: {
        fees: {},
        extensionUris: [...EXTENSION_URIS, LAUNCH],
        launchPhaseOf,
        connections: 4,
        limitDelayMs: 50,
        ...endpoint,
      },
      ...options,
    });
  }

  /** What an application costs is kept where the name is lost. */
  let keeping: TestDomainsOverEpp;
  /** The same; the registry has no messages. For the soak. */
  let quiet: TestDomainsOverEpp;
  /** It comes back. For the soak. */
  let refunding: TestDomainsOverEpp;
  const started: TestDomainsOverEpp[] = [];
  before(async () => {
    keeping = await start(LANDRUSH);
    started.push(keeping);
    if (share === 'some') return;
    quiet = await start(LANDRUSH, { endpoint: { lacksPoll: true } });
    refunding = await start({ ...LANDRUSH, refundsLost: true });
    started.push(quiet, refunding);
  });
  after(async () => {
    for (const service of started) {
      assert.deepEqual(await auditLedger(service.db), []);
      await service.close();
    }
  });

  afterEach(async () => {
    for (const service of started) await service.letNamesGo();
  });

  const buy = (workspace: TestWorkspace, domain: string, others: object = {}) =>
    workspace.post('/domains', { domain, confirm_price, ...others });

  async function applyFor(workspace: TestWorkspace, domain: string, others: object = {}): Promise<string> {
    const bought = await buy(workspace, domain, others);
    assert.deepEqual([bought.status, bought.body.status], [201, 'Pending'], bought.text);
    return bought.body.order_id;
  }

  const orderOf = async (workspace: TestWorkspace, id: string) => (await workspace.get(`/orders/${id}`)).body;

  async function balance({ db }: TestDomainsOverEpp, { workspaceId }: TestWorkspace) {
    const { availableCents, heldCents } = await readWallet(db, workspaceId);
    return [availableCents, heldCents];
  }

  /** What the registry bills for the name, by kinds of charges. */
  async function billed({ db, epp }: TestDomainsOverEpp, name: string) {
    const charges = await readBill(db, epp.ours.registrarId);
    return charges.filter((charge) => charge.name === name).map(({ kind, amount_cents: cents }) => [kind, cents]);
  }

  /** A busy machine may need more than one look. */
  const becomes = (service: TestDomainsOverEpp, workspace: TestWorkspace, id: string, status: string) =>
    eventually(async () => {
      const order = await orderOf(workspace, id);
      if (order.status === status) return order;
      await service.later(HOUR_MS);
      return undefined;
    }, `the order is ${status}`);

  async function rowOf({ db }: TestDomainsOverEpp, { workspaceId }: TestWorkspace, id: string): Promise<OrderRow> {
    return workspaceDb(db, workspaceId).selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  }

  /** What a process of the service works with. */
  function partsOf({ db, epp, registry, vault }: TestDomainsOverEpp) {
    const logger = openTestLogger();
    return {
      ...{ db, vault, registry, logger, clock: epp.clock, background: createBackgroundWork(logger) },
      ...{ payments: unconfiguredPayments, prices: standardPrices, nameservers: NAMESERVERS },
    };
  }

  const movementsOf = async (workspace: TestWorkspace, id: string) =>
    (await workspace.get('/wallet/ledger?limit=100')).body.movements
      .filter(({ order_id }: { order_id: string | null }) => order_id === id)
      .map(({ available_change_cents, held_change_cents, kind }: Record<string, unknown>) => [
        kind,
        available_change_cents,
        held_change_cents,
      ])
      .reverse();

  test('a check says the phase, that names are applied for, and what that costs', async () => {
    const { body } = await keeping.anybody.get('/check?q=gold.com');
    const [{ launch, price, requires, status }] = body.results;
    assert.deepEqual([status, requires], ['available', undefined]);
    assert.deepEqual(launch, { phase: 'landrush', applications: true });
    assert.deepEqual(
      [price.register, price.application, price.application_refunded_when_lost],
      [11.9, APPLICATION_CENTS / 100, false],
    );
    const { body: tlds } = await keeping.anybody.get('/tlds');
    assert.deepEqual(
      [tlds.tlds[0].launch, tlds.tlds[0].application],
      [{ phase: 'landrush', applications: true }, APPLICATION_CENTS / 100],
    );
  });

  soakTest?.('a check says that the price of an application comes back where it does', async () => {
    const { body } = await refunding.anybody.get('/check?q=gold.com');
    assert.equal(body.results[0].price.application_refunded_when_lost, true);
  });

  test('the price of the registration alone buys no application', async () => {
    const workspace = await keeping.owner();
    const refused = await workspace.post('/domains', { domain: 'cheap.com', confirm_price: 11.9 });
    assert.deepEqual([...refusal(refused), refused.body.details.current_price], [409, 'price_changed', confirm_price]);
    assert.deepEqual(await balance(keeping, workspace), [FUNDS_CENTS, 0]);
  });

  for (const [how, serviceOf, declare] of [
    ['a message', () => keeping, test],
    ['looking at it', () => quiet, soakTest],
  ] as const) {
    declare?.(
      `what an application costs is spent at once, and the rest when the name is allocated, by ${how}`,
      async () => {
        const service = serviceOf();
        const workspace = await service.owner();
        const id = await applyFor(workspace, 'slow-mine.com');
        const { application, application_id } = await orderOf(workspace, id);
        assert.match(application_id, /-/);
        assert.deepEqual(
          { ...application, taken_at: typeof application.taken_at },
          { phase: 'landrush', price: 50, refunded_when_lost: false, taken_at: 'string' },
        );
        assert.deepEqual(await balance(service, workspace), [FUNDS_CENTS - CENTS, REGISTRATION_CENTS]);
        assert.deepEqual(await billed(service, 'slow-mine.com'), [['application', COST_CENTS]]);
        const operator = createOperator({ db: service.db, clock: service.epp.clock });
        assert.equal((await operator.show_order({ id })).application?.amount_cents, APPLICATION_CENTS);

        await becomes(service, workspace, id, 'Completed');
        assert.equal((await workspace.get('/domains/slow-mine.com')).body.status, 'Active');
        assert.deepEqual(await balance(service, workspace), [FUNDS_CENTS - CENTS, 0]);
        assert.deepEqual(await movementsOf(workspace, id), [
          ['hold', -CENTS, CENTS],
          ['application', 0, -APPLICATION_CENTS],
          ['capture', 0, -REGISTRATION_CENTS],
        ]);
        assert.deepEqual(await billed(service, 'slow-mine.com'), [
          ['application', COST_CENTS],
          ['create', CREATE_CENTS],
        ]);
      },
    );

    declare?.(`of a lost application all but its price comes back, by ${how}`, async () => {
      const service = serviceOf();
      const workspace = await service.owner();
      const id = await applyFor(workspace, 'reject-lost.com');
      const order = await becomes(service, workspace, id, 'Failed');
      assert.equal(order.failure.error, 'registration_failed');
      assert.match(
        order.failure.message,
        /rejected the application for reject-lost\.com\. The application cost 50\.00 EUR, which is not given back; the rest is\./,
      );
      assert.deepEqual(await balance(service, workspace), [FUNDS_CENTS - APPLICATION_CENTS, 0]);
      assert.deepEqual(await billed(service, 'reject-lost.com'), [['application', COST_CENTS]]);
      assert.deepEqual((await workspace.get('/domains')).body.domains, []);
    });
  }

  soakTest?.('what comes back of a lost application is held until then', async () => {
    const workspace = await refunding.owner();
    const id = await applyFor(workspace, 'reject-back.com');
    assert.deepEqual(await balance(refunding, workspace), [FUNDS_CENTS - CENTS, CENTS]);
    const order = await becomes(refunding, workspace, id, 'Failed');
    assert.match(order.failure.message, /Nothing was charged\./);
    assert.deepEqual(await balance(refunding, workspace), [FUNDS_CENTS, 0]);
    assert.deepEqual(await billed(refunding, 'reject-back.com'), [
      ['application', COST_CENTS],
      ['application', -COST_CENTS],
    ]);
    const won = await applyFor(workspace, 'slow-won.com');
    await becomes(refunding, workspace, won, 'Completed');
    assert.deepEqual(await balance(refunding, workspace), [FUNDS_CENTS - CENTS, 0]);
  });

  soakTest?.('an application is lost where the name is allocated to another registrar', async () => {
    const workspace = await keeping.owner();
    const id = await applyFor(workspace, 'reject-theirs.com');
    const { core, theirRegistrant: registrant, theirs } = keeping.epp;
    await core.runDue();
    done(await core.createDomain(theirs, { name: 'reject-theirs.com', years: 1, registrant, authInfo: 'theirs-1' }));
    // The registry rejects whatever is called so, but for this one.
    const text = `update domains.registry_domains set phase = 'active', pending = null, due_at = null where name = $1`;
    await keeping.db.query({ text, values: ['reject-theirs.com'] });
    await becomes(keeping, workspace, id, 'Failed');
    assert.deepEqual(await balance(keeping, workspace), [FUNDS_CENTS - APPLICATION_CENTS, 0]);
  });

  for (const [end, name, left] of [
    ['Completed', 'slow-unheard.com', FUNDS_CENTS - CENTS],
    ['Failed', 'reject-unheard.com', FUNDS_CENTS - APPLICATION_CENTS],
  ] as const) {
    (end === 'Completed' ? test : soakTest)?.(
      `an application whose answer is lost is not sent twice, and ends ${end} by the message of its end`,
      async () => {
        const workspace = await keeping.owner();
        let sent = 0;
        keeping.deliver((command) => {
          if (command.kind !== 'domain:create') return undefined;
          sent += 1;
          return { kind: 'cut' };
        });
        const id = await applyFor(workspace, name);
        await eventually(async () => {
          const { attention_reason: reason } = await createOperator({
            db: keeping.db,
            clock: keeping.epp.clock,
          }).show_order({ id });
          return reason?.includes('Whether the application has arrived is not known') ? true : undefined;
        }, 'the operator is told');
        keeping.deliver(undefined);
        assert.deepEqual(await balance(keeping, workspace), [FUNDS_CENTS - CENTS, CENTS]);
        await becomes(keeping, workspace, id, end);
        assert.equal(sent, 1);
        assert.deepEqual(await balance(keeping, workspace), [left, 0]);
        assert.equal((await billed(keeping, name)).filter(([kind]) => kind === 'application').length, 1);
      },
    );
  }

  /** An application whose process died before it had written down the answer. */
  async function applyAndDie(workspace: TestWorkspace, name: string): Promise<string> {
    const { order } = await placeOrder(partsOf(keeping), {
      ...{ workspaceId: workspace.workspaceId, kind: 'registration', origin: 'request', name, years: 1 },
      ...{ priceCents: CENTS, launchPhase: { phase: 'landrush' } },
      ...{ application: { cents: APPLICATION_CENTS, isRefunded: false } },
      baseline: { kind: 'absent', at: keeping.epp.clock.now().toISOString() },
    });
    const sent = await keeping.registry.create({
      ...{ name, years: 1, nameservers: [], isPrivate: true, transactionId: `${order.id}.1` },
      registrant: { name: 'Kim', email: 'kim@example.com', street: '1 Mill Lane', city: 'London', country: 'GB' },
      application: { phase: 'landrush' },
    });
    assert.equal(sent.kind, 'pending');
    assert.equal((await rowOf(keeping, workspace, order.id)).state, 'submitted');
    return order.id;
  }

  test('a process that dies before it has written down the answer leaves an application that is not repeated', async () => {
    const workspace = await keeping.owner();
    const name = 'reject-died.com';
    const id = await applyAndDie(workspace, name);
    await becomes(keeping, workspace, id, 'Failed');
    assert.deepEqual(await balance(keeping, workspace), [FUNDS_CENTS - APPLICATION_CENTS, 0]);
    assert.deepEqual(await billed(keeping, name), [['application', COST_CENTS]]);
  });

  soakTest?.('nor does the message of its end get lost, which is followed later', async () => {
    const workspace = await keeping.owner();
    const name = 'reject-deferred.com';
    const id = await applyAndDie(workspace, name);
    keeping.deliver(({ kind }) => (kind === 'domain:info' ? { kind: 'refused', code: 2400 } : undefined));
    await eventually(async () => {
      await keeping.later(HOUR_MS);
      // The registry decides when somebody asks.
      await keeping.epp.core.infoDomain(keeping.epp.ours, { name });
      const rows = await systemDb(keeping.db).selectFrom('deferred_messages').select('name').execute();
      return rows.some((row) => row.name === name) ? true : undefined;
    }, 'the message waits');
    keeping.deliver(undefined);
    await becomes(keeping, workspace, id, 'Failed');
    assert.deepEqual(await balance(keeping, workspace), [FUNDS_CENTS - APPLICATION_CENTS, 0]);
  });

  test('two workers that hear of an application at once spend its price once', async () => {
    const workspace = await keeping.owner();
    keeping.deliver((command) => (command.kind === 'domain:create' ? { kind: 'cut' } : undefined));
    const id = await applyFor(workspace, 'slow-twice.com');
    await eventually(
      async () => ((await rowOf(keeping, workspace, id)).lease_until === null ? true : undefined),
      'nobody works on the order',
    );
    keeping.deliver(undefined);
    const row = await rowOf(keeping, workspace, id);
    const deps = partsOf(keeping);
    const at = new Date(keeping.epp.clock.now().getTime() + HOUR_MS);
    await Promise.all(Array.from({ length: 4 }, () => markPending(deps, row, at, 'app-1')));
    assert.deepEqual(await balance(keeping, workspace), [FUNDS_CENTS - CENTS, REGISTRATION_CENTS]);
    await becomes(keeping, workspace, id, 'Completed');
    assert.deepEqual(await balance(keeping, workspace), [FUNDS_CENTS - CENTS, 0]);
  });

  soakTest?.('at a registry that is silent the order asks by itself, and applies when it answers', async () => {
    const workspace = await keeping.owner();
    keeping.deliver(() => ({ kind: 'refused', code: 2400 }));
    const id = await applyFor(workspace, 'slow-silent.com');
    assert.equal('application' in (await orderOf(workspace, id)), false, 'what it is, is not known yet');
    assert.deepEqual(await balance(keeping, workspace), [FUNDS_CENTS - CENTS, CENTS]);
    keeping.deliver(undefined);
    await becomes(keeping, workspace, id, 'Completed');
    assert.deepEqual(await balance(keeping, workspace), [FUNDS_CENTS - CENTS, 0]);
    assert.equal((await orderOf(workspace, id)).application.price, 50);
  });

  soakTest?.(
    'an order that the registry has not taken before the phase ends fails, and all of its money comes back',
    async () => {
      // The clock of the tests begins in March.
      const until = new Date('2026-04-01T00:00:00Z');
      const service = await start({ ...LANDRUSH, until });
      try {
        const workspace = await service.owner();
        service.deliver(() => ({ kind: 'refused', code: 2400 }));
        const unasked = await applyFor(workspace, 'late.com');
        service.deliver((command) =>
          command.kind.startsWith('contact:') || command.kind === 'domain:create'
            ? { kind: 'refused', code: 2502 }
            : undefined,
        );
        const unsent = await applyFor(workspace, 'later.com');
        service.epp.clock.advance(until.getTime() - service.epp.clock.now().getTime());
        service.deliver(undefined);
        for (const id of [unasked, unsent]) {
          const order = await becomes(service, workspace, id, 'Failed');
          assert.match(order.failure.message, /another phase|seven days/);
          assert.match(order.failure.message, /Nothing was charged/);
        }
        assert.deepEqual(await balance(service, workspace), [FUNDS_CENTS, 0]);
        assert.deepEqual(await auditLedger(service.db), []);
      } finally {
        await service.close();
      }
    },
  );

  soakTest?.('a card is charged for all of it, and has back what a lost application does not cost', async () => {
    const stripe = await startStripe();
    const payments = createStripePayments({
      secretKey: stripe.secretKey,
      apiUrl: stripe.url,
      returnUrl: 'https://shop.example/done',
      logger: openTestLogger(),
    });
    const service = await start(LANDRUSH, { parts: { payments } });
    try {
      const workspace = await service.owner();
      const id = await applyFor(workspace, 'reject-card.com', { payment_method: 'pm_card_visa' });
      // The first answer is lost, and the second time it is Stripe that fails, when the money is on its way.
      for (const fault of ['drop_before', 'drop_before', 'fail'] as const) {
        stripe.failNextPost('/v1/refunds', 'payment_intent', fault);
      }
      await becomes(service, workspace, id, 'Failed');
      for (let sweep = 0; sweep < 4; sweep += 1) await service.later(HOUR_MS);
      const cents = (amounts: Iterable<{ amount: number }>) => [...amounts].map(({ amount }) => amount);
      assert.deepEqual(cents(stripe.intents.values()), [CENTS]);
      assert.deepEqual(cents(stripe.refunds.values()), [REGISTRATION_CENTS]);
      assert.deepEqual(await balance(service, workspace), [FUNDS_CENTS, 0]);
      assert.deepEqual(await auditLedger(service.db), []);
    } finally {
      await service.close();
      await stripe.close();
    }
  });

  soakTest?.('a phase of the registry’s own takes names at once, where they come with its name', async () => {
    const service = await start({ phase: { phase: 'custom', name: 'founders' } });
    try {
      const { body } = await service.anybody.get('/check?q=gold.com');
      assert.deepEqual(body.results[0].launch, { phase: 'custom', name: 'founders', applications: false });
      const workspace = await service.owner();
      const bought = await buy(workspace, 'founder.com', { confirm_price: 11.9 });
      assert.deepEqual([bought.status, bought.body.status], [201, 'Completed'], bought.text);
      assert.equal('application' in (await orderOf(workspace, bought.body.order_id)), false);
    } finally {
      await service.close();
    }
  });

  soakTest?.('a name that a trademark claims is applied for with its notice', async () => {
    const notices = await startNoticeService();
    const noticeService = connectNoticeService(notices.url);
    const claims = new Map([['slow-gold.com', 'key-of-gold']]);
    const service = await start({ ...LANDRUSH, requires: 'claims_notice' }, { habits: { claims }, noticeService });
    try {
      const workspace = await service.owner();
      notices.answer('key-of-gold', () => {
        const from = service.epp.clock.now();
        return noticeDocument({ label: 'slow-gold', from, until: new Date(from.getTime() + 40 * HOUR_MS) });
      });
      const { body } = await service.anybody.get('/check?q=slow-gold.com');
      assert.deepEqual(
        [body.results[0].requires, body.results[0].launch.phase, body.results[0].price.application],
        ['claims_notice', 'landrush', 50],
      );
      const refused = await buy(workspace, 'slow-gold.com');
      assert.equal(refused.body.details.reason, 'claims_notice_required');
      const { body: notice } = await workspace.get('/claims-notices/slow-gold.com');
      const claims_notice = { id: notice.id, accepted_at: service.epp.clock.now().toISOString() };
      const id = await applyFor(workspace, 'slow-gold.com', { claims_notice });
      const order = await becomes(service, workspace, id, 'Completed');
      assert.deepEqual([order.claims_notice.id, order.application.phase], [notice.id, 'landrush']);
      const unclaimed = await applyFor(workspace, 'slow-unclaimed.com');
      await becomes(service, workspace, unclaimed, 'Completed');
    } finally {
      await service.close();
      await noticeService.close();
      await notices.close();
    }
  });

  soakTest?.('a name with a price of its own costs its application besides', async () => {
    const special = { premium: new Map([['slow-dear.com', 50_000]]), reserved: new Set<string>() };
    const service = await start(LANDRUSH, { special });
    try {
      const workspace = await service.owner();
      const { body } = await service.anybody.get('/check?q=slow-dear.com');
      const { application, premium, register } = body.results[0].price;
      assert.deepEqual([register, application, premium], [600, 50, true]);
      const id = await applyFor(workspace, 'slow-dear.com', { confirm_price: 650 });
      assert.deepEqual(await balance(service, workspace), [FUNDS_CENTS - 65_000, 60_000]);
      await becomes(service, workspace, id, 'Completed');
      assert.deepEqual(await billed(service, 'slow-dear.com'), [
        ['application', COST_CENTS],
        ['create', 50_000],
      ]);
    } finally {
      await service.close();
    }
  });
}
