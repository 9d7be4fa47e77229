/** Names that their owners have deleted, and want back, over EPP: with and without the report that a registry may want. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { createOperator } from '../../src/domains/operator/index.ts';
import { readBill } from '../../src/domains/registry/simulated/index.ts';
import { auditLedger, readWallet } from '../../src/domains/wallet/index.ts';
import type { Share } from '../conformance/take-turns.ts';
import type { TestWorkspace } from './domains.ts';
import { startDomainsOverEpp } from './domains-over-epp.ts';
import { refusal } from './orders.ts';
import { done } from './simulated-registry.ts';

export async function testRestorations(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const DAY_MS = 86_400_000;
  const HOUR_MS = 3_600_000;
  const RESTORE = 99;

  // The gate restores without a report in check-unsaid-terms.ts.
  for (const restoreReports of share === 'all' ? [false, true] : [true]) {
    describe(restoreReports ? 'a registry that wants a report' : 'a registry that restores at once', async () => {
      const service = await startDomainsOverEpp({ restoreReports, endpoint: { fees: {} } });
      const { db, deliver, later, owner } = service;
      const { clock, core, ours } = service.epp;
      after(() => service.close());
      afterEach(() => service.letNamesGo());

      const restoration = async (workspace: TestWorkspace, name: string) =>
        (await workspace.get(`/domains/${name}`)).body.restoration;
      const restore = (workspace: TestWorkspace, name: string, price: number, headers = {}) =>
        workspace.post(`/domains/${name}/restore`, { confirm_price: price }, headers);
      const wallet = async ({ workspaceId }: TestWorkspace) => {
        const { availableCents, heldCents } = await readWallet(db, workspaceId);
        return [availableCents, heldCents];
      };
      const rgpOf = async (name: string) => done(await core.infoDomain(ours, { name })).rgpStatuses;
      const restored = async (name: string) =>
        (await readBill(db, ours.registrarId)).filter((charge) => charge.name === name && charge.kind === 'restore')
          .length;

      /** In its redemption period: it was not deleted within the days in which it is gone at once. */
      async function deleted(name: string): Promise<TestWorkspace> {
        const workspace = await owner(name);
        await later(10 * DAY_MS);
        const answer = await workspace.delete(`/domains/${name}`);
        assert.equal(answer.body.status, 'Pending', answer.text);
        return workspace;
      }

      test('its owner sees until when and at which price it can be restored, and has it back by one call', async () => {
        const workspace = await deleted('back.com');
        const [before = 0] = await wallet(workspace);
        const offer = await restoration(workspace, 'back.com');
        const until = new Date(clock.now().getTime() + 30 * DAY_MS).toISOString();
        assert.deepEqual(offer, { price: RESTORE, currency: 'EUR', duration: 0, until });
        const wrong = await restore(workspace, 'back.com', 1);
        assert.deepEqual([...refusal(wrong), wrong.body.details.current_price], [409, 'price_changed', RESTORE]);

        const key = { 'idempotency-key': 'restore-1' };
        const { body, status, text } = await restore(workspace, 'back.com', RESTORE, key);
        assert.deepEqual(
          [status, body.kind, body.status, body.price],
          [200, 'restoration', 'Completed', RESTORE],
          text,
        );
        const again = await restore(workspace, 'back.com', RESTORE, key);
        assert.deepEqual([again.headers.get('idempotent-replay'), again.body], ['true', body]);
        assert.deepEqual(await wallet(workspace), [before - RESTORE * 100, 0]);
        assert.equal(await restored('back.com'), 1);
        const {
          auto_renew,
          release_at,
          restoration: offered,
          status: shown,
        } = (await workspace.get('/domains/back.com')).body;
        assert.deepEqual([auto_renew, release_at, offered, shown], [false, null, null, 'Active']);
        assert.deepEqual(await rgpOf('back.com'), []);
        const renewed = await workspace.post('/domains/back.com/renew', { confirm_price: 11.9 });
        assert.equal(renewed.body.status, 'Completed', renewed.text);
        const next = await restore(workspace, 'back.com', RESTORE);
        assert.deepEqual(refusal(next), [422, 'restore_failed']);
      });

      test('a restoration appends order.completed and domain.restored', async () => {
        const workspace = await deleted('told.com');
        const { body, text } = await restore(workspace, 'told.com', RESTORE);
        assert.equal(body.status, 'Completed', text);
        const [restoredEvent, completed] = (await workspace.get('/events')).body.events;
        assert.deepEqual([completed.type, completed.data.kind], ['order.completed', 'restoration']);
        assert.deepEqual(
          [restoredEvent.type, restoredEvent.data.domain, restoredEvent.data.order_id],
          ['domain.restored', 'told.com', body.order_id],
        );
      });

      test('one whose term is over meanwhile is restored with a year, which is paid for', async () => {
        const workspace = await owner('year.com');
        await workspace.patch('/domains/year.com/settings', { auto_renew: false });
        await later(364 * DAY_MS);
        await workspace.delete('/domains/year.com');
        await later(3 * DAY_MS);
        const offer = await restoration(workspace, 'year.com');
        assert.deepEqual([offer.price, offer.duration], [RESTORE + 11.9, 1]);
        const { body, text } = await restore(workspace, 'year.com', RESTORE + 11.9);
        assert.deepEqual([body.status, body.duration], ['Completed', 1], text);
        const { expiresAt } = done(await core.infoDomain(ours, { name: 'year.com' }));
        const { expires_at, renewal, status } = (await workspace.get('/domains/year.com')).body;
        assert.deepEqual(
          [expires_at, renewal.billed_until, status],
          [expiresAt.toISOString(), expiresAt.toISOString(), 'Active'],
        );
      });

      test('an answer that is lost does not restore twice, and nothing is paid twice', async () => {
        const workspace = await deleted('lost.com');
        const [before = 0] = await wallet(workspace);
        let cuts = 0;
        deliver(({ kind }) => {
          if (kind !== 'domain:update' || cuts > 0) return undefined;
          cuts += 1;
          return { kind: 'cut' };
        });
        const { body, text } = await restore(workspace, 'lost.com', RESTORE);
        assert.match(body.status, /^(Pending|Completed)$/, text);
        for (let count = 0; count < 3; count += 1) await later(HOUR_MS);
        deliver(undefined);
        assert.deepEqual([cuts, await restored('lost.com'), await rgpOf('lost.com')], [1, 1, []]);
        assert.deepEqual(await wallet(workspace), [before - RESTORE * 100, 0]);
      });

      soakTest?.(
        'after a lost answer, a name that somebody restored by hand much later waits for the operator',
        async () => {
          const operator = createOperator({ db, clock });
          for (const [name, end] of [['by-hand.com', 'failed'] as const, ['by-us.com', 'completed'] as const]) {
            const workspace = await deleted(name);
            const before = await wallet(workspace);
            let isFirst = true;
            deliver((command) => {
              if (command.kind !== 'domain:update' || !isFirst) return undefined;
              isFirst = false;
              return { kind: 'silent' };
            });
            const answer = restore(workspace, name, RESTORE);
            const { body, text } = await answer;
            assert.equal(body.status, 'Pending', text);
            // Nobody looks at it while the registry answers nothing.
            service.answerWrongly((_command, named) => (named === name ? 2400 : undefined));
            service.cutConnections();
            await later(3 * HOUR_MS);
            service.answerWrongly(undefined);
            done(await core.restoreDomain(ours, { name }));
            if (restoreReports) done(await core.reportRestore(ours, { name }));
            await later(7 * HOUR_MS);
            const order = await operator.show_order({ id: body.order_id });
            assert.deepEqual([order.state, order.submissions], ['submitted', 1]);
            assert.match(order.attention_reason ?? '', /whether by this order/);
            assert.deepEqual(await wallet(workspace), [(before[0] ?? 0) - RESTORE * 100, RESTORE * 100]);
            await operator.end_order({ id: body.order_id, end, reason: 'asked the registry' });
            const price = end === 'completed' ? RESTORE * 100 : 0;
            assert.deepEqual(await wallet(workspace), [(before[0] ?? 0) - price, 0]);
            assert.equal(await restored(name), 1);
          }
          assert.deepEqual(await auditLedger(db), []);
        },
      );

      test('without credit of ours it waits, and a name that is gone meanwhile gives the money back', async () => {
        const workspace = await deleted('waits.com');
        const other = await deleted('gone.com');
        const before = await wallet(other);
        deliver(({ kind }) => (kind === 'domain:update' ? { kind: 'refused', code: 2104 } : undefined));
        for (const [owner, name] of [[workspace, 'waits.com'] as const, [other, 'gone.com'] as const]) {
          const { body, text } = await restore(owner, name, RESTORE);
          assert.equal(body.status, 'Pending', text);
          const second = await restore(owner, name, RESTORE);
          assert.deepEqual(refusal(second), [409, 'pending_operation']);
        }
        deliver(({ kind, name }) =>
          kind === 'domain:update' && name === 'gone.com' ? { kind: 'refused', code: 2104 } : undefined,
        );
        await later(HOUR_MS);
        assert.equal(await restored('waits.com'), 1);
        clock.advance(40 * DAY_MS);
        deliver(undefined);
        await later(HOUR_MS);
        assert.equal(await restored('gone.com'), 0);
        assert.deepEqual(await wallet(other), before);
        assert.deepEqual(await auditLedger(db), []);
      });

      test('what is not deleted is not restored, nor what is another’s, nor by a token that may only read', async () => {
        const workspace = await deleted('mine.com');
        const stranger = await owner('alive.com');
        const asked = [
          [await restore(stranger, 'alive.com', RESTORE), 422, 'restore_failed'],
          [await restore(stranger, 'mine.com', RESTORE), 404, 'not_found'],
          [
            await workspace.reader.post('/domains/mine.com/restore', { confirm_price: RESTORE }),
            403,
            'insufficient_scope',
          ],
          [await service.anybody.post('/domains/mine.com/restore', { confirm_price: RESTORE }), 401, 'missing_token'],
          [await workspace.post('/domains/mine.com/restore', {}), 400, 'bad_request'],
        ] as const;
        for (const [answer, status, code] of asked) assert.deepEqual(refusal(answer), [status, code], answer.text);
        clock.advance(31 * DAY_MS);
        const late = await restore(workspace, 'mine.com', RESTORE);
        assert.deepEqual(refusal(late), [422, 'restore_failed'], late.text);
        assert.match(late.body.details.message, /redemption period of mine\.com is over/);
      });
    });
  }
}
