/** Names looked at each day at a registry, over EPP, that takes too few commands for all of them to be read. */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import type { ChooseDelivery } from '../../src/domains/registry/epp/index.ts';
import { workspaceDb } from '../../src/domains/workspace-scope.ts';
import type { Share } from '../conformance/take-turns.ts';
import type { TestWorkspace } from './domains.ts';
import { startDomainsOverEpp } from './domains-over-epp.ts';
import { DAY_MS } from './orders.ts';
import { done } from './simulated-registry.ts';

export async function testDailyLook(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  type DeliveredCommand = Parameters<ChooseDelivery>[0];

  const NAMES = 15;
  const BATCH = 5;
  /** To read all names takes twice as many. */
  const COMMANDS = NAMES;
  /** At that rate. */
  const READ_WITHIN_DAYS = 3;
  const MINUTE_MS = 60_000;

  /** Of the fee extension that has a command for each price: a check that asks for prices is three. */
  const FEE_URI = 'urn:ietf:params:xml:ns:fee-0.11';

  const service = await startDomainsOverEpp({
    endpoint: { dailyLookCommands: COMMANDS, checkBatchSize: BATCH, extensionUris: [FEE_URI] },
    habits: { feeUris: [FEE_URI] },
    fees: { currency: 'EUR' },
  });
  after(() => service.close());
  const { db, deliver, later, owner } = service;
  const { clock, core, theirs } = service.epp;
  const names = Array.from({ length: NAMES }, (_, index) => `n${index}.com`);
  const workspace = await owner(...names);

  let sent: DeliveredCommand[] = [];
  beforeEach(async () => {
    deliver(undefined);
    await nextDay();
  });

  /** A day later, with all that is due; what was sent for it. */
  async function nextDay(refused: readonly DeliveredCommand['kind'][] = []): Promise<DeliveredCommand[]> {
    sent = [];
    deliver((command) => {
      sent.push(command);
      return refused.includes(command.kind) ? { kind: 'refused', code: 2400 } : undefined;
    });
    await later(DAY_MS + MINUTE_MS);
    return sent.filter(({ kind }) => kind !== 'poll');
  }

  async function rowsOf({ workspaceId }: TestWorkspace) {
    const rows = await workspaceDb(db, workspaceId)
      .selectFrom('domains')
      .selectAll()
      .where('state', '=', 'active')
      .execute();
    return new Map(rows.map((row) => [row.name, row]));
  }

  async function areAllLookedAt(since: Date): Promise<boolean> {
    return [...(await rowsOf(workspace)).values()].every(({ looked_at: at }) => at !== null && at > since);
  }

  const countOf = (kind: DeliveredCommand['kind'], commands = sent) =>
    commands.filter((command) => command.kind === kind).length;

  test('each is looked at each day and read in turn, within the commands of a day', async () => {
    const read = new Set<string>();
    for (let day = 1; day <= READ_WITHIN_DAYS; day += 1) {
      const since = clock.now();
      const commands = await nextDay();
      assert.ok(await areAllLookedAt(since), 'all were looked at');
      assert.ok(commands.length <= COMMANDS, `${commands.length} commands`);
      assert.ok(countOf('domain:check') > 0 && countOf('domain:check') <= NAMES / BATCH, 'many names in a check');
      assert.ok(countOf('domain:info') < NAMES, 'some were read');
      for (const { kind, name } of commands) if (kind === 'domain:info') read.add(name);
    }
    assert.deepEqual([...read].sort(), names.toSorted(), 'each was read in its turn');
  });

  test('one that the registry has no more is missed on the first day', async () => {
    const [name = ''] = await notReadToday();
    done(await core.moveDomain({ name, registrarId: theirs.registrarId }));
    done(await core.deleteDomain(theirs, { name }));
    // Its redemption is over by then, and nobody has looked meanwhile.
    clock.advance(80 * DAY_MS);
    await nextDay();
    assert.notEqual((await rowsOf(workspace)).get(name)?.missing_since ?? null, null);
  });

  test('one that another registrar has, of which no message tells, is missed when its turn comes', async () => {
    const [name = ''] = await notReadToday();
    done(await core.moveDomain({ name, registrarId: theirs.registrarId }));
    await nextDay();
    for (let day = 1; day < READ_WITHIN_DAYS; day += 1) await nextDay();
    assert.notEqual((await rowsOf(workspace)).get(name)?.missing_since ?? null, null);
  });

  test('one that is about to end, or to move, is read each day', async () => {
    const [ending = '', moving = ''] = await notReadToday();
    const soon = new Date(clock.now().getTime() + 4 * DAY_MS);
    const set = (name: string) =>
      workspaceDb(db, workspace.workspaceId).updateTable('domains').where('name', '=', name);
    await set(ending).set({ expires_at: soon }).execute();
    const snapshot = (await rowsOf(workspace)).get(moving)?.snapshot;
    assert.ok(snapshot != null);
    await set(moving)
      .set({ snapshot: JSON.stringify({ ...snapshot, statuses: ['pendingTransfer'] }) })
      .execute();
    clock.advance(2 * DAY_MS - 2 * MINUTE_MS);
    const commands = await nextDay();
    for (const name of [ending, moving]) {
      assert.ok(
        commands.some((command) => command.kind === 'domain:info' && command.name === name),
        name,
      );
    }
  });

  test('where checks get no answer names are read instead', async () => {
    const since = clock.now();
    await nextDay(['domain:check']);
    assert.ok(await areAllLookedAt(since), 'all were looked at');
    assert.ok(countOf('domain:info') >= (await rowsOf(workspace)).size);
  });

  soakTest?.('a registry that takes enough commands is asked about each name', async () => {
    const all = await startDomainsOverEpp({ endpoint: { dailyLookCommands: 6 } });
    try {
      await all.owner('a.com', 'b.com', 'c.com');
      const kinds: string[] = [];
      all.deliver(({ kind }) => void kinds.push(kind));
      await all.later(DAY_MS + MINUTE_MS);
      assert.equal(kinds.filter((kind) => kind === 'domain:info').length, 3);
      assert.ok(!kinds.includes('domain:check'));
    } finally {
      await all.close();
    }
  });

  /** Names that are not among the next to be read in turn: those that were read last. */
  async function notReadToday(): Promise<string[]> {
    const rows = [...(await rowsOf(workspace)).values()];
    return rows
      .filter(({ missing_since: since }) => since === null)
      .toSorted((a, b) => (b.synced_at?.getTime() ?? 0) - (a.synced_at?.getTime() ?? 0))
      .map(({ name }) => name);
  }
}
