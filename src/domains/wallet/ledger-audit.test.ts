import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOnEachStore, openTestDatabase } from '../../../test/support/database.ts';
import { makeOrder, makeWorkspace, setState } from '../../../test/support/ledger-world.ts';
import { openTestLogger } from '../../../test/support/test-log.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { createJobs } from '../../kernel/jobs/jobs.ts';
import { createMetrics } from '../../kernel/metrics/metrics.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { auditLedger, capture, defineLedgerAudit, hold } from './index.ts';

describeOnEachStore('the audit', {}, (current) => {
  test('names each kind of wrong in a ledger', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 10_000);
    assert.deepEqual(await auditLedger(db), []);
    const stateless = await makeOrder(db, workspaceId, 100);
    await db.transaction((tx) => hold(tx, { workspaceId, orderId: 'ord_nobody', amountCents: 5 }));
    await db.transaction((tx) => setState(tx, stateless, 'completed'));
    const open = await makeOrder(db, workspaceId, 200);
    const captured = await makeOrder(db, workspaceId, 300);
    await db.transaction(async (tx) => {
      await hold(tx, { workspaceId, orderId: open, amountCents: 200 });
      await setState(tx, open, 'failed');
      await hold(tx, { workspaceId, orderId: captured, amountCents: 300 });
      await capture(tx, { workspaceId, orderId: captured });
      await setState(tx, captured, 'failed');
      await tx.query({
        text: 'update domains.wallets set available_cents = available_cents + 1 where workspace_id = $1',
        values: [workspaceId],
      });
    });
    assert.deepEqual(
      (await auditLedger(db)).sort(),
      [
        'the hold of ord_nobody belongs to no order',
        `the order ${stateless} is completed for 100 cents and holds or held 0`,
        `the order ${open} is failed and still holds 200 cents`,
        `the order ${captured} is failed and its hold ended by capture`,
        `the wallet of ${workspaceId} has 9496 available and 205 held; its entries say 9495 and 205`,
      ].sort(),
    );
  });

  test('is not needed for entries that do not balance, or that change: the database refuses them', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 100);
    const id = mintId('ltx');
    const lopsided = db.transaction(async (tx) => {
      const workspace = workspaceDb(tx, workspaceId);
      await workspace.insertInto('ledger_transactions').values({ id, kind: 'credit', reference: id }).execute();
      const entry = { transaction_id: id, position: 1, account: 'available', amount_cents: 1 } as const;
      await workspace.insertInto('ledger_entries').values(entry).execute();
    });
    await assert.rejects(lopsided, /does not sum to zero/);
    await assert.rejects(db.query({ text: 'delete from domains.ledger_entries' }), /append-only/);
  });
});

test('the job logs what it finds and counts it in a gauge', async (t) => {
  const { db, close } = await openTestDatabase();
  t.after(close);
  const { promise: logged, resolve } = Promise.withResolvers<object>();
  const logger = Object.assign(openTestLogger(), { error: resolve });
  const metrics = createMetrics();
  const jobs = createJobs(db, { logger });
  defineLedgerAudit(jobs, { db, logger, metrics });
  await jobs.start();
  try {
    assert.match(await metrics.render(), /^domains_ledger_findings 0$/m);
    const workspaceId = await makeWorkspace(db, 0);
    await db.query({
      text: 'update domains.wallets set available_cents = 7 where workspace_id = $1',
      values: [workspaceId],
    });
    await jobs.enqueue(db, 'domains-audit-ledger', {});
    assert.deepEqual(await logged, {
      findings: [`the wallet of ${workspaceId} has 7 available and 0 held; its entries say 0 and 0`],
    });
    assert.match(await metrics.render(), /^domains_ledger_findings 1$/m);
    const started = createMetrics();
    defineLedgerAudit(createJobs(db, { logger }), { db, logger, metrics: started });
    assert.match(await started.render(), /^domains_ledger_findings 1$/m, 'a replica that starts later shows it, too');
  } finally {
    await jobs.stop();
  }
});
