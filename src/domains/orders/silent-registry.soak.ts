/** How long callers are kept by a registry that says nothing, over EPP. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { done, testContact } from '../../../test/support/simulated-registry.ts';
import { timed } from '../../../test/support/timed.ts';

const confirm_price = 11.9;
/** What callers were promised, in milliseconds. */
const READ_WITHIN_MS = 2_000;
const CHANGE_WITHIN_MS = 5_000;

const service = await startDomainsOverEpp({ endpoint: { connections: 10 }, isTimed: true });
const { core, theirs } = service.epp;
after(() => service.close());

test('a read is answered within two seconds and a change within five while the registry is silent', async () => {
  const workspace = await service.owner('renewed.com', 'deleted.com', 'set.com', 'coded.com');
  await service.later(6 * 86_400_000);
  await core.createContact(theirs, testContact('SILENT'));
  const authInfo = 'auth-of-theirs';
  done(await core.createDomain(theirs, { name: 'moved.com', years: 1, registrant: 'SILENT', authInfo }));
  for (const round of [1, 2, 3]) {
    service.deliver(() => ({ kind: 'silent' }));
    const changes = await Promise.all([
      timed(() => workspace.post('/domains', { domain: `new-${round}.com`, confirm_price })),
      timed(() => workspace.post('/domains/renewed.com/renew', { confirm_price })),
      timed(() => workspace.post('/domains/moved.com/transfer', { confirm_price, auth_code: authInfo })),
      timed(() => workspace.delete('/domains/deleted.com')),
      timed(() => workspace.patch('/domains/set.com/settings', { registrar_lock: true })),
      timed(() => workspace.post('/domains/coded.com/auth-code', {})),
      timed(() => workspace.post('/domains/set.com/transfer-out/reject', {})),
    ]);
    for (const [{ text }, ms] of changes) assert.ok(ms < CHANGE_WITHIN_MS, `${ms} ms: ${text}`);
    service.deliver(undefined);
    service.cutConnections();
    service.deliver(() => ({ kind: 'silent' }));
    const reads = await Promise.all([
      timed(() => workspace.get('/domains/set.com')),
      timed(() => workspace.get('/domains')),
      timed(() => workspace.get('/check?q=free.com')),
    ]);
    for (const [{ text }, ms] of reads) assert.ok(ms < READ_WITHIN_MS, `${ms} ms: ${text}`);
    service.deliver(undefined);
    service.cutConnections();
  }
});
