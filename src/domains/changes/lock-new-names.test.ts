/** New names are locked against transfers where their registry is set so, over EPP. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { done } from '../../../test/support/simulated-registry.ts';
import type { Message } from '../mail/index.ts';

const mails: Message[] = [];
const service = await startDomainsOverEpp({
  endpoint: { locksNewNames: true },
  mailer: { send: async (message) => void mails.push(message) },
});
after(() => service.close());
const { deliver, domains, later, owner } = service;
const { core, ours } = service.epp;
const statusesOf = async (name: string) => done(await core.infoDomain(ours, { name })).statuses;

test('a new name cannot be transferred away, and can be changed and deleted', async () => {
  const workspace = await owner('new.com');
  await domains.resendChanges();
  assert.deepEqual(await statusesOf('new.com'), ['clientTransferProhibited']);
  await later(1_000);
  assert.equal((await workspace.get('/domains/new.com')).body.registrar_lock, true);
  const private_ = await workspace.patch('/domains/new.com/settings', { whois_privacy: false });
  assert.equal(private_.status, 200, private_.text);
  assert.deepEqual(await statusesOf('new.com'), ['clientTransferProhibited']);
  const locked = await workspace.post('/domains/new.com/auth-code');
  assert.deepEqual([locked.status, locked.body.details.reason], [400, 'registrar_lock']);
  await workspace.patch('/domains/new.com/settings', { registrar_lock: false });
  assert.deepEqual(await statusesOf('new.com'), ['ok']);
  await domains.resendChanges();
  assert.deepEqual(await statusesOf('new.com'), ['ok'], 'its owner has unlocked it');
  assert.equal((await workspace.delete('/domains/new.com')).status, 200);
});

test('an owner who unlocks a name before it was locked has it unlocked, and nobody is written to about a lock that is refused', async () => {
  deliver(({ kind }) => (kind === 'domain:update' ? { kind: 'refused', code: 2104 } : undefined));
  const workspace = await owner('soon.com', 'kept-open.com');
  await domains.resendChanges();
  assert.deepEqual(await statusesOf('soon.com'), ['ok']);
  await workspace.patch('/domains/kept-open.com/settings', { registrar_lock: false });
  deliver(undefined);
  await later(3_600_000);
  await domains.resendChanges();
  assert.deepEqual(await statusesOf('soon.com'), ['clientTransferProhibited']);
  assert.deepEqual(await statusesOf('kept-open.com'), ['ok']);
  assert.deepEqual(mails, []);
});
