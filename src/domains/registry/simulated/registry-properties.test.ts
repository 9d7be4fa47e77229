/** Whatever registrars do, in whatever order and however long they wait, these hold. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { DAY_MS, done, openTestRegistry, type TestRegistry } from '../../../../test/support/simulated-registry.ts';
import { addYears } from '../term.ts';
import type { DomainInfo, Reply, Session } from './index.ts';
import { age, type DomainState, nextDue } from './life-cycle.ts';

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

/** The first two are registered already. */
const labels = ['first', 'reject-renew-', 'reject-'];
const authInfo = 'auth-of-ours';
let round = 0;

interface World extends TestRegistry {
  readonly names: readonly string[];
}

type Command = (world: World, session: Session, name: string) => Promise<Reply<unknown>>;

function expiryOf(info: Reply<DomainInfo>): string {
  return info.ok ? info.data.expiresAt.toISOString().slice(0, 10) : '2026-01-01';
}

const commands: Record<string, (years: number) => Command> = {
  create:
    (years) =>
    ({ core, ours, registrant, theirRegistrant }, session, name) => {
      const contact = session === ours ? registrant : theirRegistrant;
      return core.createDomain(session, { name, years, registrant: contact, authInfo });
    },
  renew:
    (years) =>
    async ({ core }, session, name) => {
      const currentExpiryDate = expiryOf(await core.infoDomain(session, { name }));
      return core.renewDomain(session, { name, years, currentExpiryDate });
    },
  request:
    () =>
    ({ core }, session, name) =>
      core.requestTransfer(session, { name, authInfo }),
  approve:
    () =>
    ({ core }, session, name) =>
      core.approveTransfer(session, { name }),
  reject:
    () =>
    ({ core }, session, name) =>
      core.rejectTransfer(session, { name }),
  cancel:
    () =>
    ({ core }, session, name) =>
      core.cancelTransfer(session, { name }),
  lock:
    () =>
    ({ core }, session, name) =>
      core.updateDomain(session, { name, statuses: { add: ['clientTransferProhibited'] } }),
  unlock:
    () =>
    ({ core }, session, name) =>
      core.updateDomain(session, { name, statuses: { set: [] } }),
  delete:
    () =>
    ({ core }, session, name) =>
      core.deleteDomain(session, { name }),
  restore:
    () =>
    ({ core }, session, name) =>
      core.restoreDomain(session, { name }),
};

const step = fc.record({
  waitDays: fc.oneof(
    { arbitrary: fc.constantFrom(0, 1 / 86_400, 2 / 86_400, 1), weight: 6 },
    { arbitrary: fc.constantFrom(5, 30, 31, 35, 365), weight: 2 },
    { arbitrary: fc.integer({ min: 0, max: 400 }), weight: 1 },
  ),
  command: fc.constantFrom(...Object.keys(commands)),
  years: fc.integer({ min: 1, max: 10 }),
  isOurs: fc.boolean(),
  name: fc.constantFrom(0, 0, 0, 1, 1, 2),
  runsDue: fc.boolean(),
});

function assertConsistent(info: DomainInfo, now: Date): void {
  const { expiresAt, rgpStatuses, statuses } = info;
  assert.ok(expiresAt <= addYears(now, 10), `${info.name} expires on ${expiresAt.toISOString()}`);
  assert.ok(statuses.length > 0 && new Set(statuses).size === statuses.length);
  const has = (...wanted: string[]) => wanted.every((status) => statuses.includes(status));
  assert.ok(!has('ok') || statuses.length === 1, statuses.join());
  assert.ok(!has('pendingTransfer', 'clientTransferProhibited'), statuses.join());
  const pendings = statuses.filter((status) => status.startsWith('pending'));
  assert.ok(pendings.length <= 1, statuses.join());
  assert.equal(has('pendingDelete'), rgpStatuses.includes('redemptionPeriod') || rgpStatuses.includes('pendingDelete'));
  if (expiresAt <= now) assert.ok(has('serverHold') || has('pendingDelete'), statuses.join());
  else assert.ok(!has('serverHold'), statuses.join());
}

async function assertWorld({ clock, core, ours, theirs }: World, names: readonly string[]): Promise<void> {
  const checks = done(await core.checkDomains(ours, names));
  for (const [index, name] of names.entries()) {
    const seen = [await core.infoDomain(ours, { name }), await core.infoDomain(theirs, { name })];
    const infos = seen.flatMap((reply) => (reply.ok ? [reply.data] : []));
    assert.equal(checks[index]?.state === 'taken', infos.length > 0, name);
    const [info] = infos;
    if (info === undefined) continue;
    assertConsistent(info, clock.now());
    assert.ok([ours, theirs].some(({ registrarId }) => registrarId === info.sponsor));
    // One sponsor, who alone has the auth code.
    assert.equal(new Set(infos.map(({ sponsor }) => sponsor)).size, 1);
    assert.equal(infos.filter((one) => one.authInfo !== undefined).length, 1);
  }
}

