/** Names that our registrar account has already, over EPP, after answers that were lost or wrong: an order gets what it did, and nothing else. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { DAY_MS, refusal } from '../../../test/support/orders.ts';
import { done } from '../../../test/support/simulated-registry.ts';
import { createOperator } from '../operator/index.ts';
import type { Delivery } from '../registry/epp/server/deliveries.ts';
import { auditLedger, readWallet } from '../wallet/index.ts';

const HOUR_MS = 3_600_000;
const FUNDS = 1_000_000;
const confirm_price = 11.9;

const service = await startDomainsOverEpp();
after(() => service.close());
afterEach(() => service.letNamesGo());
const { answerWrongly, db, deliver, epp, later, owner } = service;
const { clock, core, ours, theirs, register } = epp;
afterEach(() => {
  answerWrongly(undefined);
  deliver(undefined);
});

const operator = createOperator({ db, clock });
const unassigned = async () => (await operator.unassigned_names({})).names.map(({ name }) => name);
const fundsOf = async ({ workspaceId }: { readonly workspaceId: string }) => {
  const { availableCents, heldCents } = await readWallet(db, workspaceId);
  return [availableCents, heldCents];
};
/** What becomes of the first command of that kind. */
const meetOnce = (kind: 'domain:create' | 'domain:transfer', delivery: Delivery | undefined) => {
  let left = delivery === undefined ? 0 : 1;
  deliver((command) => (command.kind === kind && left-- > 0 ? delivery : undefined));
};

const OUTCOMES: readonly (readonly [what: string, delivery: Delivery | undefined])[] = [
  ['every answer comes', undefined],
  ['the command fails', { kind: 'refused', code: 2400 }],
  ['the answer is cut off', { kind: 'cut' }],
];

describe('a registration of a name that is ours before', () => {
  for (const [index, [what, delivery]] of OUTCOMES.entries()) {
    test(`fails, is paid back, and the name waits for the operator, where ${what}`, async () => {
      const name = `ours-before-${index}.com`;
      await register(name);
      const workspace = await owner();
      meetOnce('domain:create', delivery);
      const answer = await workspace.post('/domains', { domain: name, confirm_price });
      assert.deepEqual(refusal(answer), [422, 'registration_failed'], answer.text);
      await later(DAY_MS);
      assert.deepEqual(await fundsOf(workspace), [FUNDS, 0]);
      assert.deepEqual((await workspace.get('/domains')).body.domains, []);
      assert.ok((await unassigned()).includes(name));
    });

    test(`fails also where the registry says first that it is not there, and ${what}`, async () => {
      const name = `said-free-${index}.com`;
      await failOnceSaidFree(name, 2 * HOUR_MS, delivery);
      assert.equal(done(await core.infoDomain(ours, { name })).sponsor, ours.registrarId);
    });
  }

  for (const [what, delivery] of OUTCOMES.slice(1)) {
    test(`fails also where somebody registered it a moment before, the registry says first that it is not there, and ${what}`, async () => {
      await failOnceSaidFree(`a-moment-before-${delivery?.kind}.com`, 5_000, delivery);
    });
  }

  async function failOnceSaidFree(name: string, registeredMs: number, delivery: Delivery | undefined): Promise<void> {
    await register(name);
    clock.advance(registeredMs);
    const workspace = await owner();
    let left = 1;
    answerWrongly((command, asked) => (command === 'info' && asked === name && left-- > 0 ? 2303 : undefined));
    meetOnce('domain:create', delivery);
    await workspace.post('/domains', { domain: name, confirm_price });
    await later(DAY_MS);
    assert.deepEqual(await fundsOf(workspace), [FUNDS, 0]);
    assert.deepEqual((await workspace.get('/domains')).body.domains, []);
    assert.ok((await unassigned()).includes(name));
  }

  test('fails where the registry gives the name to us by hand while the order waits', async () => {
    const name = 'given-to-us.com';
    const registrant = epp.theirRegistrant;
    done(await core.createDomain(theirs, { name, years: 1, registrant, authInfo: 'auth-of-theirs' }));
    clock.advance(2 * HOUR_MS);
    const workspace = await owner();
    answerWrongly((command, asked) => (command === 'info' && asked === name ? 2303 : undefined));
    deliver(({ kind }) => (kind === 'domain:create' ? { kind: 'refused', code: 2400 } : undefined));
    const { body } = await workspace.post('/domains', { domain: name, confirm_price });
    assert.equal(body.status, 'Pending');
    done(await core.moveDomain({ name, registrarId: ours.registrarId }));
    answerWrongly(undefined);
    deliver(undefined);
    await later(DAY_MS);
    assert.deepEqual(await fundsOf(workspace), [FUNDS, 0]);
    assert.deepEqual((await workspace.get('/domains')).body.domains, []);
  });
});

test('a registration of its own is done, once, though its answer was cut off', async () => {
  const name = 'own-but-cut.com';
  const workspace = await owner();
  meetOnce('domain:create', { kind: 'cut' });
  const { status, text } = await workspace.post('/domains', { domain: name, confirm_price });
  assert.equal(status, 201, text);
  await later(HOUR_MS);
  assert.equal((await workspace.get(`/domains/${name}`)).status, 200);
  assert.deepEqual(await fundsOf(workspace), [FUNDS - 1_190, 0]);
  assert.ok(!(await unassigned()).includes(name));
});

