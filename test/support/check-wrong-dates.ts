/**
 * A registry that shows another end of the term than what an order has led to, for a while: before it has moved it, or by mistake. What was paid
 * for stays so afterwards.
 */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { readBill } from '../../src/domains/registry/simulated/index.ts';
import { addYears } from '../../src/domains/registry/term.ts';
import { auditLedger } from '../../src/domains/wallet/index.ts';
import type { Share } from '../conformance/take-turns.ts';
import type { TestWorkspace } from './domains.ts';
import { startDomainsOverEpp } from './domains-over-epp.ts';
import { refusal } from './orders.ts';
import type { Answer } from './platform.ts';
import { done, testContact } from './simulated-registry.ts';
import { eventually } from './turns.ts';

export async function testWrongDates(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const MINUTE_MS = 60_000;
  const HOUR_MS = 60 * MINUTE_MS;
  const DAY_MS = 24 * HOUR_MS;
  const PRICE = 11.9;

  /** What it shows in place of the year of a term's end, by its creation and its end. */
  const WRONG_ENDS = {
    'its creation': (created: string) => created,
    '1970': () => '1970-01-01T00:00:00Z',
    'year 0': () => '0000-01-01T00:00:00Z',
    'year 9999': () => '9999-12-31T23:59:59Z',
    'a year more': (_created: string, end: string) => addYears(new Date(end), 1).toISOString(),
  } as const;

  function withEnd(xml: string, choose: (created: string, end: string) => string): string {
    const [, created = ''] = /<domain:crDate>([^<]*)/.exec(xml) ?? [];
    return xml.replace(/(<domain:exDate>)([^<]*)/, (_whole, tag: string, end: string) => tag + choose(created, end));
  }

  for (const autoRenewGraceDays of share === 'all' ? [undefined, 45] : [45]) {
    const how =
      autoRenewGraceDays === undefined ? 'names end unless they are renewed' : 'the registry renews by itself';
    describe(`where ${how}`, async () => {
      const service = await startDomainsOverEpp(autoRenewGraceDays === undefined ? {} : { autoRenewGraceDays });
      const { db, deliver, epp, later, owner } = service;
      const { clock, core, ours, theirs } = epp;
      after(() => service.close());
      afterEach(async () => {
        await service.letNamesGo();
        deliver(undefined);
        assert.deepEqual(await auditLedger(db), []);
      });

      const showing = (name: string, choose: (created: string, end: string) => string) =>
        deliver((command) =>
          command.name === name && command.kind === 'domain:info'
            ? { kind: 'altered', alter: (xml) => withEnd(xml, choose) }
            : undefined,
        );
      const termOf = async (workspace: TestWorkspace, name: string) => {
        const { body, text } = await workspace.get(`/domains/${name}`);
        assert.ok(body.renewal, text);
        return { ends: body.expires_at, paid: body.renewal.billed_until, is: [body.status, body.suspended_for] };
      };
      const billed = async (name: string) => {
        const charges = (await readBill(db, ours.registrarId)).filter((charge) => charge.name === name);
        return charges.reduce((sum, { years }) => sum + years, 0);
      };
      /** A busy machine may need more than five seconds for it. */
      const completed = ({ body, text }: Answer, workspace: TestWorkspace) =>
        eventually(async () => {
          assert.ok(body.order_id, text);
          const { status } = (await workspace.get(`/orders/${body.order_id}`)).body;
          if (status === 'Completed') return true;
          await later(MINUTE_MS);
          return undefined;
        }, 'the order is completed');
      const trueEnd = async (name: string) => done(await core.infoDomain(ours, { name })).expiresAt.toISOString();
      const ACTIVE = ['Active', []];

      for (const [shown, choose] of Object.entries(WRONG_ENDS)) {
        const isInGate = shown === 'its creation' || shown === 'a year more';
        (isInGate ? test : soakTest)?.(
          `a registration is paid for its years although the registry shows ${shown} at first`,
          async () => {
            const name = `shows-${shown.replaceAll(' ', '-')}.com`;
            const workspace = await owner();
            showing(name, choose);
            await completed(await workspace.post('/domains', { domain: name, confirm_price: PRICE }), workspace);
            if (shown === 'its creation' || shown === '1970') {
              const early = await workspace.post(`/domains/${name}/renew`, { confirm_price: PRICE });
              assert.deepEqual(refusal(early), [500, 'internal']);
              assert.match(early.body.details.message, /does not show yet .* Nothing was charged/);
            }
            deliver(undefined);
            await later(DAY_MS);
            await service.domains.unpaidNames.runDue();
            const paid = await trueEnd(name);
            assert.deepEqual(await termOf(workspace, name), { ends: paid, paid, is: ACTIVE });
            await completed(await workspace.post(`/domains/${name}/renew`, { confirm_price: PRICE }), workspace);
            const twice = addYears(new Date(paid), 1).toISOString();
            assert.deepEqual(await termOf(workspace, name), { ends: twice, paid: twice, is: ACTIVE });
            assert.equal(await billed(name), 2);
          },
        );
      }

      soakTest?.('a registration of which no creation is told is paid for its years', async () => {
        const name = 'tells-no-creation.com';
        const workspace = await owner();
        deliver((command) => {
          const alter = (xml: string) =>
            withEnd(xml, WRONG_ENDS['its creation']).replace(/<domain:crDate>.*?crDate>/, '');
          return command.name === name && command.kind === 'domain:info' ? { kind: 'altered', alter } : undefined;
        });
        const order = { domain: name, confirm_price: 2 * PRICE, duration: 2 };
        await completed(await workspace.post('/domains', order), workspace);
        deliver(undefined);
        await later(DAY_MS);
        const paid = await trueEnd(name);
        assert.deepEqual(await termOf(workspace, name), { ends: paid, paid, is: ACTIVE });
      });

      test('a transfer is paid for the year that it adds although the registry shows that later', async () => {
        const name = 'quick-transfer-late.com';
        const workspace = await owner();
        const yearBefore = (_created: string, end: string) => addYears(new Date(end), -1).toISOString();
        const request = { auth_code: 'simulated-auth', confirm_price: PRICE };
        const asked = await workspace.post(`/domains/${name}/transfer`, request);
        assert.equal(asked.status, 201, asked.text);
        showing(name, yearBefore);
        await later(HOUR_MS);
        await completed(asked, workspace);
        const early = await termOf(workspace, name);
        deliver(undefined);
        await later(DAY_MS);
        const { ends, ...rest } = await termOf(workspace, name);
        assert.equal(ends, addYears(new Date(early.ends), 1).toISOString());
        assert.deepEqual(rest, { paid: ends, is: ACTIVE });
      });

      soakTest?.('a restoration with a year is paid for that although the registry shows it later', async () => {
        const name = 'restored-late.com';
        const workspace = await owner(name);
        const { paid } = await termOf(workspace, name);
        await workspace.patch(`/domains/${name}/settings`, { auto_renew: false });
        await later(364 * DAY_MS);
        await workspace.delete(`/domains/${name}?when=now`);
        await later(3 * DAY_MS);
        const { price } = (await workspace.get(`/domains/${name}`)).body.restoration;
        showing(name, () => paid);
        const restored = await workspace.post(`/domains/${name}/restore`, { confirm_price: price });
        assert.equal(restored.body.duration, 1, restored.text);
        await completed(restored, workspace);
        deliver(undefined);
        await later(DAY_MS);
        await service.domains.unpaidNames.runDue();
        const until = addYears(new Date(paid), 1).toISOString();
        assert.deepEqual(await termOf(workspace, name), { ends: until, paid: until, is: ACTIVE });
      });

      if (autoRenewGraceDays !== undefined) {
        test('a transfer in the days after an automatic renewal is paid for the year that comes in its place', async () => {
          const name = 'absorbed-year.com';
          const workspace = await owner();
          done(await core.createContact(theirs, testContact('ABSORBED')));
          const creation = { name, years: 1, registrant: 'ABSORBED', authInfo: 'auth-of-theirs' };
          const { expiresAt } = done(await core.createDomain(theirs, creation));
          clock.advance(367 * DAY_MS);
          const request = { auth_code: 'auth-of-theirs', confirm_price: PRICE };
          assert.equal((await workspace.post(`/domains/${name}/transfer`, request)).status, 201);
          for (let day = 0; day < 7; day += 1) await later(DAY_MS);
          const ends = addYears(new Date(expiresAt), 1).toISOString();
          assert.deepEqual(await termOf(workspace, name), { ends, paid: ends, is: ACTIVE });
          assert.equal(await billed(name), 1);
        });
      }
    });
  }
}
