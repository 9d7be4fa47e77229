/** A registry that is silent, slow, or cuts the connection once it has done what it was told, over EPP. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import type { TestWorkspace } from '../../../test/support/domains.ts';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { refusal } from '../../../test/support/orders.ts';
import { done, testContact } from '../../../test/support/simulated-registry.ts';
import { eventually } from '../../../test/support/turns.ts';
import type { Message } from '../mail/index.ts';
import { readBill } from '../registry/simulated/index.ts';
import { auditLedger, readWallet } from '../wallet/index.ts';
import { systemDb } from '../workspace-scope.ts';

const confirm_price = 11.9;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const mails: Message[] = [];
const mailer = { send: async (message: Message) => void mails.push(message) };
// More connections than commands that are kept waiting; an answer is waited for longer than any caller is kept.
const service = await startDomainsOverEpp({ mailer, endpoint: { connections: 10 } });
const { db, deliver, later, owner } = service;
const { core, ours, theirs } = service.epp;
after(() => service.close());
afterEach(() => service.letNamesGo());

const balance = async ({ workspaceId }: TestWorkspace) => {
  const { availableCents, heldCents } = await readWallet(db, workspaceId);
  return [availableCents, heldCents];
};
const bill = async (name: string) => (await readBill(db, ours.registrarId)).filter((charge) => charge.name === name);

/** Until no order waits for the registry any more. */
async function settle(): Promise<void> {
  for (const hours of [1, 1, 1, 2, 3, 4, 4, 4]) {
    await later(hours * HOUR_MS);
    await service.domains.resendDeletions();
  }
}

test('a call is answered while the registry is silent, and its order ends by itself afterwards', async () => {
  const names = ['renewed.com', 'deleted.com', 'set.com', 'coded.com'];
  const workspace = await owner(...names);
  // Beyond its first days a deleted name is in redemption.
  await later(6 * DAY_MS);
  await core.createContact(theirs, testContact('SILENT'));
  done(
    await core.createDomain(theirs, { name: 'moved.com', years: 1, registrant: 'SILENT', authInfo: 'auth-of-theirs' }),
  );
  for (const name of names) assert.equal((await workspace.get(`/domains/${name}`)).status, 200);
  const [before = 0] = await balance(workspace);

  deliver(() => ({ kind: 'silent' }));
  const spend = (path: string, body: object) => workspace.post(path, { confirm_price, ...body });
  const [registered, renewed, moved, deleted, set, coded] = await Promise.all([
    spend('/domains', { domain: 'new.com' }),
    spend('/domains/renewed.com/renew', {}),
    spend('/domains/moved.com/transfer', { auth_code: 'auth-of-theirs' }),
    workspace.delete('/domains/deleted.com'),
    workspace.patch('/domains/set.com/settings', { registrar_lock: true, auto_renew: false }),
    workspace.post('/domains/coded.com/auth-code', {}),
  ]);
  for (const [answer, status] of [
    [registered, 201],
    [renewed, 200],
    [moved, 201],
    [deleted, 200],
  ] as const) {
    assert.deepEqual([answer.status, answer.body.status], [status, 'Pending'], answer.text);
  }
  for (const answer of [set, coded]) {
    assert.deepEqual(refusal(answer), [500, 'internal']);
    assert.match(answer.body.details.message, /not answer now, and nothing was changed|not known whether/);
  }
  assert.deepEqual(await balance(workspace), [before - 3_570, 3_570]);

  const [details, list, check, unreported] = await Promise.all([
    workspace.get('/domains/set.com'),
    workspace.get('/domains'),
    workspace.get('/check?q=free.com'),
    workspace.get('/domains/new.com'),
  ]);
  assert.deepEqual([details.body.status, details.body.auto_renew], ['Active', true]);
  assert.equal(details.body.syncedAt, service.epp.clock.now().toISOString());
  assert.equal(list.body.domains.length, 6);
  assert.deepEqual([check.body.results[0].available, check.body.results[0].status], [null, 'unknown']);
  assert.deepEqual(refusal(unreported), [409, 'pending_at_registry']);

  deliver(undefined);
  service.cutConnections();
  await settle();
  const domains: { domain: string; status: string; expires_at: string }[] = (await workspace.get('/domains')).body
    .domains;
  assert.deepEqual(Object.fromEntries(domains.map(({ domain, status }) => [domain, status])), {
    'coded.com': 'Active',
    'deleted.com': 'Redemption',
    'moved.com': 'Pending',
    'new.com': 'Active',
    'renewed.com': 'Active',
    'set.com': 'Active',
  });
  assert.match(domains.find(({ domain }) => domain === 'renewed.com')?.expires_at ?? '', /^2028-/);
  assert.equal((await bill('renewed.com')).length, 2);
  // The other registrar has five days to answer.
  await later(5 * DAY_MS);
  await settle();
  assert.equal((await workspace.get('/domains/moved.com')).body.status, 'Active');
  assert.deepEqual(await balance(workspace), [before - 3_570, 0]);
  assert.deepEqual(await auditLedger(db), []);
});

