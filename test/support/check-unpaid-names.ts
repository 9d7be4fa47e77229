/** Names that nobody pays for, at a registry that renews by itself, over EPP. The registry's bill must be what customers have paid for. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import type { Message } from '../../src/domains/mail/index.ts';
import { createOperator } from '../../src/domains/operator/index.ts';
import type { Delivery } from '../../src/domains/registry/epp/server/deliveries.ts';
import { readBill } from '../../src/domains/registry/simulated/index.ts';
import { createUnpaidNames } from '../../src/domains/renewals/unpaid-names.ts';
import { systemDb } from '../../src/domains/workspace-scope.ts';
import type { Share } from '../conformance/take-turns.ts';
import type { TestWorkspace } from './domains.ts';
import { startDomainsOverEpp } from './domains-over-epp.ts';
import { refusal } from './orders.ts';
import { done, testContact } from './simulated-registry.ts';
import { openTestLogger } from './test-log.ts';

export async function testUnpaidNames(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const MINUTE_MS = 60_000;
  const HOUR_MS = 60 * MINUTE_MS;
  const DAY_MS = 24 * HOUR_MS;
  const GRACE_DAYS = 45;
  /** A third of the grace period is kept to try again. */
  const DELETED_AFTER_DAYS = 30;
  const PRICE = 11.9;

  const outbox: Message[] = [];
  let isMailDown = false;
  let isMailCut = false;
  const mailer = {
    send: async (message: Message) => {
      if (isMailDown) throw new Error('the mail server is away');
      outbox.push(message);
      if (isMailCut) throw new Error('the connection was cut after the message');
    },
  };
  const service = await startDomainsOverEpp({ autoRenewGraceDays: GRACE_DAYS, mailer });
  const { db, deliver, epp, owner } = service;
  const operator = createOperator({ db, clock: epp.clock });
  after(() => service.close());
  afterEach(() => service.letNamesGo());
  afterEach(() => deliver(undefined));

  /** So much later, with everything done that is due by then. */
  async function later(ms: number): Promise<void> {
    epp.clock.advance(ms);
    await service.domains.orders.sweep();
    await service.domains.unpaidNames.runDue();
    await service.domains.orders.sweep();
  }

  /** To so long after the end of the term that is paid for. */
  async function laterThanTerm(name: string, ms: number): Promise<void> {
    await later((await untilEndOfTerm(name)) + ms);
  }

  async function untilEndOfTerm(name: string): Promise<number> {
    return (await rowOf(name)).billed_until.getTime() - epp.clock.now().getTime();
  }

  async function rowOf(name: string) {
    return systemDb(db)
      .selectFrom('domains')
      .select('billed_until')
      .where('name', '=', name)
      .$narrowType<{ billed_until: Date }>()
      .executeTakeFirstOrThrow();
  }

  async function unpaidOwner(...names: string[]): Promise<TestWorkspace> {
    const workspace = await owner(...names);
    for (const name of names) {
      const { status, text } = await workspace.patch(`/domains/${name}/settings`, { auto_renew: false });
      assert.equal(status, 200, text);
    }
    return workspace;
  }

  const billOf = async (name: string) =>
    (await readBill(db, epp.ours.registrarId))
      .filter((charge) => charge.name === name)
      .map(({ kind, years }) => `${kind} ${years}`);
  const statusesOf = async (name: string) => done(await epp.core.infoDomain(epp.ours, { name })).statuses;
  const problemOf = async (name: string) =>
    (await operator.unpaid_names({})).names.find((unpaid) => unpaid.name === name)?.problem;
  /** What becomes of each deletion; returns how many were sent. */
  function meetDeletions(become: (sent: number) => Delivery | undefined): () => number {
    let sent = 0;
    deliver(({ kind }) => {
      if (kind !== 'domain:delete') return undefined;
      sent += 1;
      return become(sent);
    });
    return () => sent;
  }
  /** What is due, by names as they were read last: nobody asks the registry for them in between. */
  async function tryAgainAfter(ms: number): Promise<void> {
    epp.clock.advance(ms);
    await service.domains.unpaidNames.runDue();
  }
  const isDeleted = async (name: string) => (await statusesOf(name)).includes('pendingDelete');
  const REFUNDED = ['create 1', 'auto_renew 1', 'auto_renew -1'];
  const mailsAbout = (name: string) => outbox.filter(({ subject }) => subject.includes(name));
  const renew = (workspace: TestWorkspace, name: string, duration = 1) =>
    workspace.post(`/domains/${name}/renew`, { confirm_price: PRICE * duration, duration });

  describe('a name that nobody pays for', () => {
    test('is suspended when its term ends, deleted before the grace period ends, and costs nothing', async () => {
      const name = 'unpaid.com';
      const workspace = await unpaidOwner(name);
      const { body: before } = await workspace.get(`/domains/${name}`);
      await laterThanTerm(name, -1);
      assert.deepEqual(await statusesOf(name), ['ok']);
      await later(HOUR_MS);
      assert.ok((await statusesOf(name)).includes('clientHold'));
      const { body } = await workspace.get(`/domains/${name}`);
      assert.deepEqual(
        [body.status, body.expires_at, body.renewal.billed_until],
        ['Expired', before.expires_at, before.expires_at],
        'what was paid for, not what the registry added',
      );
      await later(HOUR_MS);
      const [mail, ...others] = mailsAbout(name);
      assert.deepEqual(others, []);
      assert.match(mail?.text ?? '', /will be deleted/);
      await later((DELETED_AFTER_DAYS - 1) * DAY_MS);
      assert.ok((await statusesOf(name)).includes('clientHold'), 'its owner may pay still');
      await later(DAY_MS);
      assert.equal((await workspace.get(`/domains/${name}`)).body.status, 'Redemption');
      assert.deepEqual(await billOf(name), ['create 1', 'auto_renew 1', 'auto_renew -1']);
      await later(36 * DAY_MS);
      assert.equal((await workspace.get(`/domains/${name}`)).status, 404);
      assert.equal(await problemOf(name), undefined);
    });

    test('and that its owner has released is deleted as soon as its term ends', async () => {
      const name = 'released.com';
      const workspace = await owner(name);
      assert.equal((await workspace.delete(`/domains/${name}?when=at_expiry`)).body.status, 'ReleaseScheduled');
      await laterThanTerm(name, -HOUR_MS);
      assert.deepEqual(await statusesOf(name), ['ok']);
      await later(2 * HOUR_MS);
      assert.equal((await workspace.get(`/domains/${name}`)).body.status, 'Redemption');
      assert.deepEqual(await billOf(name), ['create 1', 'auto_renew 1', 'auto_renew -1']);
      assert.deepEqual(mailsAbout(name), []);
    });

    soakTest?.('is deleted although it is locked', async () => {
      const name = 'bolted.com';
      const workspace = await unpaidOwner(name);
      await workspace.patch(`/domains/${name}/settings`, { registrar_lock: true });
      await laterThanTerm(name, HOUR_MS);
      await later(DELETED_AFTER_DAYS * DAY_MS);
      assert.equal((await workspace.get(`/domains/${name}`)).body.status, 'Redemption');
      assert.deepEqual(await billOf(name), ['create 1', 'auto_renew 1', 'auto_renew -1']);
    });

    test('and that the registry does not let go is named to the operator, and tried again each hour', async () => {
      const name = 'has-hosts.com';
      await unpaidOwner(name);
      const host = { name: `ns1.${name}`, addresses: ['192.0.2.1'] };
      done(await epp.core.createHost(epp.ours, host));
      // Hosts below a name go with it, unless they serve others.
      const other = { name: 'leans-on-it.com', registrant: 'LEANS', authInfo: 'the-code-of-leans' };
      await epp.core.createContact(epp.theirs, testContact('LEANS'));
      done(await epp.core.createDomain(epp.theirs, { ...other, years: 10, nameservers: [host.name] }));
      await laterThanTerm(name, HOUR_MS);
      await later(DELETED_AFTER_DAYS * DAY_MS);
      assert.match((await problemOf(name)) ?? '', /did not delete it.*ns1\.has-hosts\.com/s);
      done(await epp.core.updateDomain(epp.theirs, { name: other.name, nameservers: { set: [] } }));
      await later(HOUR_MS - 1);
      assert.ok(!(await statusesOf(name)).includes('pendingDelete'));
      await later(1);
      assert.ok((await statusesOf(name)).includes('pendingDelete'));
      assert.equal(await problemOf(name), undefined);
    });

    soakTest?.('and whose deletion failed is deleted with the next try, an hour later', async () => {
      const name = 'lost-deletion.com';
      await unpaidOwner(name);
      await laterThanTerm(name, HOUR_MS);
      const sent = meetDeletions((count) => (count === 1 ? { kind: 'refused', code: 2400 } : undefined));
      await later(DELETED_AFTER_DAYS * DAY_MS);
      assert.match((await problemOf(name)) ?? '', /did not delete it: .*2400/);
      await tryAgainAfter(HOUR_MS - 1);
      assert.deepEqual([sent(), await isDeleted(name)], [1, false]);
      await tryAgainAfter(1);
      assert.deepEqual([sent(), await isDeleted(name), await problemOf(name)], [2, true, undefined]);
      assert.deepEqual(await billOf(name), REFUNDED);
    });

    test('and whose deletion was done, and its answer lost, is not deleted twice', async () => {
      const name = 'lost-answer.com';
      const workspace = await unpaidOwner(name);
      await laterThanTerm(name, HOUR_MS);
      const sent = meetDeletions(() => ({ kind: 'cut' }));
      await later(DELETED_AFTER_DAYS * DAY_MS);
      await later(HOUR_MS);
      assert.deepEqual([sent(), await isDeleted(name), await problemOf(name)], [1, true, undefined]);
      assert.deepEqual(await billOf(name), REFUNDED);
      assert.equal((await workspace.get(`/domains/${name}`)).body.status, 'Redemption');
    });

    soakTest?.(
      'and whose deletion fails is tried every ten minutes in the last two days of the grace period',
      async () => {
        const name = 'last-chance.com';
        await unpaidOwner(name);
        await laterThanTerm(name, HOUR_MS);
        let isDown = true;
        const sent = meetDeletions(() => (isDown ? { kind: 'refused', code: 2400 } : undefined));
        await later((GRACE_DAYS - 3) * DAY_MS);
        assert.equal(sent(), 1);
        await tryAgainAfter(10 * MINUTE_MS);
        assert.equal(sent(), 1, 'there is time');
        await tryAgainAfter(2 * DAY_MS);
        assert.equal(sent(), 2);
        await tryAgainAfter(10 * MINUTE_MS - 1);
        assert.equal(sent(), 2);
        isDown = false;
        await tryAgainAfter(1);
        assert.deepEqual([sent(), await isDeleted(name)], [3, true]);
        assert.deepEqual(await billOf(name), REFUNDED);
      },
    );

    test('is deleted by one process alone where two find it at once', async () => {
      const name = 'found-by-two.com';
      await unpaidOwner(name);
      await laterThanTerm(name, HOUR_MS);
      const sent = meetDeletions(() => undefined);
      const { clock } = epp;
      const other = createUnpaidNames({ db, registry: service.registry, clock, logger: openTestLogger(), mailer });
      clock.advance(DELETED_AFTER_DAYS * DAY_MS);
      await Promise.all([service.domains.unpaidNames.runDue(), other.runDue()]);
      assert.deepEqual([sent(), await isDeleted(name), await problemOf(name)], [1, true, undefined]);
    });

    soakTest?.('and that the registry says is not ours is tried again, and told', async () => {
      const name = 'hidden-once.com';
      await unpaidOwner(name);
      await laterThanTerm(name, HOUR_MS);
      epp.clock.advance(DELETED_AFTER_DAYS * DAY_MS);
      let left = 1;
      service.answerWrongly((command, asked) =>
        command === 'info' && asked === name && left-- > 0 ? 2303 : undefined,
      );
      await service.domains.unpaidNames.runDue();
      assert.match((await problemOf(name)) ?? '', /does not show it as ours/);
      await tryAgainAfter(HOUR_MS);
      service.answerWrongly(undefined);
      assert.deepEqual([await isDeleted(name), await problemOf(name)], [true, undefined]);
    });

    test('is not deleted once it has been billed: the operator is told', async () => {
      const name = 'billed.com';
      const workspace = await unpaidOwner(name);
      await laterThanTerm(name, GRACE_DAYS * DAY_MS);
      assert.ok((await statusesOf(name)).includes('clientHold'));
      await later(HOUR_MS);
      assert.match((await problemOf(name)) ?? '', /grace period is over/);
      assert.ok(!(await statusesOf(name)).includes('pendingDelete'));
      const { status, text } = await renew(workspace, name);
      assert.equal(status, 200, text);
      await later(HOUR_MS);
      assert.deepEqual(await statusesOf(name), ['ok']);
      assert.deepEqual([await problemOf(name), await billOf(name)], [undefined, ['create 1', 'auto_renew 1']]);
    });

    test('is billed every year until somebody acts: the operator is told since when, how often, and what to do', async () => {
      const name = 'billed-again.com';
      const workspace = await unpaidOwner(name);
      await laterThanTerm(name, GRACE_DAYS * DAY_MS);
      await later(HOUR_MS);
      const { billed_until: end } = await rowOf(name);
      const year = end.getUTCFullYear();
      const day = (years: number) => `${year + years}${end.toISOString().slice(4, 10)}`;
      assert.equal(
        await problemOf(name),
        `The registry has billed it once since ${day(0)}, nobody has paid, and its grace period is over: ` +
          `have its owner renew it for a year, or delete it at the registry, which bills it again on ${day(1)}.`,
      );
      await later(366 * DAY_MS - GRACE_DAYS * DAY_MS);
      const graceEnd = new Date(Date.UTC(year + 1, end.getUTCMonth(), end.getUTCDate() + GRACE_DAYS));
      assert.equal(
        await problemOf(name),
        `The registry has billed it 2 times since ${day(0)}, nobody has paid, and its grace period is over: ` +
          `have its owner renew it for 2 years, or delete it at the registry, which takes the last bill back until ${graceEnd.toISOString().slice(0, 10)}.`,
      );
      await later(GRACE_DAYS * DAY_MS);
      assert.match((await problemOf(name)) ?? '', new RegExp(`which bills it again on ${day(2)}\\.$`));
      assert.equal(await isDeleted(name), false);
      const { status, text } = await renew(workspace, name, 2);
      assert.equal(status, 200, text);
      await later(HOUR_MS);
      assert.deepEqual([await problemOf(name), await statusesOf(name)], [undefined, ['ok']]);
      assert.deepEqual(await billOf(name), ['create 1', 'auto_renew 1', 'auto_renew 1'], 'nothing more is bought');
    });

    soakTest?.('and that somebody has renewed at the registry by hand is not deleted', async () => {
      const name = 'by-hand.com';
      await unpaidOwner(name);
      epp.clock.advance((await untilEndOfTerm(name)) + DAY_MS);
      const { expiresAt } = done(await epp.core.infoDomain(epp.ours, { name }));
      const currentExpiryDate = expiresAt.toISOString().slice(0, 10);
      done(await epp.core.renewDomain(epp.ours, { name, years: 2, currentExpiryDate }));
      await later(DELETED_AFTER_DAYS * DAY_MS);
      await later(HOUR_MS);
      assert.match((await problemOf(name)) ?? '', /renewed by hand/);
      assert.ok(!(await statusesOf(name)).includes('pendingDelete'));
      await systemDb(db).updateTable('domains').set({ state: 'gone' }).where('name', '=', name).execute();
    });

    soakTest?.('is told of once the mail server is back', async () => {
      const name = 'unheard.com';
      await unpaidOwner(name);
      isMailDown = true;
      await laterThanTerm(name, HOUR_MS);
      isMailDown = false;
      assert.match((await problemOf(name)) ?? '', /owner was not told/);
      isMailCut = true;
      await later(HOUR_MS);
      isMailCut = false;
      await later(HOUR_MS);
      const ids = mailsAbout(name).map(({ id }) => id);
      assert.deepEqual(
        [ids.length, new Set(ids).size, await problemOf(name)],
        [2, 1, undefined],
        'the same message again',
      );
      assert.match(ids[0] ?? '', /^msg_/);
    });
  });

  describe('its owner', () => {
    test('pays within the grace period: charged once, nothing is bought from the registry, and it works again', async () => {
      const name = 'paid-late.com';
      const workspace = await unpaidOwner(name);
      const { body: before } = await workspace.get(`/domains/${name}`);
      await laterThanTerm(name, (DELETED_AFTER_DAYS - 1) * DAY_MS);
      assert.ok((await statusesOf(name)).includes('clientHold'));
      const { available: rich } = (await workspace.get('/wallet')).body;
      const paid = await renew(workspace, name);
      assert.deepEqual([paid.status, paid.body.status], [200, 'Completed'], paid.text);
      await later(0);
      assert.deepEqual(await statusesOf(name), ['ok']);
      const { body } = await workspace.get(`/domains/${name}`);
      const nextYear = `${Number(before.expires_at.slice(0, 4)) + 1}${before.expires_at.slice(4)}`;
      assert.deepEqual([body.status, body.expires_at, body.renewal.billed_until], ['Active', nextYear, nextYear]);
      assert.deepEqual(await billOf(name), ['create 1', 'auto_renew 1']);
      assert.ok(rich === undefined || (await workspace.get('/wallet')).body.available < rich);
      await later(DELETED_AFTER_DAYS * DAY_MS);
      assert.deepEqual(await statusesOf(name), ['ok'], 'the next term is paid for');
    });

    soakTest?.('pays for two years: the registry is asked for the second alone', async () => {
      const name = 'paid-twice.com';
      const workspace = await unpaidOwner(name);
      await laterThanTerm(name, DAY_MS);
      const paid = await renew(workspace, name, 2);
      assert.equal(paid.status, 200, paid.text);
      assert.deepEqual(await billOf(name), ['create 1', 'auto_renew 1', 'renew 1']);
      await later((await untilEndOfTerm(name)) - DAY_MS);
      assert.deepEqual(await statusesOf(name), ['ok']);
      assert.deepEqual(await billOf(name), ['create 1', 'auto_renew 1', 'renew 1']);
    });

    test('cannot pay while it is being deleted, and can where the deletion has failed', async () => {
      const name = 'contested.com';
      const workspace = await unpaidOwner(name);
      await laterThanTerm(name, HOUR_MS);
      const sent = { deletion_sent_at: epp.clock.now() };
      await systemDb(db).updateTable('domains').set(sent).where('name', '=', name).execute();
      assert.deepEqual(refusal(await renew(workspace, name)), [422, 'renew_failed']);
      await later(DAY_MS + 1);
      assert.equal((await renew(workspace, name)).status, 200);
      assert.deepEqual(await billOf(name), ['create 1', 'auto_renew 1']);
    });

    soakTest?.('has paid ahead: nothing is suspended, and the registry renews nothing by itself', async () => {
      const name = 'prompt.com';
      await owner(name);
      await laterThanTerm(name, -20 * DAY_MS);
      await service.domains.renewals.runDue();
      await later(21 * DAY_MS);
      assert.deepEqual(await statusesOf(name), ['ok']);
      assert.deepEqual(await billOf(name), ['create 1', 'renew 1']);
    });
  });

  test('a process that ends between its note and the registry’s answer leaves the step to the next, which takes it an hour later', async () => {
    const name = 'cut-off.com';
    const workspace = await unpaidOwner(name);
    await laterThanTerm(name, HOUR_MS);
    epp.clock.advance(DELETED_AFTER_DAYS * DAY_MS);
    const unpaid_problem = 'The registry has not confirmed yet that the name is deleted.';
    const noted = { deletion_sent_at: epp.clock.now(), unpaid_tried_at: epp.clock.now(), unpaid_problem };
    await systemDb(db).updateTable('domains').set(noted).where('name', '=', name).execute();
    await tryAgainAfter(HOUR_MS - 1);
    assert.ok(!(await isDeleted(name)), 'another process may be at it');
    await tryAgainAfter(1);
    await later(0);
    assert.equal((await workspace.get(`/domains/${name}`)).body.status, 'Redemption');
    assert.deepEqual(await billOf(name), REFUNDED);
  });
}
