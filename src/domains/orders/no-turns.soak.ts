/** A registry that takes so many commands, over EPP, when all of a minute are used up: what is restored and registered meanwhile is done once there are turns again. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { connectNoticeService, noticeDocument, startNoticeService } from '../../../test/support/notice-service.ts';
import { eventually } from '../../../test/support/turns.ts';
import { EXTENSION_URIS, LAUNCH } from '../registry/epp/namespaces.ts';
import { readBill } from '../registry/simulated/index.ts';
import { createCommandAllowance } from '../registry/turns/command-allowance.ts';
import { auditLedger, readWallet } from '../wallet/index.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Of a question for a price, which has to fail here. */
const TERMS_TIMEOUT_MS = 5_000;
const RATE = { commands: 40, perMs: MINUTE_MS };
const KEY = '2026030100/2/6/9/key-of-gold';

const notices = await startNoticeService();
const noticeService = connectNoticeService(notices.url);
const service = await startDomainsOverEpp({
  noticeService,
  habits: { claims: new Map([['gold.com', KEY]]) },
  endpoint: {
    ...{ fees: {}, extensionUris: [...EXTENSION_URIS, LAUNCH], connections: 4 },
    ...{
      commandRate: RATE,
      turnLookMs: 10,
      termsTimeoutMs: TERMS_TIMEOUT_MS,
      launchPhaseOf: () => ({ phase: 'claims' }),
    },
  },
  leaseBeatMs: 50,
});
const { db, later, owner } = service;
const { clock, ours } = service.epp;
after(async () => {
  await service.close();
  await noticeService.close();
  await notices.close();
});

test('a restoration and a claimed name are ordered without a turn, and done when it comes', async () => {
  const workspace = await owner('gone.com');
  await later(10 * DAY_MS);
  await workspace.delete('/domains/gone.com');
  await later(MINUTE_MS);
  const [from, until] = [clock.now(), new Date(clock.now().getTime() + 2 * DAY_MS)];
  notices.answer(KEY, () => noticeDocument({ label: 'gold', from, until }));
  const { id } = (await workspace.get('/claims-notices/gold.com')).body;
  const { availableCents: before } = await readWallet(db, workspace.workspaceId);

  const allowance = createCommandAllowance({ db, clock, rate: RATE, registry: 'epp' });
  while ((await allowance.take(0)) === undefined);
  const claims_notice = { id, accepted_at: clock.now().toISOString() };
  const calls = Promise.all([
    workspace.post('/domains/gone.com/restore', { confirm_price: 99 }),
    workspace.post('/domains', { domain: 'gold.com', confirm_price: 11.9, claims_notice }),
  ]);
  let areAnswered = false;
  const answered = calls.finally(() => {
    areAnswered = true;
  });
  await eventually(() => {
    // No turn comes, so whoever waits for one waits until then.
    service.patience.runOut();
    return areAnswered || undefined;
  }, 'both calls are answered');
  const answers = await answered;
  for (const { body, text } of answers) assert.equal(body.status, 'Pending', text);
  const ended = async () => {
    clock.advance(2 * MINUTE_MS);
    await service.domains.orders.sweep();
    const { orders } = (await workspace.get('/orders')).body;
    return orders.every(({ status }: { status: string }) => status === 'Completed') || undefined;
  };
  await eventually(ended, 'both are done');
  const bill = (await readBill(db, ours.registrarId)).map(({ kind, name }) => `${kind} ${name}`);
  assert.deepEqual(bill.sort(), ['create gold.com', 'create gone.com', 'restore gone.com']);
  const { availableCents, heldCents } = await readWallet(db, workspace.workspaceId);
  assert.deepEqual([availableCents, heldCents], [before - 9_900 - 1_190, 0]);
  assert.deepEqual(await auditLedger(db), []);
});