test('a registration is waited for until the time of its caller is over, and then goes on by itself', async () => {
  const workspace = await owner();
  deliver(({ kind }) => (kind.startsWith('domain:') ? { kind: 'slow', delayMs: 300 } : undefined));
  const quick = await workspace.post('/domains', { domain: 'slow.com', confirm_price });
  assert.equal(quick.body.status, 'Completed', quick.text);
  deliver(({ kind }) => {
    if (kind !== 'domain:create') return undefined;
    service.patience.runOut();
    return { kind: 'slow', delayMs: 1_000 };
  });
  const late = await workspace.post('/domains', { domain: 'slower.com', confirm_price });
  assert.deepEqual([late.status, late.body.status], [201, 'Pending']);
  // It goes on without any sweep.
  const isDone = async () =>
    (await systemDb(db).selectFrom('orders').select('state').where('name', '=', 'slower.com').executeTakeFirst())
      ?.state === 'completed';
  await eventually(async () => (await isDone()) || undefined, 'the order has ended');
  deliver(undefined);
  assert.deepEqual(await balance(workspace), [1_000_000 - 2_380, 0]);
  assert.equal((await bill('slower.com')).length, 1);
});

describe('a connection that is cut once the command was carried out', () => {
  const cutOnce = (kind: string) => {
    let isCut = false;
    deliver((command) => {
      if (isCut || command.kind !== kind) return undefined;
      isCut = true;
      return { kind: 'cut' };
    });
    return () => isCut;
  };

  test('registers once, renews once and charges once', async () => {
    const workspace = await owner();
    const wasCut = cutOnce('domain:create');
    const bought = await workspace.post('/domains', { domain: 'cut.com', confirm_price });
    assert.deepEqual([bought.status, wasCut()], [201, true], bought.text);
    await settle();
    assert.equal((await workspace.get('/domains/cut.com')).body.status, 'Active');
    const wasCutAgain = cutOnce('domain:renew');
    const renewed = await workspace.post('/domains/cut.com/renew', { confirm_price });
    assert.deepEqual([renewed.status, wasCutAgain()], [200, true], renewed.text);
    await settle();
    assert.deepEqual(await balance(workspace), [1_000_000 - 2_380, 0]);
    assert.deepEqual(
      (await bill('cut.com')).map(({ kind }) => kind),
      ['create', 'renew'],
    );
  });

  test('takes over no name that was ours before', async () => {
    await core.createContact(ours, testContact('BEFORE'));
    done(await core.createDomain(ours, { name: 'before.com', years: 1, registrant: 'BEFORE', authInfo: 'of-before' }));
    const workspace = await owner();
    cutOnce('domain:create');
    const answer = await workspace.post('/domains', { domain: 'before.com', confirm_price });
    assert.deepEqual(refusal(answer), [422, 'registration_failed']);
    await settle();
    assert.deepEqual(await balance(workspace), [1_000_000, 0]);
    assert.deepEqual((await workspace.get('/domains')).body.domains, []);
  });

  test('transfers once, by what the registry says of the transfer', async () => {
    await core.createContact(theirs, testContact('CUT'));
    const authInfo = 'auth-of-theirs';
    done(await core.createDomain(theirs, { name: 'cut-transfer.com', years: 1, registrant: 'CUT', authInfo }));
    const workspace = await owner();
    const wasCut = cutOnce('domain:transfer');
    const answer = await workspace.post('/domains/cut-transfer.com/transfer', { confirm_price, auth_code: authInfo });
    assert.deepEqual([answer.status, answer.body.status, wasCut()], [201, 'Pending', true], answer.text);
    await later(5 * DAY_MS);
    await settle();
    assert.equal((await workspace.get('/domains/cut-transfer.com')).body.status, 'Active');
    assert.deepEqual(await balance(workspace), [1_000_000 - 1_190, 0]);
    assert.equal((await bill('cut-transfer.com')).length, 1);
  });

  test('deletes once, and a deletion that is refused after its caller was answered is told by mail', async () => {
    const workspace = await owner('gone.com', 'kept.com');
    const wasCut = cutOnce('domain:delete');
    const gone = await workspace.delete('/domains/gone.com');
    assert.deepEqual([gone.status, gone.body.status, wasCut()], [200, 'Pending', true], gone.text);
    await settle();
    assert.deepEqual(refusal(await workspace.get('/domains/gone.com')), [404, 'not_found']);

    deliver(({ kind }) => (kind === 'domain:delete' ? { kind: 'silent' } : undefined));
    const asked = workspace.delete('/domains/kept.com');
    assert.equal((await asked).body.status, 'Pending');
    done(await core.updateDomain(ours, { name: 'kept.com', statuses: { add: ['clientDeleteProhibited'] } }));
    deliver(undefined);
    service.cutConnections();
    await settle();
    const { status, auto_renew } = (await workspace.get('/domains/kept.com')).body;
    assert.deepEqual([status, auto_renew], ['Active', true]);
    assert.deepEqual(
      mails.map(({ subject }) => subject),
      ['kept.com was not deleted'],
    );
  });
});
