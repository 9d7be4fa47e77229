/**
 * Events to endpoints that fail half of the time, while the replicas that deliver them are killed: each event arrives at least
 * once, with a signature that verifies, or is dead after the whole schedule. Hours pass by a clock that the test puts ahead.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { createSecretKey, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Stripe from 'stripe';
import type { Database } from '../../src/kernel/db/database.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { mintWebhookSecret, webhookSecretContext } from '../../src/kernel/webhooks/webhook-secret.ts';
import { appendEvent } from '../../src/platform/feed/append-event.ts';
import { TenantDatabase } from '../../src/platform/store/tenant-db.ts';
import { DELIVERIES_CHANNEL } from '../../src/platform/webhooks/index.ts';
import { openTestDatabase } from '../support/database.ts';
import { seedFor } from '../support/seed.ts';
import { type Cleanup, NEEDS_SERVER } from './fleet.ts';
import { createRandom, type Random } from './seeded-random.ts';

const REPLICA = fileURLToPath(new URL('./webhook-replica.ts', import.meta.url));
const EVENTS = Number(process.env.IRONCRAFT_FAULT_EVENTS ?? 1_000);
const KILLS = Number(process.env.IRONCRAFT_FAULT_KILLS ?? 8);
const REPLICAS = 2;
const ENDPOINTS = 3;
const WRITERS = 4;
const PATIENCE_MS = 600_000;
const POLL_MS = 100;
/** Beyond the next due time, so that many are due at once. */
const STEP_MS = 600_000;
/** For which a replica has what it attempts. */
const LEASE_MS = 30_000;
/** After each miss; the dispatcher's own jitter is a tenth either way. */
const WAITS_MINUTES = [1, 5, 15, 60, 180];
const MAX_ATTEMPTS = WAITS_MINUTES.length + 1;

test('each event is delivered or dead by the schedule, whoever is killed', {
  skip: NEEDS_SERVER,
  timeout: PATIENCE_MS,
}, async (t) => {
  const random = createRandom(seedFor('webhooks-kill'));
  const startedAtMs = Date.now();
  const scene = await openScene(t, random.fork());
  const fleet = await startReplicas(t, scene);
  const writing = writeEvents(scene.home, random.fork());
  let isKilling = true;
  const killing = killReplicas(fleet, random.fork()).finally(() => {
    isKilling = false;
  });
  await writing;
  for (const deadline = Date.now() + PATIENCE_MS; ; await wait(POLL_MS)) {
    const { total, pending, soon, next } = await readProgress(scene, fleet.aheadMs());
    if (!isKilling && total === EVENTS * ENDPOINTS && pending === 0) break;
    assert.ok(Date.now() < deadline, `${pending} of ${total} deliveries wait`);
    // On to when something is due, where no attempt is under way, nor was when a replica was killed: a jump would end its lease, and have it made twice.
    if (soon === 0 && next !== null) {
      fleet.putAhead(next.getTime() - Date.now() + STEP_MS);
      scene.db.wake(DELIVERIES_CHANNEL);
    }
  }
  await killing;
  await fleet.stop();
  const { succeeded, dead } = await audit(scene);
  t.diagnostic(
    `${EVENTS} events to ${ENDPOINTS} endpoints, ${KILLS} kills, ${scene.arrived.size} arrivals; ` +
      `${succeeded} delivered, ${dead} dead; ${Math.round((Date.now() - startedAtMs) / 1_000)} s`,
  );
});

interface Scene {
  readonly db: Database;
  readonly url: string;
  readonly key: string;
  readonly home: TenantDatabase;
  /** `webhook event` of each request that was answered with 200; how often. */
  readonly arrived: ReadonlyMap<string, number>;
  /** What did not verify. */
  readonly forged: readonly string[];
}

async function openScene(t: Cleanup, random: Random): Promise<Scene> {
  const database = await openTestDatabase({ store: 'server' });
  t.after(() => database.close());
  const { db, url } = database;
  assert.ok(url !== undefined);
  const key = randomBytes(32).toString('hex');
  const vault = createVault([createSecretKey(Buffer.from(key, 'hex'))]);
  const [organizationId, projectId] = [mintId('org'), mintId('proj')];
  await db.query({ text: 'insert into organizations (id, name) values ($1, $1)', values: [organizationId] });
  await db.query({
    text: 'insert into projects (id, organization_id, name) values ($1, $2, $1)',
    values: [projectId, organizationId],
  });
  const home = new TenantDatabase(db, projectId);
  const secrets = new Map<string, string>();
  const { receiverUrl, ...received } = await openReceiver(t, secrets, random);
  for (let n = 0; n < ENDPOINTS; n += 1) {
    const [id, secret] = [mintId('whk'), mintWebhookSecret()];
    secrets.set(id, secret);
    const sealed_secret = vault.seal(secret, webhookSecretContext(projectId, id, 'current'));
    await home
      .insertInto('webhooks')
      .values({ id, url: `${receiverUrl}/${id}`, events: [], sealed_secret })
      .execute();
  }
  return { db, url, key, home, ...received };
}

