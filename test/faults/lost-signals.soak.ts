/**
 * What is left for an idle server without a word, as by another process that dies right after its commit, or whose wake-up is lost: its
 * next look comes within the bound all the same. The server is on a clock that the test turns.
 */
import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createManualClock, runWithClock } from '../../src/kernel/clock/clock.ts';
import { asLook } from '../../src/kernel/db/looks.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { addSigningKey, makeSigningPair } from '../../src/platform/access/signing-keys.ts';
import { openTestDatabase } from '../support/database.ts';
import { startPlatform } from '../support/platform.ts';
import { createTestTools } from '../support/tools.ts';
import { eventually, makeSmith } from '../support/turns.ts';

const { db, close } = await openTestDatabase();
const vault = createVault([createSecretKey(randomBytes(32))]);
await addSigningKey(db, vault, await makeSigningPair());
const clock = createManualClock(new Date());
const server = await runWithClock(clock, () =>
  startPlatform({ sharing: { db, vault }, toolSources: [createTestTools().source] }),
);
after(async () => {
  await server.close();
  await close();
});

/** Statements of the test are no use of the store: the server does not hear of them. */
const silent = asLook(db);

/** Second by second, so that what a timer begins is done before the next. */
async function pass(seconds: number, isOver: () => Promise<boolean> = async () => false): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 1) {
    clock.advance(1_000);
    for (let turn = 0; turn < 3; turn += 1) {
      await nextTurn();
      await silent.query({ text: 'select 1', values: [] });
    }
    if (await isOver()) return;
  }
}

/** The longest waits are reached, and the last heartbeat is sent. */
async function rest(): Promise<void> {
  await pass(400);
}

async function isTrue(text: string, values: readonly unknown[]): Promise<boolean> {
  const { rows } = await silent.query<{ found: boolean }>({ text: `select ${text} as found`, values });
  return rows[0]?.found === true;
}

interface Case {
  readonly worker: string;
  /** Of the next look, in seconds. */
  readonly within: number;
  /** What must be there before the server comes to rest; its id. */
  readonly prepare: () => Promise<string>;
  /** SQL; $1 is that id. */
  readonly leave: string;
  readonly found: string;
}

const rewindFollower = (worker: string, name: string, within: number): Case => ({
  worker,
  within,
  prepare: async () => name,
  leave: `update feed_followers set cursor = '0/' where name = $1`,
  found: `(select cursor <> '0/' from feed_followers where name = $1)`,
});

const CASES: readonly Case[] = [
  {
    worker: 'due schedules',
    within: 31,
    async prepare() {
      const { project, id: smithId } = await makeSmith(server);
      const { body } = await project.post(`/v1/smiths/${smithId}/schedules`, {
        cron: '0 0 1 1 *',
        input: [{ role: 'user', content: 'Write 1 word' }],
      });
      return body.id;
    },
    leave: `update schedules set next_fire_at = now() - interval '1 minute' where id = $1`,
    found: 'exists (select from schedule_fires where schedule_id = $1)',
  },
  {
    worker: 'leave pauses',
    within: 31,
    async prepare() {
      const { body } = await (await makeSmith(server)).ask('Call the tool ask with {"seconds":900}');
      assert.equal(body.status, 'paused');
      return body.id;
    },
    leave: 'update approvals set expires_at = now() where run_id = $1',
    found: `exists (select from runs where id = $1 and status <> 'paused')`,
  },
  {
    worker: 'jobs that are ready',
    within: 31,
    prepare: async () => 'sweep-idempotency-keys',
    leave: 'insert into jobs.job (name) values ($1)',
    found: `exists (select from jobs.job where name = $1 and state = 'completed')`,
  },
  rewindFollower('webhook fan-out', 'webhooks', 31),
  rewindFollower('event sealer', 'chain', 121),
];

for (const { worker, within, prepare, leave, found } of CASES) {
  test(`"${worker}" finds within its bound what is left without a word`, async () => {
    const id = await prepare();
    await rest();
    await silent.query({ text: leave, values: [id] });
    assert.equal(await isTrue(found, [id]), false);
    await pass(within, () => isTrue(found, [id]));
    // Its time has come by then; no more of it passes until it is done.
    await eventually(async () => (await isTrue(found, [id])) || undefined, `${worker} finds it`);
  });
}
