/** Other holders at a registry where that is a command of its own with a price, over EPP: at once, and when both have consented there. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import type { Message } from '../../src/domains/mail/index.ts';
import { createOperator } from '../../src/domains/operator/index.ts';
import { EXTENSION_URIS, frnicUri } from '../../src/domains/registry/epp/namespaces.ts';
import { readBill } from '../../src/domains/registry/simulated/index.ts';
import { auditLedger, readWallet } from '../../src/domains/wallet/index.ts';
import type { Share } from '../conformance/take-turns.ts';
import type { TestWorkspace } from './domains.ts';
import { startDomainsOverEpp, type TestDomainsOverEpp } from './domains-over-epp.ts';
import { refusal } from './orders.ts';
import { pricesWithTrades } from './prices.ts';
import { done } from './simulated-registry.ts';
import { eventually } from './turns.ts';

export async function testTrades(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const MINUTE_MS = 60_000;
  const HOUR_MS = 60 * MINUTE_MS;
  const DAY_MS = 24 * HOUR_MS;
  const PRICE = 15;
  /** What the registry asks. */
  const COST_CENTS = 700;
  const tradeUri = frnicUri('1.2');
  const outbox: Message[] = [];
  const mailer = { send: async (message: Message) => void outbox.push(message) };

  function startTrading(
    tradeSeconds: number,
    {
      addGraceDays,
      lacksPoll = false,
      lockDays,
    }: { addGraceDays?: number; lacksPoll?: boolean; lockDays?: number } = {},
  ) {
    const addGrace = addGraceDays === undefined ? {} : { addGrace: { days: addGraceDays, feeCents: 0 } };
    return startDomainsOverEpp({
      mailer,
      prices: pricesWithTrades(PRICE * 100, lockDays),
      habits: { tradeUri },
      endpoint: { tradeUri, extensionUris: [...EXTENSION_URIS, tradeUri], connections: 4, lacksPoll, ...addGrace },
      tradeSeconds,
    });
  }

  /** What the tests of each service need. */
  function handsOf({ anybody: _, db, domains, epp, owner }: TestDomainsOverEpp) {
    const { core, ours } = epp;
    return {
      trade: (workspace: TestWorkspace, name: string, more = {}, headers = {}) =>
        workspace.post(`/domains/${name}/trade`, { confirm_price: PRICE, ...more }, headers),
      /** Its workspace has another registrant by now, which its registry was told of. */
      async sold(name: string, next = 'Grace Hopper') {
        const workspace = await owner(name);
        const { status, text } = await workspace.patch('/registrant', { name: next });
        assert.equal(status, 200, text);
        await domains.resendChanges();
        return workspace;
      },
      async holderOf(name: string) {
        const { contacts, registrant } = done(await core.infoDomain(ours, { name }));
        const { postalInfo } = done(await core.infoContact(ours, { id: registrant }));
        return [postalInfo[0]?.name, contacts.every(({ id }) => id === registrant), contacts.length];
      },
      async wallet({ workspaceId }: TestWorkspace) {
        const { availableCents, heldCents } = await readWallet(db, workspaceId);
        return [availableCents, heldCents];
      },
      async billOf(name: string) {
        const charges = await readBill(db, ours.registrarId);
        return charges
          .filter((charge) => charge.name === name && charge.kind === 'trade')
          .map((one) => one.amount_cents);
      },
      details: async (workspace: TestWorkspace, name: string) => (await workspace.get(`/domains/${name}`)).body,
      orderOf: async (workspace: TestWorkspace, id: string) => (await workspace.get(`/orders/${id}`)).body,
    };
  }

  describe('a registry that trades at once', async () => {
    const service = await startTrading(0);
    const { answerWrongly, cutConnections, db, deliver, domains, later, owner } = service;
    const { clock, core, ours } = service.epp;
    const { billOf, details, holderOf, orderOf, sold, trade, wallet } = handsOf(service);
    after(async () => {
      assert.deepEqual(await auditLedger(db), []);
      await service.close();
    });
    beforeEach(() => {
      deliver(undefined);
      answerWrongly(undefined);
    });
    afterEach(() => service.letNamesGo());

    test('a new registrant is told that the name keeps its holder, sees what the trade costs, and buys it', async () => {
      const workspace = await sold('sold.com');
      assert.deepEqual(await holderOf('sold.com'), ['Test', true, 3]);
      const [mail] = outbox.filter(({ subject }) => subject === 'sold.com has another holder at its registry');
      assert.match(mail?.text ?? '', /by a trade alone.*POST \/domains\/sold\.com\/trade/);
      const before = await details(workspace, 'sold.com');
      assert.deepEqual(before.trade, {
        price: PRICE,
        currency: 'EUR',
        present: { name: 'Test', organization: null },
        next: { name: 'Grace Hopper', organization: null },
        order_id: null,
      });
      const [money = 0] = await wallet(workspace);
      const wrong = await trade(workspace, 'sold.com', { confirm_price: 1 });
      assert.deepEqual([...refusal(wrong), wrong.body.details.current_price], [409, 'price_changed', PRICE]);

      const key = { 'idempotency-key': 'trade-1' };
      const bought = await trade(workspace, 'sold.com', {}, key);
      const { expires_at, order_id, ...rest } = bought.body;
      assert.deepEqual(
        [bought.status, rest],
        [
          200,
          {
            domain: 'sold.com',
            kind: 'trade',
            status: 'Completed',
            duration: 0,
            price: PRICE,
            currency: 'EUR',
            paid_with: 'wallet',
          },
        ],
        bought.text,
      );
      assert.equal(expires_at, before.expires_at);
      const again = await trade(workspace, 'sold.com', {}, key);
      assert.deepEqual([again.headers.get('idempotent-replay'), again.body], ['true', bought.body]);
      assert.deepEqual(await holderOf('sold.com'), ['Grace Hopper', true, 3]);
      assert.deepEqual([await wallet(workspace), await billOf('sold.com')], [[money - PRICE * 100, 0], [COST_CENTS]]);

      const order = await orderOf(workspace, order_id);
      assert.deepEqual([order.status, order.holder], ['Completed', { name: 'Grace Hopper', organization: null }]);
      const { events } = (await workspace.get('/events')).body;
      const told = events.find(({ type }: { type: string }) => type === 'domain.traded');
      assert.deepEqual([told?.data.domain, told?.data.order_id], ['sold.com', order_id]);
      const shown = await details(workspace, 'sold.com');
      assert.deepEqual([shown.trade, shown.transfer_locked_until], [null, null]);
      assert.deepEqual(shown.renewal.billed_until, before.renewal.billed_until);
      const next = await trade(workspace, 'sold.com');
      assert.deepEqual([...refusal(next), next.body.details.reason], [422, 'trade_failed', 'same_holder']);
    });

    soakTest?.('another address, phone or e-mail address takes no trade', async () => {
      const workspace = await owner('moved.com');
      const { registrant } = done(await core.infoDomain(ours, { name: 'moved.com' }));
      await workspace.patch('/registrant', { contact: { city: 'Arlington', phone: null } });
      await domains.resendChanges();
      const after = done(await core.infoDomain(ours, { name: 'moved.com' }));
      const { postalInfo } = done(await core.infoContact(ours, { id: registrant }));
      assert.deepEqual([after.registrant, postalInfo[0]?.city, postalInfo[0]?.name], [registrant, 'Arlington', 'Test']);
      assert.deepEqual([(await details(workspace, 'moved.com')).trade, await billOf('moved.com')], [null, []]);
      // What waits to be changed is made, although the holder stays.
      await workspace.patch('/registrant', { name: 'Grace Hopper' });
      const set = await workspace.patch('/domains/moved.com/settings', { registrar_lock: true });
      assert.equal(set.status, 200, set.text);
      await domains.resendChanges();
      assert.equal((await details(workspace, 'moved.com')).registrar_lock, true);
    });

    test('without money, and at a registry that refuses the holder, nothing is changed and nothing is charged', async () => {
      const poor = await service.createWorkspace();
      await poor.fund(1_190);
      await poor.patch('/registrant', { contact: { city: 'London', country: 'GB' } });
      await poor.post('/domains', { domain: 'poor.com', confirm_price: 11.9 });
      await poor.patch('/registrant', { name: 'Grace Hopper' });
      const short = await trade(poor, 'poor.com');
      assert.deepEqual(
        [...refusal(short), short.body.details.required, short.body.details.available],
        [402, 'insufficient_balance', PRICE * 100, 0],
      );
      assert.deepEqual(await holderOf('poor.com'), ['Test', true, 3]);

      const workspace = await sold('refuse-trade-me.com');
      const before = await wallet(workspace);
      const refused = await trade(workspace, 'refuse-trade-me.com');
      assert.deepEqual(refusal(refused), [422, 'trade_failed']);
      assert.match(refused.body.details.message, /do not allow .* to have that holder.*Nothing was charged/);
      assert.deepEqual(await wallet(workspace), before);
      assert.equal((await details(workspace, 'refuse-trade-me.com')).status, 'Active');

      const locked = await sold('bolted.com');
      await locked.patch('/domains/bolted.com/settings', { registrar_lock: true });
      const kept = await trade(locked, 'bolted.com');
      assert.deepEqual(refusal(kept), [422, 'trade_failed']);
      assert.match(kept.body.details.message, /registrar_lock/);
      assert.deepEqual([await billOf('bolted.com'), (await wallet(locked))[1]], [[], 0]);
    });

    soakTest?.('a registrant without what the registry wants of one is told before money is set aside', async () => {
      const workspace = await sold('homeless.com');
      await workspace.patch('/registrant', { contact: { city: null } });
      const refused = await trade(workspace, 'homeless.com');
      assert.deepEqual([...refusal(refused), refused.body.details.missing], [422, 'trade_failed', ['city']]);
      assert.match(refused.body.details.message, /contact\.city/);
    });

    for (const [what, kind] of [
      ['an answer that is lost', 'cut'],
      ['a command that is lost', 'silent'],
    ] as const) {
      (kind === 'cut' ? test : soakTest)?.(`${what} changes the holder once, and is paid once`, async () => {
        const name = `${kind}-away.com`;
        const workspace = await sold(name);
        const [money = 0] = await wallet(workspace);
        let count = 0;
        deliver((command) => {
          if (command.kind !== 'domain:trade') return undefined;
          // The first asks whether a trade is under way.
          count += 1;
          return count === 2 ? { kind } : undefined;
        });
        const { body, status, text } = await trade(workspace, name);
        assert.equal(status, 200, text);
        deliver(undefined);
        cutConnections();
        for (let round = 0; round < 3; round += 1) await later(HOUR_MS);
        assert.equal((await orderOf(workspace, body.order_id)).status, 'Completed');
        assert.deepEqual([await holderOf(name), await billOf(name)], [['Grace Hopper', true, 3], [COST_CENTS]]);
        assert.deepEqual(await wallet(workspace), [money - PRICE * 100, 0]);
      });
    }

    soakTest?.('bought while the registry is silent, it waits, and asks what is so before it is sent', async () => {
      const [waits, late] = [await sold('waits.com'), await sold('too-late.com')];
      await details(waits, 'waits.com');
      deliver(() => ({ kind: 'silent' }));
      const orders: string[] = [];
      for (const [workspace, name] of [
        [waits, 'waits.com'],
        [late, 'too-late.com'],
      ] as const) {
        const { body, status, text } = await trade(workspace, name);
        assert.deepEqual([status, body.status], [200, 'Pending'], text);
        assert.equal((await wallet(workspace))[1], PRICE * 100);
        orders.push(body.order_id);
      }
      // Somebody has it done by hand meanwhile.
      const { registrant } = done(await core.infoDomain(ours, { name: 'too-late.com' }));
      const { authInfo: _, ...contact } = done(await core.infoContact(ours, { id: registrant }));
      const [form] = contact.postalInfo;
      assert.ok(form !== undefined);
      const byHand = {
        ...contact,
        id: 'BY-HAND-1',
        authInfo: 'by-hand-1',
        postalInfo: [{ ...form, name: 'Grace Hopper' }],
      };
      done(await core.createContact(ours, byHand));
      done(
        await core.requestTrade(ours, { name: 'too-late.com', registrant: 'BY-HAND-1', contacts: [], keepsKeys: true }),
      );
      deliver(undefined);
      cutConnections();
      for (let round = 0; round < 3; round += 1) await later(HOUR_MS);
      const [first = '', second = ''] = orders;
      assert.equal((await orderOf(waits, first)).status, 'Completed');
      const failed = await orderOf(late, second);
      assert.deepEqual([failed.status, failed.failure.error], ['Failed', 'trade_failed']);
      assert.match(failed.failure.message, /has that holder at its registry already\. Nothing was charged/);
      assert.deepEqual([(await wallet(late))[1], await billOf('waits.com')], [0, [COST_CENTS]]);
    });

    test('of two at once one is bought', async () => {
      const workspace = await sold('twice.com');
      const [money = 0] = await wallet(workspace);
      const answers = await Promise.all([trade(workspace, 'twice.com'), trade(workspace, 'twice.com')]);
      const [won, lost] = answers.toSorted((a, b) => a.status - b.status);
      assert.deepEqual([won?.status, won?.body.status], [200, 'Completed'], won?.text);
      assert.ok(lost !== undefined && ['pending_operation', 'trade_failed'].includes(lost.body.error), lost?.text);
      assert.deepEqual([await wallet(workspace), await billOf('twice.com')], [[money - PRICE * 100, 0], [COST_CENTS]]);
    });

    soakTest?.('one that has asked what the registry has, and comes after another, is not paid for', async () => {
      const workspace = await sold('overtaken.com');
      const [money = 0] = await wallet(workspace);
      let reads = 0;
      deliver((command) => {
        if (command.kind !== 'domain:info' || command.name !== 'overtaken.com') return undefined;
        reads += 1;
        return reads === 2 ? { kind: 'slow', delayMs: 700 } : undefined;
      });
      const slow = trade(workspace, 'overtaken.com');
      await eventually(async () => reads === 2 || undefined, 'the second read of the first trade');
      const answers = [await trade(workspace, 'overtaken.com'), await slow];
      deliver(undefined);
      const [won, lost] = answers.toSorted((a, b) => a.status - b.status);
      assert.deepEqual([won?.status, won?.body.status], [200, 'Completed'], won?.text);
      assert.ok(lost !== undefined && ['pending_operation', 'trade_failed'].includes(lost.body.error), lost?.text);
      assert.deepEqual(
        [await wallet(workspace), await billOf('overtaken.com')],
        [[money - PRICE * 100, 0], [COST_CENTS]],
      );
    });

    test('a process that is killed after the command has left loses nothing, and another one finds out', async () => {
      const workspace = await sold('killed.com');
      const [money = 0] = await wallet(workspace);
      let count = 0;
      deliver(({ kind }) => {
        count += kind === 'domain:trade' ? 1 : 0;
        if (kind !== 'domain:trade' || count !== 2) return undefined;
        answerWrongly((command, name) => (command === 'info' && name === 'killed.com' ? 2400 : undefined));
        return { kind: 'cut' };
      });
      const { body, text } = await trade(workspace, 'killed.com');
      assert.equal(body.status, 'Pending', text);
      answerWrongly(undefined);
      await eventually(async () => {
        const { rows } = await db.query({
          text: 'select 1 from domains.orders where id = $1 and lease_until is null',
          values: [body.order_id],
        });
        return rows[0];
      }, 'the end of what the call has begun');
      // As the dead process has left it: with its lease.
      const until = new Date(clock.now().getTime() + MINUTE_MS);
      const leased = await db.query({
        text: `update domains.orders set lease_until = $2, next_look_at = $2 where id = $1 and state = 'submitted' and submissions = 1`,
        values: [body.order_id, until],
      });
      assert.equal(leased.rowCount, 1);
      await later(MINUTE_MS / 2);
      assert.equal((await orderOf(workspace, body.order_id)).status, 'Pending');
      await later(5 * MINUTE_MS);
      assert.equal((await orderOf(workspace, body.order_id)).status, 'Completed');
      assert.deepEqual([await wallet(workspace), await billOf('killed.com')], [[money - PRICE * 100, 0], [COST_CENTS]]);
    });

    soakTest?.('a name that comes from another registrar keeps its holder until a trade is bought', async () => {
      const workspace = await owner();
      const moved = { auth_code: 'simulated-auth', confirm_price: 11.9 };
      const { status, text } = await workspace.post('/domains/quick-transfer-held.com/transfer', moved);
      assert.equal(status, 201, text);
      await later(HOUR_MS);
      await domains.resendChanges();
      const { present, next } = (await details(workspace, 'quick-transfer-held.com')).trade;
      assert.equal(next.name, 'Test');
      assert.notEqual(present?.name, 'Test');
      const bought = await trade(workspace, 'quick-transfer-held.com');
      assert.deepEqual([bought.body.status, bought.body.kind], ['Completed', 'trade'], bought.text);
      assert.deepEqual(await holderOf('quick-transfer-held.com'), ['Test', true, 3]);
    });

    soakTest?.(
      'where our account at the registry is empty the order keeps its money, waits for the operator, and goes on',
      async () => {
        const workspace = await sold('no-credit.com');
        const [money = 0] = await wallet(workspace);
        let count = 0;
        deliver(({ kind }) => {
          count += kind === 'domain:trade' ? 1 : 0;
          return kind === 'domain:trade' && count === 2 ? { kind: 'refused', code: 2104 } : undefined;
        });
        const { body, text } = await trade(workspace, 'no-credit.com');
        assert.equal(body.status, 'Pending', text);
        assert.deepEqual(await wallet(workspace), [money - PRICE * 100, PRICE * 100]);
        const { orders } = await createOperator({ db, clock }).orders_needing_attention({});
        assert.ok(orders.some(({ id }) => id === body.order_id));
        await later(HOUR_MS);
        assert.equal((await orderOf(workspace, body.order_id)).status, 'Completed');
        assert.deepEqual(await billOf('no-credit.com'), [COST_CENTS]);
      },
    );

    test('the registrar is billed what customers have paid for, and nothing else', async () => {
      const paid = await db.query<{ name: string }>({
        text: `select name from domains.orders where kind = 'trade' and state = 'completed' order by name`,
        values: [],
      });
      const billed = (await readBill(db, ours.registrarId))
        .filter(({ kind }) => kind === 'trade')
        .map(({ name }) => name);
      // One was done by hand.
      assert.deepEqual(
        billed.filter((name) => name !== 'too-late.com').toSorted(),
        paid.rows.map(({ name }) => name),
      );
      assert.ok(paid.rows.length >= (share === 'all' ? 5 : 3));
    });
  });

  describe('a registry that asks both holders', async () => {
    const service = await startTrading(3 * 86_400);
    const { db, deliver, later, cutConnections } = service;
    const { clock, core, ours } = service.epp;
    const { billOf, details, holderOf, orderOf, sold, trade, wallet } = handsOf(service);
    after(async () => {
      assert.deepEqual(await auditLedger(db), []);
      await service.close();
    });
    beforeEach(() => deliver(undefined));
    afterEach(() => service.letNamesGo());

    /** So much later, with the registry's messages of what it has ended by then. */
    async function ended(ms: number): Promise<void> {
      clock.advance(ms);
      await core.runDue();
      await later(0);
    }

    test('it is pending for days, shown with the name, and done with the message of the registry', async () => {
      const workspace = await sold('patient.com');
      const [money = 0] = await wallet(workspace);
      const { body, text } = await trade(workspace, 'patient.com');
      assert.deepEqual([body.status, body.kind], ['Pending', 'trade'], text);
      const shown = await details(workspace, 'patient.com');
      assert.deepEqual([shown.trade.order_id, shown.status], [body.order_id, 'Active']);
      assert.deepEqual(refusal(await trade(workspace, 'patient.com')), [409, 'pending_operation']);
      await later(DAY_MS);
      const renewed = await workspace.post('/domains/patient.com/renew', { confirm_price: 11.9 });
      assert.equal(renewed.body.status, 'Completed', renewed.text);
      // Who the registrant is when it ends is another matter.
      await workspace.patch('/registrant', { contact: { organization: 'Navy' } });
      assert.deepEqual([await billOf('patient.com'), (await wallet(workspace))[1]], [[], PRICE * 100]);
      await ended(2 * DAY_MS);
      assert.equal((await orderOf(workspace, body.order_id)).status, 'Completed');
      assert.deepEqual(await holderOf('patient.com'), ['Grace Hopper', true, 3]);
      assert.deepEqual(await wallet(workspace), [money - PRICE * 100 - 1_190, 0]);
      assert.deepEqual(await billOf('patient.com'), [COST_CENTS]);
      const offered = (await details(workspace, 'patient.com')).trade;
      assert.deepEqual(
        [offered.present, offered.next.organization],
        [{ name: 'Grace Hopper', organization: null }, 'Navy'],
      );
    });

    test('one of both does not consent: the money goes back, and the order says why', async () => {
      const workspace = await sold('reject-trade-me.com');
      const before = await wallet(workspace);
      const { body, text } = await trade(workspace, 'reject-trade-me.com');
      assert.equal(body.status, 'Pending', text);
      // A registry that tells of trades by messages alone.
      deliver(({ kind }) => (kind === 'domain:trade' ? { kind: 'refused', code: 2303 } : undefined));
      await ended(3 * DAY_MS);
      deliver(undefined);
      const { failure, status } = await orderOf(workspace, body.order_id);
      assert.deepEqual([status, failure.error], ['Failed', 'trade_failed']);
      assert.match(failure.message, /one of both has not consented to it there\. Nothing was charged/);
      assert.deepEqual([await wallet(workspace), await billOf('reject-trade-me.com')], [before, []]);
      assert.deepEqual(await holderOf('reject-trade-me.com'), ['Test', true, 3]);
      // The end of that one is not the end of the next.
      const next = await trade(workspace, 'reject-trade-me.com');
      assert.equal(next.body.status, 'Pending', next.text);
      await later(HOUR_MS);
      assert.equal((await orderOf(workspace, next.body.order_id)).status, 'Pending');
    });

    soakTest?.('what an earlier trade has come to, and its late message, says nothing of the next', async () => {
      const workspace = await sold('reject-trade-again.com');
      deliver(({ kind }) => (kind === 'poll' ? { kind: 'refused', code: 2400 } : undefined));
      const first = await trade(workspace, 'reject-trade-again.com');
      await later(3 * DAY_MS);
      assert.equal((await orderOf(workspace, first.body.order_id)).status, 'Failed', 'it is asked for');
      let count = 0;
      let isHeldBack = true;
      deliver(({ kind }) => {
        count += kind === 'domain:trade' ? 1 : 0;
        if (kind === 'poll') return { kind: 'refused', code: 2400 };
        return kind === 'domain:trade' && count >= 2 ? { kind: 'refused', code: 2400 } : undefined;
      });
      const next = await trade(workspace, 'reject-trade-again.com');
      assert.equal(next.body.status, 'Pending', next.text);
      // The message is there, and the command is not.
      deliver(({ kind }) => (kind === 'domain:trade' && isHeldBack ? { kind: 'refused', code: 2400 } : undefined));
      await later(MINUTE_MS);
      isHeldBack = false;
      await later(HOUR_MS);
      const { failure, status } = await orderOf(workspace, next.body.order_id);
      assert.deepEqual([status, failure], ['Pending', null]);
      assert.equal(done(await core.queryTrade(ours, { name: 'reject-trade-again.com' })).status, 'pending');
    });

    soakTest?.('a lost answer to one that waits does not ask the holders again', async () => {
      const workspace = await sold('asked-once.com');
      let count = 0;
      deliver(({ kind }) => {
        count += kind === 'domain:trade' ? 1 : 0;
        return kind === 'domain:trade' && count === 2 ? { kind: 'cut' } : undefined;
      });
      const { body, text } = await trade(workspace, 'asked-once.com');
      assert.equal(body.status, 'Pending', text);
      await later(HOUR_MS);
      deliver(undefined);
      cutConnections();
      await later(HOUR_MS);
      const { requestedAt } = done(await core.queryTrade(ours, { name: 'asked-once.com' }));
      await later(3 * DAY_MS);
      assert.equal((await orderOf(workspace, body.order_id)).status, 'Completed');
      assert.deepEqual(done(await core.queryTrade(ours, { name: 'asked-once.com' })).requestedAt, requestedAt);
      assert.deepEqual(await billOf('asked-once.com'), [COST_CENTS]);
    });

    soakTest?.('one that somebody else began is waited for, and nothing is charged', async () => {
      const workspace = await sold('begun.com');
      const before = await wallet(workspace);
      const { registrant } = done(await core.infoDomain(ours, { name: 'begun.com' }));
      const { authInfo: _, ...contact } = done(await core.infoContact(ours, { id: registrant }));
      const [form] = contact.postalInfo;
      assert.ok(form !== undefined);
      const other = {
        ...contact,
        id: 'SOMEBODY-1',
        authInfo: 'somebody-1',
        postalInfo: [{ ...form, name: 'Somebody' }],
      };
      done(await core.createContact(ours, other));
      done(
        await core.requestTrade(ours, { name: 'begun.com', registrant: 'SOMEBODY-1', contacts: [], keepsKeys: true }),
      );
      const refused = await trade(workspace, 'begun.com');
      assert.deepEqual(refusal(refused), [422, 'trade_failed']);
      assert.match(refused.body.details.message, /giving begun\.com another holder already/);
      assert.deepEqual(await wallet(workspace), before);
    });
  });

  soakTest?.('a registry without messages is asked what has become of a trade', async () => {
    const service = await startTrading(86_400, { lacksPoll: true });
    const { holderOf, orderOf, sold, trade, wallet } = handsOf(service);
    try {
      for (const [name, status, holder, heldAfter] of [
        ['unsaid.com', 'Completed', 'Grace Hopper', 1],
        ['reject-trade-unsaid.com', 'Failed', 'Test', 0],
      ] as const) {
        const workspace = await sold(name);
        const [money = 0] = await wallet(workspace);
        const { body } = await trade(workspace, name);
        assert.equal(body.status, 'Pending');
        await service.later(DAY_MS);
        await service.later(HOUR_MS);
        assert.equal((await orderOf(workspace, body.order_id)).status, status);
        assert.deepEqual(await wallet(workspace), [money - heldAfter * PRICE * 100, 0]);
        assert.equal((await holderOf(name))[0], holder);
      }
    } finally {
      await service.close();
    }
  });

  soakTest?.('a name that is deleted in its first days gives back what it cost, and not its trade', async () => {
    const service = await startTrading(0, { addGraceDays: 5 });
    const { clock, ours } = service.epp;
    const { billOf, sold, trade, wallet } = handsOf(service);
    const workspace = await sold('traded-early.com');
    const [available] = await wallet(workspace);
    assert.equal((await trade(workspace, 'traded-early.com')).body.status, 'Completed');
    clock.advance(DAY_MS);
    const { body, text } = await workspace.delete('/domains/traded-early.com');
    assert.deepEqual([body.status, body.refunded], ['Deleted', 11.9], text);
    assert.deepEqual(await wallet(workspace), [Number(available) - PRICE * 100 + 1_190, 0]);
    assert.deepEqual(await billOf('traded-early.com'), [COST_CENTS]);
    const bill = await readBill(service.db, ours.registrarId);
    assert.equal(
      bill.reduce((sum, charge) => sum + charge.amount_cents, 0),
      COST_CENTS,
    );
    assert.deepEqual(await auditLedger(service.db), []);
    await service.close();
  });

  soakTest?.('at a registry that has no trades nothing is sold that an update does', async () => {
    const service = await startDomainsOverEpp();
    try {
      const workspace = await service.owner('plain.com');
      assert.equal((await workspace.get('/domains/plain.com')).body.trade, null);
      const refused = await workspace.post('/domains/plain.com/trade', { confirm_price: 0 });
      assert.deepEqual([...refusal(refused), refused.body.details.reason], [422, 'trade_failed', 'not_needed']);
    } finally {
      await service.close();
    }
  });

  soakTest?.(
    'where changes take consents and lock transfers, the days begin anew with the trade, unless the registrant does not want that',
    async () => {
      const service = await startTrading(0, { lockDays: 60 });
      const { anybody, domains, epp, later, owner } = service;
      const { holderOf, trade } = handsOf(service);
      const inDays = (days: number) => new Date(epp.clock.now().getTime() + days * DAY_MS).toISOString();
      try {
        for (const [name, transfer_lock] of [
          ['bolted-after.com', true],
          ['free-after.com', false],
        ] as const) {
          const workspace = await owner(name);
          const early = await trade(workspace, name, { transfer_lock });
          assert.equal(early.body.details.reason, 'same_holder', early.text);
          await workspace.patch('/registrant', { name: 'Grace Hopper', transfer_lock });
          const to = `${workspace.userId}@example.com`;
          const mail = await eventually(
            () => outbox.find((one) => one.to === to && /consent/.test(one.subject)),
            'the mail',
          );
          const code = /consent#(\S+)$/m.exec(mail.text)?.[1];
          assert.equal((await anybody.post('/registrant/change/consent', { code })).body.status, 'Changed');
          await domains.resendChanges();
          assert.equal((await holderOf(name))[0], 'Test', 'the consent alone changes nothing at the registry');
          await later(10 * DAY_MS);
          const { body, text } = await trade(workspace, name, { transfer_lock });
          assert.equal(body.status, 'Completed', text);
          await domains.resendChanges();
          const shown = (await workspace.get(`/domains/${name}`)).body;
          assert.deepEqual(
            [shown.transfer_locked_until, shown.registrar_lock],
            [transfer_lock ? inDays(60) : null, transfer_lock],
          );
          assert.equal((await holderOf(name))[0], 'Grace Hopper');
        }
      } finally {
        await service.close();
      }
    },
  );
}
