/** A registry that takes seven commands a minute, over EPP, from two processes that share them. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomains } from '../../../test/support/domains.ts';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { openTestLogger } from '../../../test/support/test-log.ts';
import { eventually } from '../../../test/support/turns.ts';
import { limitCommands } from '../registry/epp/index.ts';
import { readBill } from '../registry/simulated/index.ts';
import { auditLedger, readWallet } from '../wallet/index.ts';
import { systemDb } from '../workspace-scope.ts';

const confirm_price = 11.9;
const MINUTE_MS = 60_000;
const PER_MINUTE = 7;

const endpoint = { commandRate: { commands: PER_MINUTE, perMs: MINUTE_MS }, turnLookMs: 10 };
/** The clock of these tests runs a thousand times as fast as leases think. */
const leaseBeatMs = 50;
const one = await startDomainsOverEpp({ endpoint, leaseBeatMs });
const { db } = one;
const { clock, ours } = one.epp;
const adapter = await one.epp.connect({ ...endpoint, db });
const two = await startDomains({
  clock,
  registry: () => adapter,
  sharing: { db, vault: one.vault },
  logger: openTestLogger(),
  parts: { leaseBeatMs },
});
after(async () => {
  await two.close();
  await one.close();
});

/** What reaches the registry from now on, and when; it refuses what is too much. */
function watch() {
  const limit = limitCommands({ perMinute: PER_MINUTE }, clock, () => undefined);
  const seen = { kinds: [] as string[], times: [] as number[], arrivals: [] as number[], refused: 0 };
  one.deliver((command) => {
    const end = limit(command);
    seen.arrivals.push(clock.now().getTime());
    if (end?.kind === 'refused') seen.refused += 1;
    if (command.kind !== 'login' && command.kind !== 'logout') {
      seen.kinds.push(command.kind);
      seen.times.push(clock.now().getTime());
    }
    return end;
  });
  return seen;
}

/** Whether all that was let go has arrived: this clock would else run on by minutes while a command is on its way. */
function watchArrivals(arrivals: readonly number[], sinceMs: number) {
  return async () => {
    const row = await systemDb(db).selectFrom('registry_allowances').select('commands').executeTakeFirst();
    const slices = Object.entries(row?.commands ?? {}).map(
      ([slice, count]) => [Number(slice) * SLICE_MS, count] as const,
    );
    const counted = slices.filter(([at]) => at >= sinceMs);
    const oldest = Math.min(...counted.map(([at]) => at));
    const sent = counted.reduce((sum, [, count]) => sum + count, 0);
    return arrivals.filter((at) => at >= oldest).length >= sent;
  };
}

const SLICE_MS = MINUTE_MS / 24;

const inMinuteFrom = (times: readonly number[], first: number) =>
  times.filter((at) => at >= first && at < first + MINUTE_MS).length;

test('orders of two processes all end, and the registry refuses none of their commands', async () => {
  const owners = [await one.createWorkspace(), await two.createWorkspace()] as const;
  for (const owner of owners) {
    await owner.fund(100_000);
    await owner.patch('/registrant', { contact: { street: '1 Lane', city: 'Cork', country: 'IE' } });
  }
  // What was sent before counts no more.
  clock.advance(2 * MINUTE_MS);
  const sinceMs = Math.floor(clock.now().getTime() / SLICE_MS) * SLICE_MS;
  const seen = watch();
  const names = Array.from({ length: 4 }, (_, index) => `turn-${index}.com`);
  const answers = names.map((domain, index) =>
    owners[index % 2 === 0 ? 0 : 1].post('/domains', { domain, confirm_price }),
  );
  const hasArrived = watchArrivals(seen.arrivals, sinceMs);
  await eventually(async () => {
    if (await hasArrived()) clock.advance(2_500);
    const orders = await systemDb(db).selectFrom('orders').select(['name', 'state']).execute();
    assert.deepEqual(
      orders.filter(({ state }) => state === 'failed'),
      [],
    );
    return orders.filter(({ state }) => state === 'completed').length === names.length || undefined;
  }, 'every order is completed');
  for (const { body, status, text } of await Promise.all(answers)) {
    assert.equal(status, 201, text);
    assert.match(body.status, /^(Pending|Completed)$/);
  }
  one.deliver(undefined);

  assert.equal(seen.refused, 0);
  for (const first of seen.times) assert.ok(inMinuteFrom(seen.times, first) <= PER_MINUTE);
  const bill = await readBill(db, ours.registrarId);
  assert.deepEqual(bill.map(({ name }) => name).sort(), names);
  for (const { workspaceId } of owners) {
    const { availableCents, heldCents } = await readWallet(db, workspaceId);
    assert.deepEqual([availableCents, heldCents], [100_000 - (names.length / 2) * 1_190, 0]);
  }
  const asked = (kind: string) => seen.kinds.filter((one) => one === kind).length;
  assert.equal(asked('domain:create'), names.length, 'each name is asked for once');
  assert.ok(asked('host:check') <= names.length && asked('contact:update') === 0, seen.kinds.join(' '));
  assert.deepEqual(await auditLedger(db), []);
});
