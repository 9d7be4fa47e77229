/** Names for holders of trademarks who have a code of a validator, or the mark itself, and no signed mark: over HTTP and EPP. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { EXTENSION_URIS, LAUNCH } from '../../src/domains/registry/epp/namespaces.ts';
import { auditLedger, readWallet } from '../../src/domains/wallet/index.ts';
import { workspaceDb } from '../../src/domains/workspace-scope.ts';
import type { Share } from '../conformance/take-turns.ts';
import type { TestWorkspace } from './domains.ts';
import { startDomainsOverEpp, type TestDomainsOverEpp } from './domains-over-epp.ts';
import { launchedCom } from './launches.ts';
import { connectNoticeService, noticeDocument, startNoticeService } from './notice-service.ts';
import { refusal } from './orders.ts';
import { markDocument } from './signed-mark.ts';

export async function testMarks(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const FUNDS_CENTS = 1_000_000;
  const PRICE_CENTS = 1_190;
  const CODE = '49FD46E6C4B45C55D4AC';
  const codes = new Map([['gold.com', CODE]]);
  const phase = { phase: 'sunrise' } as const;

  type Options = NonNullable<Parameters<typeof startDomainsOverEpp>[0]>;

  function start(launch: Parameters<typeof launchedCom>[0], told: Partial<typeof launch> = {}, options: Options = {}) {
    const { launchPhaseOf, prices } = launchedCom({ ...launch, ...told });
    const { launches } = launchedCom(launch);
    const endpoint = { extensionUris: [...EXTENSION_URIS, LAUNCH], launchPhaseOf, connections: 2 };
    return startDomainsOverEpp({ prices, endpoint, ...options, habits: { launches, ...options.habits } });
  }

  const buy = (workspace: TestWorkspace, domain: string, held: object = {}) =>
    workspace.post('/domains', { domain, confirm_price: PRICE_CENTS / 100, ...held });

  async function balance({ db }: TestDomainsOverEpp, { workspaceId }: TestWorkspace) {
    const { availableCents, heldCents } = await readWallet(db, workspaceId);
    return [availableCents, heldCents];
  }

  const right = markDocument(['gold', 'silver']);
  const kinds = [
    { requires: 'mark_code', held: { mark_code: CODE }, wrong: [{ mark_code: 'other' }], lacking: [{ mark: right }] },
    {
      requires: 'mark',
      held: { mark: right },
      wrong: [{ mark: markDocument(['tin']) }, { mark: '***' }, { mark: Buffer.from('<a/>').toString('base64') }],
      lacking: [{ mark_code: CODE }],
    },
    {
      requires: 'mark_code_and_mark',
      held: { mark_code: CODE, mark: right },
      wrong: [
        { mark_code: 'other', mark: right },
        { mark_code: CODE, mark: markDocument(['tin']) },
      ],
      lacking: [{ mark_code: CODE }, { mark: right }],
    },
  ] as const;

  for (const { held, lacking, requires, wrong } of share === 'all' ? kinds : kinds.slice(-1)) {
    describe(`where the registry wants a ${requires}`, () => {
      let service: TestDomainsOverEpp;
      before(async () => {
        service = await start({ phase, requires, codes, validator: 'sample' });
      });
      after(async () => {
        assert.deepEqual(await auditLedger(service.db), []);
        await service.close();
      });

      test('who asks is told so, and what lacks it is refused before anything is held', async () => {
        const workspace = await service.owner();
        const { body } = await service.anybody.get('/check?q=gold.com');
        assert.deepEqual([body.results[0].status, body.results[0].requires], ['available', requires]);
        for (const given of [{}, ...lacking]) {
          const refused = await buy(workspace, 'gold.com', given);
          assert.deepEqual(
            [...refusal(refused), refused.body.details.reason],
            [422, 'registration_failed', `${requires}_required`],
          );
        }
        assert.deepEqual((await workspace.get('/orders')).body.orders, []);
      });

      test('what is wrong is refused, and the money comes back', async () => {
        const workspace = await service.owner();
        for (const given of wrong) {
          const refused = await buy(workspace, 'gold.com', given);
          assert.deepEqual(refusal(refused), [422, 'registration_failed'], refused.text);
          assert.match(refused.body.details.message, /Nothing was charged/);
        }
        assert.deepEqual(await balance(service, workspace), [FUNDS_CENTS, 0]);
      });

      test('what is right buys the name, and is kept no longer than that takes', async () => {
        const workspace = await service.owner();
        const bought = await buy(workspace, 'gold.com', held);
        assert.deepEqual([bought.status, bought.body.status], [201, 'Completed'], bought.text);
        const rows = workspaceDb(service.db, workspace.workspaceId)
          .selectFrom('orders')
          .select(['mark_code', 'mark_document']);
        assert.deepEqual(await rows.execute(), [{ mark_code: null, mark_document: null }]);
        assert.deepEqual(await balance(service, workspace), [FUNDS_CENTS - PRICE_CENTS, 0]);
      });
    });
  }

  soakTest?.('an order that the registry cannot answer yet keeps the mark until it does', async () => {
    const service = await start({ phase, requires: 'mark_code_and_mark', codes }, {});
    try {
      const workspace = await service.owner();
      service.deliver(() => ({ kind: 'refused', code: 2400 }));
      const bought = await buy(workspace, 'gold.com', { mark_code: CODE, mark: right });
      assert.equal(bought.body.status, 'Pending', bought.text);
      service.deliver(undefined);
      for (let look = 0; look < 10; look += 1) {
        await service.later(3_600_000);
        const order = (await workspace.get(`/orders/${bought.body.order_id}`)).body;
        if (order.status === 'Completed') return;
        assert.equal(order.status, 'Pending', JSON.stringify(order));
      }
      assert.fail('the order is still pending');
    } finally {
      await service.close();
    }
  });

  soakTest?.('a code counts where it is of the validator that the registry wants', async () => {
    const service = await start({ phase, requires: 'mark_code', codes, validator: 'sample' }, { validator: 'other' });
    try {
      const workspace = await service.owner();
      const refused = await buy(workspace, 'gold.com', { mark_code: CODE });
      assert.deepEqual(refusal(refused), [422, 'registration_failed']);
      assert.deepEqual(await balance(service, workspace), [FUNDS_CENTS, 0]);
    } finally {
      await service.close();
    }
  });

  soakTest?.('a claim is shown and accepted by the notice of the validator that the registry names', async () => {
    const notices = await startNoticeService();
    const noticeService = connectNoticeService(notices.url);
    const claims = new Map([['gold.com', 'key-of-gold']]);
    const launch = { phase: { phase: 'open' }, requires: 'claims_notice', validator: 'sample' } as const;
    const options = { habits: { claims }, noticeService };
    const service = await start(launch, {}, options);
    const deaf = await start(launch, { validator: 'other' }, options);
    try {
      notices.answer('key-of-gold', () => {
        const from = service.epp.clock.now();
        return noticeDocument({ label: 'gold', from, until: new Date(from.getTime() + 40 * 3_600_000) });
      });
      const workspace = await service.owner();
      const { body: notice } = await workspace.get('/claims-notices/gold.com');
      const claims_notice = { id: notice.id, accepted_at: service.epp.clock.now().toISOString() };
      const bought = await buy(workspace, 'gold.com', { claims_notice });
      assert.deepEqual([bought.status, bought.body.status], [201, 'Completed'], bought.text);

      const { body } = await deaf.anybody.get('/check?q=gold.com');
      assert.match(body.results[0].reason, /does not say where its notice is/);
    } finally {
      await service.close();
      await deaf.close();
      await noticeService.close();
      await notices.close();
    }
  });
}
