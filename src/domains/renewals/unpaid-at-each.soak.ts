/** Two registries that renew by themselves, over EPP, one of which does not answer. */
import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { openTestDatabase } from '../../../test/support/database.ts';
import { startDomains } from '../../../test/support/domains.ts';
import { openTestEpp } from '../../../test/support/epp.ts';
import { done } from '../../../test/support/simulated-registry.ts';
import { openTestLogger } from '../../../test/support/test-log.ts';
import { eventually } from '../../../test/support/turns.ts';
import { createVault } from '../../kernel/vault/vault.ts';
import { createRoutingRegistry } from '../registry/routing-registry.ts';
import { createUnpaidNames } from './unpaid-names.ts';

const DAY_MS = 86_400_000;
const GRACE = { autoRenewGraceDays: 45 };

test('a registry that hangs keeps no unpaid name of another from being suspended', async (t) => {
  const { close: closeDatabase, db } = await openTestDatabase();
  t.after(closeDatabase);
  const fees = { createCents: 900, renewCents: 900, transferCents: 900, restoreCents: 5_000 };
  const only = (served: string) => (zone: string) => (zone === served ? fees : undefined);
  const delays = { createSeconds: 0, renewSeconds: 0 };
  const { promise: hangs, resolve: hang } = Promise.withResolvers<void>();
  let isSilent = false;
  const com = await openTestEpp(db, {
    ...{ ...GRACE, delays, prices: only('com') },
    deliver() {
      if (!isSilent) return undefined;
      hang();
      return { kind: 'silent' };
    },
  });
  t.after(() => com.close());
  const { clock } = com;
  const net = await openTestEpp(db, { ...GRACE, clock, delays, prices: only('net') });
  t.after(() => net.close());
  const hanging = await com.connect({ ...GRACE, id: 'com', zones: ['com'], stopGraceMs: 1 });
  const registry = createRoutingRegistry([hanging, await net.connect({ ...GRACE, id: 'net', zones: ['net'] })]);
  const vault = createVault([createSecretKey(randomBytes(32))]);
  const mailer = { send: async () => undefined };
  const service = await startDomains({ clock, mailer, registry: () => registry, sharing: { db, vault } });
  t.after(() => service.close());
  const workspace = await service.createWorkspace();
  await workspace.fund(100_000);
  const contact = { street: '1 Mill Lane', city: 'London', postal_code: 'EC1', country: 'GB', phone: '+44.2071234567' };
  await workspace.patch('/registrant', { contact });
  const own = async (domain: string) => {
    const order = { domain, confirm_price: 1 };
    const { body } = await workspace.post('/domains', order);
    const bought = await workspace.post('/domains', { ...order, confirm_price: body.details.current_price });
    assert.equal(bought.status, 201, bought.text);
    assert.equal((await workspace.patch(`/domains/${domain}/settings`, { auto_renew: false })).status, 200);
  };
  await own('first.com');
  clock.advance(10 * DAY_MS);
  await own('second.net');

  const unpaid = createUnpaidNames({ db, registry, clock, mailer, logger: openTestLogger() }, 10);
  t.after(async () => {
    await hanging.stop();
    await unpaid.stop();
  });
  clock.advance(356 * DAY_MS);
  isSilent = true;
  unpaid.start();
  await hangs;
  // Due only after the pass that hangs has begun.
  clock.advance(10 * DAY_MS);
  const isHeld = async () => {
    const { statuses } = done(await net.core.infoDomain(net.ours, { name: 'second.net' }));
    return statuses.includes('clientHold') ? true : undefined;
  };
  await eventually(isHeld, 'the name at the other registry is suspended');
});
