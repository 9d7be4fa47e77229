import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { startDomains } from '../../../test/support/domains.ts';
import { openTestLogger } from '../../../test/support/test-log.ts';
import { createHostedZone } from '../../../test/support/zones.ts';
import { systemClock } from '../../kernel/clock/clock.ts';
import {
  askOperator,
  OperatorError,
  OperatorUnreachableError,
  operatorSocketPath,
  startOperatorSocket,
} from '../../kernel/operator/index.ts';
import { auditLedger, readWallet, unconfiguredPayments } from '../wallet/index.ts';
import { createOperator, domainVerbs, operateDomains } from './index.ts';

const service = await startDomains({ payments: unconfiguredPayments });
after(() => service.close());
const { db } = service;
const dependencies = { db, clock: systemClock };
const socketOptions = { logger: openTestLogger(), services: [operateDomains(dependencies)] };

async function openSocket(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'operator-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = operatorSocketPath(folder);
  const socket = await startOperatorSocket({ ...socketOptions, path });
  t.after(() => socket.close());
  return { folder, path, socket };
}

test('a new key is begun for a zone that is signed, and for no other', async () => {
  const operator = createOperator(dependencies);
  const zone = await createHostedZone(db, 'signed-here.com');
  await assert.rejects(async () => operator.roll_key({ name: zone.name }), /DNSSEC is on for/);
  await assert.rejects(async () => operator.roll_key({ name: '..' }), OperatorError);
  const text = `update domains.zones set dnssec = 'on', ds_handed_at = '2027-01-01T00:00:00Z' where name = $1`;
  await db.query({ text, values: [zone.name] });
  const listed = async (all: boolean) =>
    (await operator.zone_keys({ all })).zones.filter(({ name }) => name === zone.name);
  assert.deepEqual([await listed(false), (await listed(true)).length], [[], 1]);
  const rolled = await operator.roll_key({ name: 'Signed-Here.com' });
  const shown = {
    name: zone.name,
    dnssec: 'on',
    key_since: '2027-01-01T00:00:00.000Z',
    next_look_at: null,
    problem: null,
    registry_said: null,
  };
  assert.deepEqual(rolled, { ...shown, roll_state: 'signing' });
  assert.equal((await listed(true))[0]?.name, zone.name);
});

async function signUp(): Promise<{ id: string; email: string }> {
  const email = `${crypto.randomUUID()}@example.com`;
  const { body } = await service.anybody.post('/accounts', { email });
  return { id: body.workspace.id, email };
}

const refused = (message: RegExp) => (error: unknown) => error instanceof OperatorError && message.test(error.message);

describe('an operator', () => {
  test('mints a token of the workspace that is named by id or e-mail address', async (t) => {
    const { path } = await openSocket(t);
    const { id, email } = await signUp();
    for (const workspace of [id, email, email.toUpperCase()]) {
      const minted = await askOperator(path, domainVerbs, 'mint_token', { workspace, scope: 'read', name: 'ci' });
      assert.deepEqual([minted.workspace_id, minted.scope, minted.name], [id, 'read', 'ci']);
      assert.equal((await service.anybody.as(minted.token).get('/domains')).status, 200);
    }
  });

  test('revokes a token by its id or by itself, and again without harm', async (t) => {
    const { path } = await openSocket(t);
    const { id } = await signUp();
    for (const name of ['id', 'token'] as const) {
      const minted = await askOperator(path, domainVerbs, 'mint_token', { workspace: id, scope: 'write', name });
      const first = await askOperator(path, domainVerbs, 'revoke_token', { token: minted[name] });
      assert.equal(first.id, minted.id);
      const { status, body } = await service.anybody.as(minted.token).get('/domains');
      assert.deepEqual([status, body.error], [401, 'revoked_token']);
      assert.deepEqual(await askOperator(path, domainVerbs, 'revoke_token', { token: minted[name] }), first);
    }
    await assert.rejects(
      askOperator(path, domainVerbs, 'revoke_token', { token: 'dtk_none' }),
      refused(/no such token/),
    );
  });

  test('tops up a wallet and sees why it has what it has', async (t) => {
    const { path } = await openSocket(t);
    const { id, email } = await signUp();
    const topped = await askOperator(path, domainVerbs, 'top_up', {
      workspace: email,
      cents: 1_250,
      note: 'bank transfer 17',
    });
    assert.deepEqual([topped.workspace_id, topped.available_cents, topped.credited_cents], [id, 1_250, 1_250]);
    await askOperator(path, domainVerbs, 'top_up', { workspace: id, cents: 50, note: '' });
    assert.deepEqual(await readWallet(db, id), { availableCents: 1_300, heldCents: 0 });
    const shown = await askOperator(path, domainVerbs, 'show_wallet', { workspace: id });
    assert.equal(shown.available_cents, 1_300);
    assert.deepEqual(
      shown.bookings.map(({ kind, description, available_cents }) => [kind, description, available_cents]),
      [
        ['credit', '', 50],
        ['credit', 'bank transfer 17', 1_250],
      ],
    );
    assert.deepEqual(await auditLedger(db), []);
  });

  test('has to name the workspace where there are several, and one that exists', async () => {
    await signUp();
    await signUp();
    await assert.rejects(createOperator(dependencies).show_wallet({}), refused(/several workspaces.*\n {2}wsp_/));
    await assert.rejects(
      createOperator(dependencies).show_wallet({ workspace: 'nobody@example.com' }),
      refused(/no workspace nobody/),
    );
  });
});

