/** A registry where our account has run out of credit (2104), and one that takes only so many commands (2502, 2500), over EPP. */
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { createBackgroundWork } from '../../src/domains/background-work.ts';
import { createOperator } from '../../src/domains/operator/index.ts';
import { advanceOrder, leaseAndAdvanceOrder } from '../../src/domains/orders/advance-order.ts';
import { placeOrder } from '../../src/domains/orders/place-order.ts';
import { limitCommands } from '../../src/domains/registry/epp/index.ts';
import type { Registry } from '../../src/domains/registry/registry.ts';
import { readBill } from '../../src/domains/registry/simulated/index.ts';
import { auditLedger, readWallet, unconfiguredPayments } from '../../src/domains/wallet/index.ts';
import type { Share } from '../conformance/take-turns.ts';
import { NAMESERVERS, type TestWorkspace } from './domains.ts';
import { startDomainsOverEpp } from './domains-over-epp.ts';
import { refusal } from './orders.ts';
import { standardPrices } from './prices.ts';
import { done, testContact } from './simulated-registry.ts';
import { openTestLogger } from './test-log.ts';
import { eventually } from './turns.ts';

export async function testRegistryLimits(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const confirm_price = 11.9;
  const MINUTE_MS = 60_000;
  const HOUR_MS = 60 * MINUTE_MS;
  const DAY_MS = 24 * HOUR_MS;

  let creditCents: number | undefined;
  const credit = () => (creditCents === undefined ? undefined : { cents: creditCents });
  const poor = await startDomainsOverEpp({
    credit,
    special: { reserved: new Set(['kept.com']) },
    endpoint: { limitDelayMs: 50 },
  });
  after(() => poor.close());
  afterEach(() => poor.letNamesGo());
  const { db, deliver, later, owner, registry } = poor;
  const { clock, core, ours, theirs } = poor.epp;
  const operator = createOperator({ db, clock });

  const balance = async ({ workspaceId }: TestWorkspace) => {
    const { availableCents, heldCents } = await readWallet(db, workspaceId);
    return [availableCents, heldCents];
  };
  const bill = async (name: string) =>
    (await readBill(db, ours.registrarId)).filter((charge) => charge.name === name).map(({ kind }) => kind);
  const statusOf = async (workspace: TestWorkspace, name: string) =>
    (await workspace.get('/domains')).body.domains.find(({ domain }: { domain: string }) => domain === name)?.status;

  test('an order that our credit does not cover waits with its money, and is carried out once there is credit again', async () => {
    const workspace = await owner('renewed.com');
    const [before = 0] = await balance(workspace);
    creditCents = 1_000;
    const bought = await workspace.post('/domains', { domain: 'waits.com', confirm_price });
    const renewed = await workspace.post('/domains/renewed.com/renew', { confirm_price });
    assert.deepEqual([bought.status, bought.body.status], [201, 'Pending'], bought.text);
    assert.deepEqual([renewed.status, renewed.body.status], [200, 'Pending'], renewed.text);
    assert.deepEqual(await balance(workspace), [before - 2_380, 2_380]);

    const { orders } = await operator.orders_needing_attention({});
    assert.deepEqual(orders.map(({ name, waits_for_credit }) => [name, waits_for_credit]).sort(), [
      ['renewed.com', true],
      ['waits.com', true],
    ]);
    assert.match(orders[0]?.registry_said ?? '', /^2104: Billing failure/);
    await later(2 * DAY_MS);
    await later(2 * DAY_MS);
    assert.deepEqual(await balance(workspace), [before - 2_380, 2_380]);
    assert.deepEqual([await bill('waits.com'), await bill('renewed.com')], [[], ['create']]);

    creditCents = undefined;
    await later(HOUR_MS);
    assert.deepEqual([await bill('waits.com'), await bill('renewed.com')], [['create'], ['create', 'renew']]);
    assert.deepEqual(await balance(workspace), [before - 2_380, 0]);
    assert.equal(await statusOf(workspace, 'waits.com'), 'Active');
    assert.deepEqual((await operator.orders_needing_attention({})).orders, []);
    assert.deepEqual(await auditLedger(db), []);
  });

  soakTest?.(
    'a name that somebody else gets while its order waits for credit fails it, and the money goes back',
    async () => {
      const workspace = await owner();
      creditCents = 0;
      await workspace.post('/domains', { domain: 'lost.com', confirm_price });
      creditCents = undefined;
      await core.createContact(theirs, testContact('QUICKER'));
      done(
        await core.createDomain(theirs, { name: 'lost.com', years: 1, registrant: 'QUICKER', authInfo: 'of-theirs' }),
      );
      await later(HOUR_MS);
      assert.deepEqual(await balance(workspace), [1_000_000, 0]);
      assert.deepEqual((await workspace.get('/domains')).body.domains, []);
      assert.deepEqual(await bill('lost.com'), []);
    },
  );

  test('commands beyond the limit of a minute are sent again later, and nothing is lost or done twice', async () => {
    const workspace = await owner();
    const names = ['limited-1.com', 'limited-2.com', 'limited-3.com'];
    // Enough for two orders, each with its contact, its hosts and the name.
    deliver(limitCommands({ perMinute: 14 }, clock, () => undefined));
    const buy = (domain: string) => workspace.post('/domains', { domain, confirm_price });
    const answers = await Promise.all(names.map(buy));
    for (let count = 0; count < 8; count += 1) await later(10 * MINUTE_MS);
    deliver(undefined);
    const bought = names.filter((_, index) => answers[index]?.status === 201);
    assert.notEqual(bought.length, 0, answers[0]?.text);
    for (const name of bought) assert.deepEqual([name, await bill(name)], [name, ['create']]);
    assert.deepEqual(await balance(workspace), [1_000_000 - 1_190 * bought.length, 0]);
    assert.deepEqual(await auditLedger(db), []);
  });

  soakTest?.('a registry that ends each session after a few commands is served all the same', async () => {
    const workspace = await owner();
    deliver(limitCommands({ perSession: 2 }, clock, () => undefined));
    const answer = await workspace.post('/domains', { domain: 'short.com', confirm_price });
    assert.equal(answer.status, 201, answer.text);
    for (let count = 0; count < 5; count += 1) await later(10 * MINUTE_MS);
    deliver(undefined);
    assert.equal(await statusOf(workspace, 'short.com'), 'Active');
    assert.deepEqual(await bill('short.com'), ['create']);
    assert.deepEqual(await balance(workspace), [1_000_000 - 1_190, 0]);
  });

  test('customers read of refusals in our words, and the operator in those of the registry', async () => {
    const workspace = await owner('stays.com');
    await core.createContact(theirs, testContact('CODED'));
    done(await core.createDomain(theirs, { name: 'coded.com', years: 1, registrant: 'CODED', authInfo: 'of-theirs' }));
    done(
      await core.updateDomain(ours, {
        name: 'stays.com',
        statuses: { add: ['clientDeleteProhibited', 'clientRenewProhibited'] },
      }),
    );
    const transfer = await workspace.post('/domains/coded.com/transfer', { confirm_price, auth_code: 'not-the-code' });
    const refused = {
      registration: await workspace.post('/domains', { domain: 'kept.com', confirm_price }),
      renewal: await workspace.post('/domains/stays.com/renew', { confirm_price }),
      transfer,
      deletion: await workspace.delete('/domains/stays.com'),
    };
    const codes = Object.values(refused).map((answer) => refusal(answer));
    assert.deepEqual(codes, [
      [422, 'registration_failed'],
      [422, 'renew_failed'],
      [422, 'transfer_failed'],
      [422, 'delete_failed'],
    ]);
    for (const [operation, { body }] of Object.entries(refused)) {
      assert.doesNotMatch(
        body.details.message,
        /client\w+Prohibited|policy error|status|invalid|[12]\d{3}:/i,
        operation,
      );
    }
    assert.match(transfer.body.details.message, /The auth code is not that of coded\.com.*Nothing was charged\./);
    const shown = await operator.show_order({ id: transfer.body.details.order_id });
    assert.match(shown.registry_said ?? '', /^2202: Invalid authorization information: .*auth code of coded\.com/);
  });

  test('an order whose command takes longer than its lease is worked on by nobody else meanwhile', async () => {
    const workspace = await owner();
    creditCents = 0;
    const { body } = await workspace.post('/domains', { domain: 'late.com', confirm_price });
    creditCents = undefined;
    clock.advance(HOUR_MS);
    const [answered, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const late: Registry = {
      ...registry,
      async create(command) {
        const outcome = await registry.create(command);
        asked.resolve();
        await answered.promise;
        return outcome;
      },
    };
    const logger = openTestLogger();
    const background = createBackgroundWork(logger);
    const own = {
      db,
      clock,
      logger,
      background,
      vault: poor.vault,
      payments: unconfiguredPayments,
      prices: standardPrices,
      nameservers: NAMESERVERS,
    };
    const order = async () => operator.show_order({ id: body.order_id });
    const working = leaseAndAdvanceOrder(
      { ...own, registry: late, leaseBeatMs: 1 },
      workspace.workspaceId,
      body.order_id,
    );
    await asked.promise;
    for (let count = 0; count < 3; count += 1) {
      clock.advance(50_000);
      const until = clock.now().getTime() + 60_000;
      const isKept = async () => new Date((await order()).next_look_at ?? 0).getTime() === until || undefined;
      await eventually(isKept, 'the lease is extended');
      await poor.domains.orders.sweep();
      assert.deepEqual([(await order()).state, (await order()).submissions], ['submitted', 2]);
    }
    answered.resolve();
    await working;
    assert.equal((await order()).state, 'completed');
    assert.deepEqual(await bill('late.com'), ['create']);
    assert.deepEqual(await balance(workspace), [1_000_000 - 1_190, 0]);
  });

  test('an order whose turn has not come keeps its money, is not looked for, and is sent once when it comes', async () => {
    const { workspaceId } = await owner();
    const logger = openTestLogger();
    const own = { db, clock, logger, background: createBackgroundWork(logger), vault: poor.vault };
    const deps = { ...own, payments: unconfiguredPayments, prices: standardPrices, nameservers: NAMESERVERS };
    const asked: string[] = [];
    const busy: Registry = {
      ...registry,
      create: async () => ({ kind: 'unknown', reason: 'its turn did not come', isUnsent: true }),
      info: async (name) => void asked.push(name),
    };
    const name = 'patient.com';
    const baseline = { kind: 'absent', at: clock.now().toISOString() } as const;
    const { order } = await placeOrder(
      { ...deps, registry },
      { workspaceId, kind: 'registration', origin: 'request', name, years: 1, priceCents: 1_190, baseline },
    );
    await advanceOrder({ ...deps, registry: busy }, order, { isFirst: true });
    for (let count = 0; count < 3; count += 1) {
      const { state, submissions } = await operator.show_order({ id: order.id });
      assert.deepEqual([state, submissions, asked], ['submitted', 0, []]);
      clock.advance(20_000);
      await leaseAndAdvanceOrder({ ...deps, registry: busy }, workspaceId, order.id);
    }
    clock.advance(20_000);
    await leaseAndAdvanceOrder({ ...deps, registry }, workspaceId, order.id);
    assert.equal((await operator.show_order({ id: order.id })).state, 'completed');
    assert.deepEqual(await bill(name), ['create']);
  });
}