describe('a transfer of a name that is ours before', () => {
  for (const [auth_code, which] of [
    ['auth-of-ours', 'right'],
    ['no-code-of-it', 'wrong'],
  ] as const) {
    for (const [how, delivery, isHidden] of [
      ['answered', undefined, false],
      ['cut-off', { kind: 'cut' }, false],
      ['hidden', undefined, true],
      ['hidden-and-cut-off', { kind: 'cut' }, true],
    ] as const) {
      test(`fails with the ${which} code: ${how}`, async () => {
        const name = `${which}-code-${how}.com`;
        await register(name);
        clock.advance(2 * HOUR_MS);
        const workspace = await owner();
        let left = isHidden ? 1 : 0;
        answerWrongly((command, asked) => (command === 'info' && asked === name && left-- > 0 ? 2303 : undefined));
        meetOnce('domain:transfer', delivery);
        await workspace.post(`/domains/${name}/transfer`, { auth_code, confirm_price });
        await later(DAY_MS);
        assert.deepEqual(await fundsOf(workspace), [FUNDS, 0]);
        assert.equal((await workspace.get(`/domains/${name}`)).status, 404);
        assert.ok((await unassigned()).includes(name));
      });
    }
  }
});

for (const [what, order] of [
  ['registration', (path: string) => ['/domains', { domain: path, confirm_price }] as const],
  ['transfer', (path: string) => [`/domains/${path}/transfer`, { auth_code: 'auth-of-ours', confirm_price }] as const],
] as const) {
  test(`a name that is hidden again and again from a ${what} of what is ours is found in the days after`, async () => {
    const name = `hidden-from-${what}.com`;
    await register(name);
    clock.advance(2 * HOUR_MS);
    const workspace = await owner();
    const [path, body] = order(name);
    answerWrongly((command, asked) => (command === 'info' && asked === name ? 2303 : undefined));
    const refused = await workspace.post(path, body);
    assert.equal(refused.status, 422, refused.text);
    assert.deepEqual(await fundsOf(workspace), [FUNDS, 0]);
    await later(DAY_MS);
    assert.ok(!(await unassigned()).includes(name), 'the registry hides it still');
    answerWrongly(undefined);
    await later(DAY_MS);
    assert.ok(!(await unassigned()).includes(name), 'it is looked at after one day, three and seven');
    await later(DAY_MS);
    assert.ok((await unassigned()).includes(name));
    const looks = await db.query<{ next_look_at: Date | null }>({
      text: 'select next_look_at from domains.orders where name = $1',
      values: [name],
    });
    assert.deepEqual(looks.rows, [{ next_look_at: null }], 'and not any more');
  });
}

test('a name that an order did not get, and that is another’s, is looked at three times and noted never', async () => {
  const name = 'really-theirs.com';
  done(
    await core.createDomain(theirs, { name, years: 1, registrant: epp.theirRegistrant, authInfo: 'auth-of-theirs' }),
  );
  const workspace = await owner();
  assert.equal((await workspace.post('/domains', { domain: name, confirm_price })).status, 422);
  let looks = 0;
  answerWrongly((command, asked) => {
    if (command === 'info' && asked === name) looks += 1;
    return undefined;
  });
  for (let day = 0; day < 10; day += 1) await later(DAY_MS);
  assert.equal(looks, 3);
  assert.ok(!(await unassigned()).includes(name));
});

test('a transfer with a wrong code gets nothing, also where the answer is cut off', async () => {
  for (const [name, delivery] of [
    ['taken-wrong-code.com', undefined],
    ['taken-wrong-code-cut.com', { kind: 'cut' }],
  ] as const) {
    const workspace = await owner();
    meetOnce('domain:transfer', delivery);
    await workspace.post(`/domains/${name}/transfer`, { auth_code: 'no-code-of-it', confirm_price });
    await later(6 * DAY_MS);
    assert.deepEqual(await fundsOf(workspace), [FUNDS, 0], name);
    assert.equal((await workspace.get(`/domains/${name}`)).status, 404, name);
    assert.equal(done(await core.infoDomain(ours, { name })).sponsor, 'elsewhere');
  }
});

describe('a transfer of its own, whose answer was cut off, is done', () => {
  // It takes days, and the command is sent again meanwhile: that is refused as the transfer is pending, or wrongly.
  for (const wrongly of [['transfer'], ['info', 'transfer'], ['transfer', 'info']] as const) {
    for (const code of [2303, 2201] as const) {
      const which = wrongly.join('-and-');
      test(`though what is asked after it (${which}) is answered wrongly with ${code}`, async () => {
        const name = `taken-${which}-${code}.com`;
        const workspace = await owner();
        // What there is before it, and the command itself, are answered rightly.
        const left: string[] = [...wrongly];
        const earlier = new Set(['info', 'transfer']);
        answerWrongly((command, about) => {
          if (about !== name || earlier.delete(command) || !left.includes(command)) return undefined;
          left.splice(left.indexOf(command), 1);
          return code;
        });
        meetOnce('domain:transfer', { kind: 'cut' });
        await workspace.post(`/domains/${name}/transfer`, { auth_code: 'simulated-auth', confirm_price });
        await later(HOUR_MS);
        assert.deepEqual(await fundsOf(workspace), [FUNDS - 1_190, 1_190], 'it is not given up');
        await later(6 * DAY_MS);
        assert.equal((await workspace.get(`/domains/${name}`)).status, 200);
        assert.deepEqual(await fundsOf(workspace), [FUNDS - 1_190, 0]);
        assert.ok(!(await unassigned()).includes(name));
      });
    }
  }
});

test('through all of that no cent was lost or made', async () => {
  assert.deepEqual(await auditLedger(db), []);
});
