import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Message } from '../../src/domains/mail/index.ts';
import { sendExpiryNotices } from '../../src/domains/notices/index.ts';
import { systemDb } from '../../src/domains/workspace-scope.ts';
import { createLogger } from '../../src/kernel/log/log.ts';
import type { Share } from '../conformance/take-turns.ts';
import type { TestWorkspace } from './domains.ts';
import { DAY_MS, startOrders, type TestOrders } from './orders.ts';
import { standardPrices } from './prices.ts';

export async function testNotices(share: Share): Promise<void> {
  const outbox: Message[] = [];
  let isCutOff = false;
  const mailer = {
    async send(message: Message) {
      outbox.push(message);
      if (isCutOff) throw new Error('the connection was cut after the message');
    },
  };
  const service = await startOrders({ mailer });
  after(async () => {
    await service.close();
  });

  const logger = createLogger({ logLevel: 'silent' });
  const send = ({ clock, db, registry }: TestOrders) =>
    sendExpiryNotices({ clock, db, registry, mailer, logger, prices: standardPrices });

  async function own(
    owner: TestOrders,
    name: string,
    { funds = 1_190, autoRenew = false } = {},
  ): Promise<TestWorkspace> {
    const workspace = await owner.fundedWorkspace(funds);
    const bought = await workspace.post('/domains', { domain: name, confirm_price: 11.9 });
    assert.equal(bought.status, 201, bought.text);
    const { status, text } = await workspace.patch(`/domains/${name}/settings`, { auto_renew: autoRenew });
    assert.equal(status, 200, text);
    return workspace;
  }

  /** To so long before the end of the name's term, negative after it, with everything done and told that is due by then. */
  async function to(owner: TestOrders, name: string, days: number): Promise<void> {
    const rows = systemDb(owner.db).selectFrom('domains').select('expires_at').where('name', '=', name);
    const { expires_at: end } = await rows.executeTakeFirstOrThrow();
    await owner.later((end?.getTime() ?? 0) - days * DAY_MS - owner.clock.now().getTime());
    await owner.domains.renewals.runDue();
    await owner.domains.unpaidNames.runDue();
    await send(owner);
  }

  const mailsAbout = (name: string) => outbox.filter(({ text }) => text.includes(name));
  const subjectsAbout = (name: string) => mailsAbout(name).map(({ subject }) => subject.replace(name, '…'));

  describe('an owner is told of a term that ends', () => {
    test('30, 14, 7 and 1 days before and once after, each time once', async () => {
      await own(service, 'told.com');
      const days = [30.1, 30, 29, 14, 7, 2, 1, 0.5, -0.1, -4.9, -6];
      const told: number[] = [];
      for (const day of days) {
        await to(service, 'told.com', day);
        await send(service);
        told.push(mailsAbout('told.com').length);
      }
      assert.deepEqual(told, [0, 1, 1, 2, 3, 3, 4, 4, 5, 5, 5]);
      assert.deepEqual(subjectsAbout('told.com'), [
        '… expires within 30 days',
        '… expires within 14 days',
        '… expires within 7 days',
        '… expires tomorrow',
        '… has expired',
      ]);
      for (const { text } of mailsAbout('told.com')) {
        assert.match(
          text,
          /Auto-renew is off\.\n\nTo keep it, renew it: POST \/domains\/told\.com\/renew\. It costs 11\.90 EUR\./,
        );
      }
    });

    test('by an event for each notice: domain.expiring before the end of the term, domain.expired after it', async () => {
      const workspace = await own(service, 'event.com');
      for (const day of [30, 14, 7, 1, -0.1]) {
        await to(service, 'event.com', day);
        await send(service);
      }
      const { events } = (await workspace.get('/events')).body;
      const told = events.filter(({ type }: { type: string }) => /^domain\.expir/.test(type)).reverse();
      assert.deepEqual(
        told.map(({ type }: { type: string }) => type),
        ['domain.expiring', 'domain.expiring', 'domain.expiring', 'domain.expiring', 'domain.expired'],
      );
    });

    test('only of what is true by now, where the service was away', async () => {
      await own(service, 'late.com');
      await to(service, 'late.com', 5);
      assert.deepEqual(subjectsAbout('late.com'), ['… expires within 7 days']);
    });

    test('of a wallet that does not cover auto-renew, and by how much; no more once it is renewed', async () => {
      const workspace = await own(service, 'short.com', { funds: 1_290, autoRenew: true });
      await to(service, 'short.com', 29);
      const [mail] = mailsAbout('short.com');
      assert.match(mail?.text ?? '', /Auto-renew is on, and your wallet is 10\.90 EUR short of the price/);
      await workspace.fund(1_090);
      await to(service, 'short.com', 13);
      assert.equal(mailsAbout('short.com').length, 1);
      await service.assertBooksAreRight();
    });

    test('and that auto-renew has given up', async () => {
      await own(service, 'lapsing.com', { autoRenew: true });
      await to(service, 'lapsing.com', 20);
      await to(service, 'lapsing.com', 7);
      assert.match(
        mailsAbout('lapsing.com')[1]?.text ?? '',
        /has not renewed it: your wallet did not cover the price\./,
      );
    });

    test('not where auto-renew renews it', async () => {
      await own(service, 'covered.com', { funds: 2_380, autoRenew: true });
      // The charge is due, and not made yet.
      const rows = systemDb(service.db).selectFrom('domains').select('expires_at').where('name', '=', 'covered.com');
      const { expires_at: end } = await rows.executeTakeFirstOrThrow();
      await service.later((end?.getTime() ?? 0) - 30 * DAY_MS - service.clock.now().getTime());
      await send(service);
      await service.domains.renewals.runDue();
      await service.later(25 * DAY_MS);
      await send(service);
      assert.deepEqual(subjectsAbout('covered.com'), []);
    });
  });

  describe('a notice is one message', () => {
    test('however many processes send it', async () => {
      await own(service, 'replicas.com');
      await to(service, 'replicas.com', 31);
      service.clock.advance(DAY_MS);
      await Promise.all([send(service), send(service), send(service), send(service)]);
      assert.equal(mailsAbout('replicas.com').length, 1);
    });

    test('a process that dies over it loses nothing, and it is sent again as the same message', async () => {
      await own(service, 'cut.com');
      isCutOff = true;
      await to(service, 'cut.com', 30);
      isCutOff = false;
      await send(service);
      assert.equal(mailsAbout('cut.com').length, 1);
      service.clock.advance(900_000);
      await send(service);
      service.clock.advance(900_000);
      await send(service);
      const [first, second, ...rest] = mailsAbout('cut.com');
      assert.deepEqual([first, rest], [second, []]);
      assert.match(first?.id ?? '', /^msg_/);
    });
  });

  if (share === 'all')
    describe('at a registry that renews by itself', async () => {
      const renewing = await startOrders({ mailer, simulated: { autoRenewGraceDays: 45 } });
      after(() => renewing.close());
      test('the message of the suspension is the one after the end of the term', async () => {
        await own(renewing, 'suspended.com');
        for (const day of [20, -0.1, -4]) await to(renewing, 'suspended.com', day);
        assert.deepEqual(subjectsAbout('suspended.com'), [
          '… expires within 30 days',
          '… is suspended: its term was not paid for',
        ]);
      });

      test('a name that cannot be suspended is told of all the same', async () => {
        await own(renewing, 'stuck.com');
        renewing.plan(
          'stuck.com',
          Array.from({ length: 9 }, () => ({ command: 'update', moment: 'before', fault: 'timeout' })),
        );
        for (const day of [-0.1, -2.9, -3]) await to(renewing, 'stuck.com', day);
        assert.deepEqual(subjectsAbout('stuck.com'), ['… has expired']);
      });
    });
}