describe('the operator’s socket', () => {
  test('is for its owner alone, and gone when it is closed', async (t) => {
    const { path, socket } = await openSocket(t);
    assert.equal(socket.isListening, true);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    await socket.close();
    await assert.rejects(stat(path), { code: 'ENOENT' });
    await assert.rejects(askOperator(path, domainVerbs, 'show_wallet', {}), OperatorUnreachableError);
  });

  test('takes the place of one that a killed process left behind', async (t) => {
    const { path, socket } = await openSocket(t);
    await socket.close();
    const script = `require('node:net').createServer().listen(process.argv[1], () => console.log('listening'))`;
    const killed = spawn(process.execPath, ['-e', script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(killed.stdout, 'data');
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    assert.ok((await stat(path)).isSocket());
    const next = await startOperatorSocket({ ...socketOptions, path });
    t.after(() => next.close());
    const { id } = await signUp();
    assert.equal((await askOperator(path, domainVerbs, 'show_wallet', { workspace: id })).workspace_id, id);
  });

  test('takes the place of nothing that is in use, or that is no socket', async (t) => {
    const { path, folder } = await openSocket(t);
    assert.equal((await startOperatorSocket({ ...socketOptions, path })).isListening, false);
    const { id } = await signUp();
    assert.equal((await askOperator(path, domainVerbs, 'show_wallet', { workspace: id })).workspace_id, id);
    const file = join(folder, 'file');
    await writeFile(file, 'mine');
    assert.equal((await startOperatorSocket({ ...socketOptions, path: file })).isListening, false);
    assert.equal(await readFile(file, 'utf8'), 'mine');
  });

  test('is left out where its path is too long, and asking says so', async (t) => {
    const { folder } = await openSocket(t);
    const path = operatorSocketPath(join(folder, 'x'.repeat(100)));
    const socket = await startOperatorSocket({ ...socketOptions, path });
    assert.equal(socket.isListening, false);
    await socket.close();
    await assert.rejects(
      askOperator(path, domainVerbs, 'show_wallet', {}),
      refused(/at most 10[37].*IRONCRAFT_DATA_DIR/),
    );
  });

  test('answers what it does not understand with a message', async (t) => {
    const { path } = await openSocket(t);
    const cases: readonly [method: string, verb: string, body: string, status: number][] = [
      ['GET', 'domains/show_wallet', '', 404],
      ['POST', 'domains/toString', '{}', 404],
      ['POST', 'nobody/show_wallet', '{}', 404],
      ['POST', 'domains', '{}', 404],
      ['POST', 'domains/top_up', '{', 400],
      ['POST', 'domains/top_up', '{"cents": -1, "note": ""}', 400],
      ['POST', 'domains/top_up', JSON.stringify({ cents: 1, note: 'x'.repeat(70_000) }), 400],
    ];
    for (const [method, verb, body, status] of cases) {
      const asked = httpRequest({ socketPath: path, method, path: `/${verb}` }).end(body);
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      assert.equal(response.statusCode, status, verb);
      response.resume();
      await once(response, 'close');
    }
  });
});
