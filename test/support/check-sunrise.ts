/** Names that holders of trademarks register, or apply for, before anybody else: over HTTP and EPP. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createOperator } from '../../src/domains/operator/index.ts';
import { LAUNCH } from '../../src/domains/registry/epp/namespaces.ts';
import { readBill } from '../../src/domains/registry/simulated/index.ts';
import { auditLedger, readWallet } from '../../src/domains/wallet/index.ts';
import { workspaceDb } from '../../src/domains/workspace-scope.ts';
import type { Share } from '../conformance/take-turns.ts';
import type { TestWorkspace } from './domains.ts';
import { startDomainsOverEpp, type TestDomainsOverEpp } from './domains-over-epp.ts';
import { refusal } from './orders.ts';
import { signedMark } from './signed-mark.ts';
import { eventually } from './turns.ts';

export async function testSunrise(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const HOUR_MS = 3_600_000;
  const confirm_price = 11.9;
  const PAID_CENTS = 1_190;
  const FUNDS_CENTS = 1_000_000;

  /** Who has a mark has the name at once. */
  let first: TestDomainsOverEpp;
  /** Names are applied for: in the soak, as check-applications.ts does so in the gate. */
  let later: TestDomainsOverEpp;
  /** The same, and the registry has no messages. */
  let quiet: TestDomainsOverEpp;
  const started: TestDomainsOverEpp[] = [];
  before(async () => {
    const start = (applications: boolean, lacksPoll = false) =>
      startDomainsOverEpp({
        habits: { sunrise: { zones: ['com'], applications } },
        endpoint: {
          extensionUris: [LAUNCH],
          launchPhaseOf: (zone) => (zone === 'com' ? { phase: 'sunrise', applications } : undefined),
          connections: 4,
          lacksPoll,
        },
      });
    first = await start(false);
    started.push(first);
    if (share === 'some') return;
    [later, quiet] = [await start(true), await start(true, true)];
    started.push(later, quiet);
  });
  after(async () => {
    for (const service of started) await service.close();
  });

  const labelOf = (name: string) => name.replace('.com', '');
  const buy = (workspace: TestWorkspace, domain: string, signed_mark?: string) =>
    workspace.post('/domains', { domain, confirm_price, ...(signed_mark && { signed_mark }) });
  const apply = (workspace: TestWorkspace, domain: string) =>
    buy(workspace, domain, signedMark({ labels: [labelOf(domain)] }));

  async function balance({ db }: TestDomainsOverEpp, { workspaceId }: TestWorkspace) {
    const { availableCents, heldCents } = await readWallet(db, workspaceId);
    return [availableCents, heldCents];
  }

  async function orderOf(workspace: TestWorkspace, bought: Awaited<ReturnType<typeof buy>>) {
    assert.equal(bought.status, 201, bought.text);
    return (await workspace.get(`/orders/${bought.body.order_id}`)).body;
  }

  async function untilAtRest(
    { db }: TestDomainsOverEpp,
    { workspaceId }: TestWorkspace,
    orderId: string,
  ): Promise<void> {
    const orders = workspaceDb(db, workspaceId).selectFrom('orders').select('lease_until').where('id', '=', orderId);
    const look = async () => ((await orders.executeTakeFirst())?.lease_until === null ? true : undefined);
    await eventually(look, 'nobody works on the order');
  }

  test('who asks is told that a mark has to come, and without one nothing is held', async () => {
    const workspace = await first.owner();
    const { body } = await first.anybody.get('/check?q=gold.com');
    assert.deepEqual([body.results[0].status, body.results[0].requires], ['available', 'signed_mark']);
    const refused = await buy(workspace, 'gold.com');
    assert.deepEqual(
      [...refusal(refused), refused.body.details.reason],
      [422, 'registration_failed', 'signed_mark_required'],
    );
    assert.match(refused.body.details.message, /Nothing was charged.*`signed_mark`/);
    assert.deepEqual(refusal(await workspace.get('/claims-notices/gold.com')), [404, 'not_found']);
    assert.deepEqual(await balance(first, workspace), [FUNDS_CENTS, 0]);
  });

  test('a mark that is none, has ended, or is of another name is refused before anything is held', async () => {
    const workspace = await first.owner();
    const encode = (text: string) => Buffer.from(text).toString('base64');
    const marks: readonly (readonly [mark: string, why: RegExp])[] = [
      ['***', /not base64/],
      [encode('no document'), /well formed|no element/],
      [encode('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'), /document type/],
      [encode(`${'<a>'.repeat(100)}${'</a>'.repeat(100)}`), /deep/],
      [signedMark({ labels: ['gold'], root: 'other' }), /root is other/],
      [signedMark({ labels: ['gold'], until: '2021-01-01T00:00:00Z' }), /ended at 2021/],
      [signedMark({ labels: ['gold'], from: '2089-01-01T00:00:00Z' }), /valid from 2089/],
      [signedMark({ labels: ['gold'], until: 'soon' }), /not a time/],
      [signedMark({ labels: ['silver', 'golden'] }), /not of gold/],
      [signedMark({ labels: [] }), /not of gold/],
    ];
    for (const [mark, why] of marks) {
      const refused = await buy(workspace, 'gold.com', mark);
      assert.deepEqual(
        [...refusal(refused), refused.body.details.reason],
        [422, 'registration_failed', 'signed_mark_refused'],
      );
      assert.match(refused.body.details.message, why);
    }
    const long = await buy(workspace, 'gold.com', 'A'.repeat(131_073));
    assert.deepEqual([...refusal(long), long.body.details.param], [400, 'bad_request', 'signed_mark']);
    assert.deepEqual((await workspace.get('/orders')).body.orders, []);
    assert.deepEqual(await balance(first, workspace), [FUNDS_CENTS, 0]);
  });

  test('with a mark the name is registered, and the mark is kept no longer than that takes', async () => {
    const workspace = await first.owner();
    const inLines = signedMark({ labels: ['silver', 'gold'] }).replace(/.{64}/g, '$&\n');
    const bought = await buy(workspace, 'gold.com', inLines);
    assert.deepEqual([bought.status, bought.body.status], [201, 'Completed'], bought.text);
    assert.equal('application_id' in (await orderOf(workspace, bought)), false);
    const rows = workspaceDb(first.db, workspace.workspaceId)
      .selectFrom('orders')
      .select(['signed_mark', 'is_application']);
    assert.deepEqual(await rows.execute(), [{ signed_mark: null, is_application: false }]);
    assert.deepEqual(await balance(first, workspace), [FUNDS_CENTS - PAID_CENTS, 0]);
  });

  for (const [how, serviceOf] of [
    ['a message', () => later],
    ['looking at it', () => quiet],
  ] as const) {
    soakTest?.(`an application is pending until it is allocated, by ${how}`, async () => {
      const service = serviceOf();
      const workspace = await service.owner();
      const bought = await apply(workspace, 'slow-allocated.com');
      assert.equal(bought.body.status, 'Pending', bought.text);
      const { application_id: id, status } = await orderOf(workspace, bought);
      assert.equal(status, 'Pending');
      assert.match(id, /^[0-9a-f]+-[0-9a-f]{8}$/);
      const operator = createOperator({ db: service.db, clock: service.epp.clock });
      assert.equal((await operator.show_order({ id: bought.body.order_id })).application_id, id);
      assert.deepEqual(await balance(service, workspace), [FUNDS_CENTS - PAID_CENTS, PAID_CENTS]);
      await service.later(2 * HOUR_MS);
      await service.later(2 * HOUR_MS);
      assert.equal((await orderOf(workspace, bought)).status, 'Completed');
      assert.equal((await workspace.get('/domains/slow-allocated.com')).body.status, 'Active');
      assert.deepEqual(await balance(service, workspace), [FUNDS_CENTS - PAID_CENTS, 0]);
    });

    soakTest?.(`the money comes back where an application is rejected, by ${how}`, async () => {
      const service = serviceOf();
      const workspace = await service.owner();
      const bought = await apply(workspace, 'reject-this.com');
      assert.deepEqual([bought.status, bought.body.status], [201, 'Pending'], bought.text);
      await service.later(2 * HOUR_MS);
      await service.later(2 * HOUR_MS);
      const order = await orderOf(workspace, bought);
      assert.deepEqual([order.status, order.failure.error], ['Failed', 'registration_failed']);
      assert.match(order.failure.message, /rejected the application for reject-this\.com\. Nothing was charged/);
      assert.deepEqual(await balance(service, workspace), [FUNDS_CENTS, 0]);
      assert.deepEqual((await workspace.get('/domains')).body.domains, []);
      assert.deepEqual(await auditLedger(service.db), []);
    });
  }

  soakTest?.('an application whose answer is lost is not sent twice, and ends by the message of its end', async () => {
    const workspace = await later.owner();
    let sent = 0;
    later.deliver((command) => {
      if (command.kind !== 'domain:create') return undefined;
      sent += 1;
      return { kind: 'cut' };
    });
    const bought = await apply(workspace, 'slow-lost.com');
    assert.equal(bought.body.status, 'Pending', bought.text);
    await untilAtRest(later, workspace, bought.body.order_id);
    const operator = createOperator({ db: later.db, clock: later.epp.clock });
    await eventually(async () => {
      const { attention_reason: reason } = await operator.show_order({ id: bought.body.order_id });
      return reason?.includes('Whether the application has arrived is not known') ? true : undefined;
    }, 'the operator is told');
    await later.later(2 * HOUR_MS);
    await later.later(2 * HOUR_MS);
    assert.equal(sent, 1);
    assert.equal((await orderOf(workspace, bought)).status, 'Completed');
    const charged = (await readBill(later.db, later.epp.ours.registrarId)).filter(
      ({ name }) => name === 'slow-lost.com',
    );
    assert.equal(charged.length, 1);
    assert.deepEqual(await balance(later, workspace), [FUNDS_CENTS - PAID_CENTS, 0]);
    later.deliver(undefined);
  });

  soakTest?.('an application that never arrived is ended by the operator, and the money comes back', async () => {
    const workspace = await later.owner();
    later.deliver((command) => (command.kind === 'domain:create' ? { kind: 'refused', code: 2500 } : undefined));
    const bought = await apply(workspace, 'never.com');
    later.deliver(undefined);
    await later.later(2 * HOUR_MS);
    await untilAtRest(later, workspace, bought.body.order_id);
    assert.equal((await orderOf(workspace, bought)).status, 'Pending');
    const operator = createOperator({ db: later.db, clock: later.epp.clock });
    await operator.end_order({ id: bought.body.order_id, end: 'failed', reason: 'the registry has none' });
    assert.deepEqual(await balance(later, workspace), [FUNDS_CENTS, 0]);
  });

  soakTest?.('an application that was certainly not sent is sent later', async () => {
    const workspace = await later.owner();
    let created = 0;
    later.deliver((command) => {
      if (command.kind === 'domain:create') created += 1;
      return command.kind.startsWith('contact:') ? { kind: 'cut' } : undefined;
    });
    const bought = await apply(workspace, 'slow-unsent.com');
    assert.deepEqual([bought.body.status, created], ['Pending', 0], bought.text);
    await untilAtRest(later, workspace, bought.body.order_id);
    later.deliver(undefined);
    await later.later(HOUR_MS);
    const { application_id: id } = await orderOf(workspace, bought);
    assert.match(id, /-/);
    await later.later(2 * HOUR_MS);
    assert.equal((await orderOf(workspace, bought)).status, 'Completed');
  });

  soakTest?.('of two purchases at once of a name one applies for it', async () => {
    const [one, other] = [await later.owner(), await later.owner()];
    const answers = await Promise.all([apply(one, 'slow-both.com'), apply(other, 'slow-both.com')]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 422]);
    await later.later(2 * HOUR_MS);
    assert.deepEqual(await auditLedger(later.db), []);
  });
}