/** Fails half of the time: by status, by silence of the connection, or by cutting it. */
async function openReceiver(t: Cleanup, secrets: ReadonlyMap<string, string>, random: Random) {
  const arrived = new Map<string, number>();
  const forged: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const webhookId = request.url?.slice(1) ?? '';
    const [signature, eventId] = [String(request.headers['x-ic-signature']), String(request.headers['x-ic-event-id'])];
    // By the clock of the sender, which is hours ahead.
    const toleranceSeconds = 86_400;
    try {
      const event = Stripe.webhooks.constructEvent(
        Buffer.concat(chunks),
        signature,
        secrets.get(webhookId) ?? '',
        toleranceSeconds,
      );
      assert.equal(event.id, eventId);
    } catch (error) {
      forged.push(String(error));
    }
    if (random.next() < 0.5) {
      if (random.next() < 0.2) request.socket.destroy();
      else response.writeHead(random.pick([404, 429, 500, 503])).end();
      return;
    }
    const name = `${webhookId} ${eventId}`;
    arrived.set(name, (arrived.get(name) ?? 0) + 1);
    response.writeHead(200).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  return {
    receiverUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrived,
    forged,
  };
}

interface Fleet {
  readonly replicas: ChildProcess[];
  aheadMs(): number;
  putAhead(ms: number): void;
  start(): Promise<ChildProcess>;
  stop(): Promise<void>;
}

async function startReplicas(t: Cleanup, { url, key }: Scene): Promise<Fleet> {
  const replicas: ChildProcess[] = [];
  let aheadMs = 0;
  const start = async () => {
    const replica = fork(REPLICA, [url, key, String(aheadMs)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const ended = once(replica, 'exit').then(() => assert.fail('a replica ended before it was ready'));
    await Promise.race([once(replica, 'message'), ended]);
    ended.catch(() => undefined);
    replica.send(aheadMs);
    return replica;
  };
  const stop = async () => {
    const running = replicas.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    await Promise.all(running.map((replica) => endNow(replica)));
  };
  t.after(stop);
  for (let n = 0; n < REPLICAS; n += 1) replicas.push(await start());
  return {
    replicas,
    aheadMs: () => aheadMs,
    putAhead(ms) {
      aheadMs = Math.max(aheadMs, ms);
      for (const replica of replicas) if (replica.connected) replica.send(aheadMs);
    },
    start,
    stop,
  };
}

async function endNow(replica: ChildProcess): Promise<void> {
  const gone = once(replica, 'exit');
  replica.kill('SIGKILL');
  await gone;
}

async function killReplicas({ replicas, start }: Fleet, random: Random): Promise<void> {
  for (let kill = 0; kill < KILLS; kill += 1) {
    await wait(random.integer(300, 1_500));
    const victim = random.integer(0, replicas.length - 1);
    await endNow(replicas[victim] as ChildProcess);
    replicas[victim] = await start();
  }
}

/** Many writers, whose transactions commit in another order than they write. */
async function writeEvents(home: TenantDatabase, random: Random): Promise<void> {
  let left = EVENTS;
  const write = async (): Promise<void> => {
    while (left > 0) {
      const count = Math.min(left, random.integer(1, 8));
      left -= count;
      await home.transaction(async (tx) => {
        for (let n = 0; n < count; n += 1) await appendEvent(tx, { type: 'run.completed', actor: null, data: { n } });
      });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
}

async function readProgress({ home }: Scene, aheadMs: number) {
  const { rows } = await home.raw<{ total: number; pending: number; soon: number; next: Date | null }>({
    text: `
      select count(*)::int as total, count(*) filter (where status = 'pending')::int as pending,
        count(*) filter (where status = 'pending' and next_attempt_at <= $2)::int as soon,
        min(next_attempt_at) filter (where status = 'pending') as next
      from webhook_deliveries where project_id = $1`,
    values: [new Date(Date.now() + aheadMs + LEASE_MS)],
  });
  const [row] = rows;
  assert.ok(row !== undefined);
  return row;
}

async function audit({ home, arrived, forged }: Scene): Promise<{ succeeded: number; dead: number }> {
  assert.deepEqual(forged, [], 'every signature verifies');
  const { rows } = await home.raw<{
    webhook_id: string;
    event_id: string;
    status: string;
    misses: number;
    at: Date[];
    errors: (string | null)[];
  }>({
    text: `
      select d.webhook_id, d.event_id, d.status, d.misses, a.at, a.errors
      from webhook_deliveries d
      cross join lateral (
        select array_agg(at order by number) as at, array_agg(error order by number) as errors
        from webhook_attempts a where a.project_id = d.project_id and a.delivery_id = d.id
      ) a
      where d.project_id = $1`,
  });
  const pairs = new Set(rows.map(({ webhook_id, event_id }) => `${webhook_id} ${event_id}`));
  assert.equal(pairs.size, EVENTS * ENDPOINTS, 'one delivery of each event to each endpoint');
  for (const { webhook_id, event_id, status, misses, at, errors } of rows) {
    const name = `${webhook_id} ${event_id}`;
    assert.equal(at.length, errors.length);
    for (let n = 1; n < at.length; n += 1) {
      const waitedMs = (at[n]?.getTime() ?? 0) - (at[n - 1]?.getTime() ?? 0);
      const leastMs = (WAITS_MINUTES[n - 1] ?? Number.POSITIVE_INFINITY) * 60_000 * 0.9;
      assert.ok(waitedMs >= leastMs, `${name}: attempt ${n + 1} after ${waitedMs} ms of ${leastMs}`);
    }
    if (status === 'succeeded') {
      assert.ok(arrived.has(name), `${name} did arrive`);
      assert.equal(errors.at(-1), null);
      continue;
    }
    assert.deepEqual([status, misses, at.length], ['dead', MAX_ATTEMPTS, MAX_ATTEMPTS], name);
    assert.ok(errors.every((error) => error !== null));
  }
  const succeeded = rows.filter(({ status }) => status === 'succeeded').length;
  return { succeeded, dead: rows.length - succeeded };
}
