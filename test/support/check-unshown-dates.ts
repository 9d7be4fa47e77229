/** A registry that leaves out when a name was registered and when its term ends, which RFC 5731 lets it: what is known of that stays. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { createOperator } from '../../src/domains/operator/index.ts';
import { withoutDates } from '../../src/domains/registry/epp/server/answer-rules.ts';
import type { Delivery } from '../../src/domains/registry/epp/server/deliveries.ts';
import { auditLedger } from '../../src/domains/wallet/index.ts';
import type { Share } from '../conformance/take-turns.ts';
import { startDomainsOverEpp, type TestDomainsOverEpp } from './domains-over-epp.ts';

export async function testUnshownDates(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const HOUR_MS = 3_600_000;
  const DAY_MS = 24 * HOUR_MS;
  const PRICE = 11.9;
  const UNDATED: Delivery = { kind: 'altered', alter: withoutDates };

  /** Of names that are in the zone of a test. */
  function undated(service: TestDomainsOverEpp, name: string, cutOnce?: 'domain:renew'): void {
    let left = cutOnce === undefined ? 0 : 1;
    service.deliver((command) => {
      if (command.name !== name) return undefined;
      if (command.kind === cutOnce && left-- > 0) return { kind: 'cut' };
      return command.kind === 'domain:info' ? UNDATED : undefined;
    });
  }

  describe('where names end unless they are renewed', async () => {
    const service = await startDomainsOverEpp();
    const { db, deliver, epp, later, owner } = service;
    const operator = createOperator({ db, clock: epp.clock, registry: service.registry });
    after(() => service.close());
    afterEach(async () => {
      await service.letNamesGo();
      deliver(undefined);
      assert.deepEqual(await auditLedger(db), []);
    });
    const datesOf = async (workspace: Awaited<ReturnType<typeof owner>>, name: string) => {
      const { body, text } = await workspace.get(`/domains/${name}`);
      assert.ok(body.renewal, text);
      return [body.status, body.registered_at, body.expires_at, body.renewal.expires_at, body.renewal.billed_until];
    };

    test('a look, a sweep, a change of settings and a message leave the dates as they were', async () => {
      const name = 'undated.com';
      const workspace = await owner(name);
      const known = await datesOf(workspace, name);
      assert.match(String(known[2]), /^2027/);
      undated(service, name);
      assert.deepEqual(await datesOf(workspace, name), known);
      await later(DAY_MS + 1);
      const changed = await workspace.patch(`/domains/${name}/settings`, { registrar_lock: false });
      assert.equal(changed.status, 200, changed.text);
      assert.deepEqual(await datesOf(workspace, name), known);
      const { body } = await workspace.get('/domains');
      assert.deepEqual([body.domains[0].status, body.domains[0].expires_at], ['Active', known[2]]);
      const { domains } = await operator.escrow_domains({ limit: 10 });
      const deposited = domains.find((domain) => domain.name === name);
      assert.deepEqual([deposited?.created_at, deposited?.expires_at], known.slice(1, 3));
    });

    test('a registration whose name is never shown with dates is paid for its years', async () => {
      const name = 'never-dated.com';
      const workspace = await owner();
      undated(service, name);
      const now = epp.clock.now();
      const bought = await workspace.post('/domains', { domain: name, confirm_price: 2 * PRICE, duration: 2 });
      assert.equal(bought.body.status, 'Completed', bought.text);
      const until = new Date(now);
      until.setUTCFullYear(until.getUTCFullYear() + 2);
      const expected = ['Active', null, ...[1, 2, 3].map(() => until.toISOString())];
      assert.deepEqual(await datesOf(workspace, name), expected);
      await later(DAY_MS + 1);
      assert.deepEqual(await datesOf(workspace, name), expected);
      const { findings } = await operator.audit_portfolio({ limit: 100 });
      assert.deepEqual(findings, [{ name, problem: 'The registry does not show when its term ends.' }]);
    });

    test('a renewal moves the term that is known, and one whose answer is lost waits until the registry shows it', async () => {
      const name = 'renewed-undated.com';
      const workspace = await owner(name);
      const [, registered, first] = await datesOf(workspace, name);
      const yearsOn = (years: number) => String(first).replace(/^\d+/, (year) => String(Number(year) + years));
      undated(service, name);
      const renew = () => workspace.post(`/domains/${name}/renew`, { confirm_price: PRICE, duration: 1 });
      assert.equal((await renew()).body.status, 'Completed');
      assert.deepEqual(await datesOf(workspace, name), ['Active', registered, ...[1, 2, 3].map(() => yearsOn(1))]);

      undated(service, name, 'domain:renew');
      const { body, text } = await renew();
      assert.equal(body.status, 'Pending', text);
      for (let day = 0; day < 3; day += 1) await later(DAY_MS);
      const { body: order } = await workspace.get(`/orders/${body.order_id}`);
      assert.equal(order.status, 'Pending', 'it is neither taken for done nor failed');
      deliver(undefined);
      await later(DAY_MS);
      assert.equal((await workspace.get(`/orders/${body.order_id}`)).body.status, 'Completed');
      assert.deepEqual((await datesOf(workspace, name)).slice(2), [2, 2, 2].map(yearsOn));
    });

    test('a restoration costs what the known term makes it cost, or waits until the registry shows it', async () => {
      const name = 'restored-undated.com';
      const workspace = await owner(name);
      epp.clock.advance(10 * DAY_MS);
      await workspace.delete(`/domains/${name}?when=now`);
      const offered = (await workspace.get(`/domains/${name}`)).body.restoration;
      assert.ok(offered.price > 0);
      undated(service, name);
      assert.deepEqual((await workspace.get(`/domains/${name}`)).body.restoration, offered);
      const { body, text } = await workspace.post(`/domains/${name}/restore`, { confirm_price: offered.price });
      assert.equal(body.status, 'Pending', text);
      deliver(undefined);
      await later(HOUR_MS);
      const { body: order } = await workspace.get(`/orders/${body.order_id}`);
      assert.deepEqual([order.status, order.price], ['Completed', offered.price]);
    });

    test('a name that waits for the operator has no expiry, and comes into a portfolio with one that the operator says', async () => {
      const name = 'found-undated.com';
      const workspace = await owner();
      await epp.register(name);
      undated(service, name);
      await workspace.post('/domains', { domain: name, confirm_price: PRICE });
      const { names } = await operator.unassigned_names({});
      assert.equal(names.find((found) => found.name === name)?.expires_at, null);
      const to = { name, workspace: workspace.workspaceId };
      await assert.rejects(operator.assign_name(to), /not shown when the term of found-undated.com ends/);
      const refused = await operator.import_name(to);
      assert.deepEqual(
        [refused.imported, refused.reason],
        [false, 'The registry does not show when its term ends: say until when it is paid.'],
      );
      const { imported } = await operator.import_name({ ...to, paid_until: '2028-01-01' });
      assert.ok(imported);
      const until = '2028-01-01T00:00:00.000Z';
      assert.deepEqual((await datesOf(workspace, name)).slice(2), [until, until, until]);
    });
  });

  soakTest?.(
    'where a registry renews by itself, nothing is deleted by an answer without an expiry, nor renewed',
    async (t) => {
      const service = await startDomainsOverEpp({ autoRenewGraceDays: 45 });
      t.after(() => service.close());
      const { db, deliver, epp, owner } = service;
      const operator = createOperator({ db, clock: epp.clock });
      const name = 'unpaid-undated.com';
      const workspace = await owner(name);
      await workspace.patch(`/domains/${name}/settings`, { auto_renew: false });
      const runAll = async () => {
        await service.domains.orders.sweep();
        await service.domains.unpaidNames.runDue();
      };
      epp.clock.advance(365 * DAY_MS + HOUR_MS);
      await runAll();
      assert.deepEqual((await workspace.get(`/domains/${name}`)).body.suspended_for, ['unpaid']);
      undated(service, name);
      epp.clock.advance(32 * DAY_MS);
      await runAll();
      const problemOf = async () => (await operator.unpaid_names({})).names.find((one) => one.name === name);
      const { expires_at, problem } = (await problemOf()) ?? {};
      assert.equal(problem, 'The registry does not show when its term ends: it is not deleted.');
      assert.match(String(expires_at), /^2028/, 'as the registry showed it last');

      const { body, text } = await workspace.post(`/domains/${name}/renew`, { confirm_price: PRICE, duration: 1 });
      assert.equal(body.status, 'Pending', text);
      deliver(undefined);
      epp.clock.advance(DAY_MS);
      await runAll();
      assert.equal((await workspace.get(`/orders/${body.order_id}`)).body.status, 'Completed');
      const paid = (await workspace.get(`/domains/${name}`)).body;
      assert.match(paid.expires_at, /^2028/);
      assert.equal(await problemOf(), undefined);
    },
  );
}