test('random commands of two registrars leave every name consistent', async () => {
  let carriedOut = 0;
  const steps = fc.array(step, { minLength: 15, maxLength: 25, size: 'max' });
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      round += 1;
      const registry = await openTestRegistry(database.db, { at: new Date('2028-02-29T23:00:00Z') });
      await registry.register(`first${round}.com`, 2);
      await registry.register(`reject-renew-${round}.com`);
      const world = { ...registry, names: labels.map((label) => `${label}${round}.com`) };
      for (const { command, isOurs, name, runsDue, waitDays, years } of taken) {
        world.clock.advance(waitDays * DAY_MS);
        if (runsDue) await world.core.runDue();
        const run = commands[command]?.(years);
        const reply = await run?.(world, isOurs ? world.ours : world.theirs, world.names[name] ?? '');
        if (reply?.ok) carriedOut += 1;
        await assertWorld(world, world.names.slice(name, name + 1));
      }
      await assertWorld(world, world.names);
    }),
    { numRuns: 12 },
  );
  assert.ok(carriedOut > 0);
});

const at = fc.date({ min: new Date('2026-01-01'), max: new Date('2030-01-01'), noInvalidDate: true });

test('looking often or once at the end, a name comes to the same', () => {
  const domain = fc.record({
    sponsor: fc.constantFrom('a', 'elsewhere'),
    phase: fc.constantFrom('active' as const, 'expired' as const),
    expiresAt: at,
    renewsAt: fc.option(at, { nil: null }),
    movesAt: fc.option(at, { nil: null }),
    tradesAt: fc.option(at, { nil: null }),
    fails: fc.boolean(),
  });
  const graceDays = fc.option(fc.integer({ min: 1, max: 45 }), { nil: undefined });
  fc.assert(
    fc.property(domain, fc.array(at, { maxLength: 12 }), graceDays, (drawn, looks, autoRenewGraceDays) => {
      const start = stateOf(drawn);
      const end = new Date('2030-06-01');
      const habits = { autoRenewGraceDays };
      const once = age(start, end, habits);
      const notices = [];
      const charges = [];
      let current: DomainState | undefined = start;
      for (const look of [...looks.toSorted((a, b) => a.getTime() - b.getTime()), end]) {
        if (current === undefined) break;
        const aged = age(current, look, habits);
        notices.push(...aged.notices);
        charges.push(...(aged.charges ?? []));
        current = aged.domain;
        const dueAt = current === undefined ? undefined : nextDue(current);
        assert.ok(dueAt === undefined || dueAt > look);
      }
      assert.deepEqual(current, once.domain);
      assert.deepEqual(notices, once.notices);
      assert.deepEqual(charges, once.charges);
      const times = notices.map(({ queuedAt }) => queuedAt.getTime());
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      );
    }),
    { numRuns: 300 },
  );
});

function stateOf(drawn: {
  sponsor: string;
  phase: 'active' | 'expired';
  expiresAt: Date;
  renewsAt: Date | null;
  movesAt: Date | null;
  tradesAt: Date | null;
  fails: boolean;
}): DomainState {
  const { expiresAt, fails, movesAt, phase, renewsAt, sponsor, tradesAt } = drawn;
  const origin = new Date('2020-01-01');
  const pending = { command: 'renew', years: 1, fails, clTRID: null, svTRID: 's' } as const;
  const transfer = { status: 'pending', requestedBy: 'b', requestedAt: origin, actedBy: sponsor, years: 1 } as const;
  const trade = {
    status: 'pending',
    requestedBy: sponsor,
    requestedAt: origin,
    registrant: 'N',
    previousRegistrant: 'R',
    contacts: [],
    keepsKeys: true,
  } as const;
  return {
    name: 'drawn.com',
    roid: 'D1-SIM',
    sponsor,
    createdBy: sponsor,
    createdAt: origin,
    updatedBy: null,
    updatedAt: null,
    transferredAt: null,
    expiresAt,
    registrant: 'R',
    isPrivate: false,
    authInfo,
    clientStatuses: [],
    dsRecords: [],
    phase,
    phaseUntil: null,
    autoRenewUntil: null,
    pending: renewsAt === null ? null : { ...pending, completesAt: renewsAt },
    trade: tradesAt === null ? null : { ...trade, actedAt: tradesAt, fails },
    transfer: movesAt === null ? null : { ...transfer, actedAt: movesAt, fails, expiresAt },
    contacts: [],
    nameservers: [],
    subordinateHosts: [],
  };
}
