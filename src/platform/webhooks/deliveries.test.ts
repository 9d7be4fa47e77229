/** The dispatcher over time, on each store: retries, death, fairness, pauses, and two replicas that share the work. */
import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { describeOnEachStore } from '../../../test/support/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { createMetrics } from '../../kernel/metrics/metrics.ts';
import { createVault } from '../../kernel/vault/vault.ts';
import { Dispatcher } from '../../kernel/webhooks/dispatcher.ts';
import type { AttemptResult, WebhookSender } from '../../kernel/webhooks/send-delivery.ts';
import { mintWebhookSecret, webhookSecretContext } from '../../kernel/webhooks/webhook-secret.ts';
import { appendEvent } from '../feed/append-event.ts';
import { TenantDatabase } from '../store/tenant-db.ts';
import { platformWebhooks } from './deliver-webhooks.ts';
import { fanOut } from './fan-out.ts';

const PATIENCE_MS = 120_000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const TAKEN: AttemptResult = { httpStatus: 200, error: null };
const MISSED: AttemptResult = { httpStatus: 500, error: 'status 500' };
const never = new AbortController().signal;

describeOnEachStore('deliveries of webhooks', {}, (current) => {
  const vault = createVault([createSecretKey(randomBytes(32))]);
  const logger = { warn: () => undefined };

  /** A project with webhooks, and a clock that stands still. */
  async function createScene(send: WebhookSender) {
    const { db } = current();
    const organizationId = mintId('org');
    const projectId = mintId('proj');
    await db.query({ text: 'insert into organizations (id, name) values ($1, $1)', values: [organizationId] });
    await db.query({
      text: 'insert into projects (id, organization_id, name) values ($1, $2, $1)',
      values: [projectId, organizationId],
    });
    const home = new TenantDatabase(db, projectId);
    let nowMs = Date.now();
    const now = () => new Date(nowMs);
    const openDispatcher = () =>
      new Dispatcher({
        ...platformWebhooks,
        db,
        vault,
        now,
        send,
        logger,
        metrics: createMetrics(),
        onRoom: () => undefined,
      });
    const dispatcher = openDispatcher();
    return {
      home,
      openDispatcher,
      advance: (ms: number) => {
        nowMs += ms;
      },
      async register(name: string): Promise<string> {
        const id = mintId('whk');
        const sealed = vault.seal(mintWebhookSecret(), webhookSecretContext(projectId, id, 'current'));
        await home
          .insertInto('webhooks')
          .values({ id, url: `https://${name}/`, events: [], sealed_secret: sealed })
          .execute();
        return id;
      },
      happen: (count: number) =>
        home.transaction(async (tx) => {
          for (let n = 0; n < count; n += 1) await appendEvent(tx, { type: 'run.completed', actor: null, data: { n } });
        }),
      async fanOut(): Promise<void> {
        // Other transactions of the server may be open: what is committed becomes final when they end.
        const wanted = await home.raw<{ count: number }>({
          text: 'select (select count(*) from events where project_id = $1)::int as count',
        });
        for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; ) {
          await fanOut({ db, now, logger }, never);
          const { rows } = await home.raw<{ count: number }>({
            text: 'select count(distinct event_id)::int as count from webhook_deliveries where project_id = $1',
          });
          if (rows[0]?.count === wanted.rows[0]?.count) return;
        }
        assert.fail('not every event was fanned out');
      },
      /** Sends what is due, and waits for it. */
      async dispatch(): Promise<void> {
        await dispatcher.dispatch(never);
        await dispatcher.drain();
      },
      async read() {
        const { rows } = await home.raw<{
          webhook_id: string;
          status: string;
          attempt_count: number;
          next: Date | null;
        }>({
          text: `select webhook_id, status, attempt_count, next_attempt_at as next from webhook_deliveries
                 where project_id = $1 order by id`,
        });
        return rows.map((row) => ({ ...row, waitMs: row.next === null ? null : row.next.getTime() - nowMs }));
      },
    };
  }

  /** Only what was sent to these hosts: dispatchers see every project's deliveries. */
  const counting = (answer: (host: string, body: string) => Promise<AttemptResult> | AttemptResult) => {
    const sent: { host: string; id: string }[] = [];
    const send: WebhookSender = async (url, headers, body) => {
      const { host } = new URL(url);
      sent.push({ host, id: headers['x-ic-event-id'] ?? '' });
      return answer(host, body);
    };
    return { sent, send };
  };

  test('are tried after 1, 5, 15, 60 and 180 minutes, give or take a tenth, and are then dead', async () => {
    const { send } = counting(() => MISSED);
    const scene = await createScene(send);
    await scene.register('always-down.test');
    await scene.happen(1);
    await scene.fanOut();
    for (const [attempt, minutes] of [1, 5, 15, 60, 180].entries()) {
      await scene.dispatch();
      const [delivery] = await scene.read();
      assert.deepEqual([delivery?.status, delivery?.attempt_count], ['pending', attempt + 1]);
      const waitMs = delivery?.waitMs ?? 0;
      assert.ok(Math.abs(waitMs - minutes * MINUTE_MS) <= minutes * MINUTE_MS * 0.1, `${waitMs} after ${minutes}`);
      scene.advance(waitMs - 1);
      await scene.dispatch();
      assert.equal((await scene.read())[0]?.attempt_count, attempt + 1, 'not before its time');
      scene.advance(1);
    }
    await scene.dispatch();
    const [delivery] = await scene.read();
    assert.deepEqual([delivery?.status, delivery?.attempt_count, delivery?.next], ['dead', 6, null]);
    scene.advance(DAY_MS);
    await scene.dispatch();
    assert.equal((await scene.read())[0]?.attempt_count, 6);
  });

  test('of an endpoint that answers nobody hold up no other endpoint', async () => {
    const slow = Promise.withResolvers<AttemptResult>();
    const { sent, send } = counting((host) => (host === 'slow.test' ? slow.promise : TAKEN));
    const scene = await createScene(send);
    await scene.register('slow.test');
    await scene.happen(300);
    await scene.fanOut();
    const dispatcher = scene.openDispatcher();
    await dispatcher.dispatch(never);
    assert.equal(sent.filter(({ host }) => host === 'slow.test').length, 16, 'one endpoint has so many at a time');
    await scene.register('quick.test');
    await scene.happen(5);
    await scene.fanOut();
    await dispatcher.dispatch(never);
    assert.equal(sent.filter(({ host }) => host === 'quick.test').length, 5);
    slow.resolve(MISSED);
    await dispatcher.drain();
  });

  test('of an endpoint that fails are tried two at a time', async () => {
    let answer: Promise<AttemptResult> = Promise.resolve(MISSED);
    const { sent, send } = counting(() => answer);
    const scene = await createScene(send);
    await scene.register('failing.test');
    await scene.happen(1);
    await scene.fanOut();
    await scene.dispatch();
    await scene.happen(10);
    await scene.fanOut();
    const countSent = () => sent.filter(({ host }) => host === 'failing.test').length;
    const before = countSent();
    const hanging = Promise.withResolvers<AttemptResult>();
    answer = hanging.promise;
    const dispatcher = scene.openDispatcher();
    await dispatcher.dispatch(never);
    assert.equal(countSent() - before, 2);
    hanging.resolve(MISSED);
    await dispatcher.drain();
  });

  test('are each made once by dispatchers that look at the same time', async () => {
    const { sent, send } = counting(() => TAKEN);
    const scene = await createScene(send);
    for (const name of ['one.test', 'two.test', 'three.test']) await scene.register(name);
    await scene.happen(40);
    await scene.fanOut();
    const replicas = [scene.openDispatcher(), scene.openDispatcher(), scene.openDispatcher()];
    for (let pass = 0; pass < 20; pass += 1) {
      await Promise.all(replicas.map((replica) => replica.dispatch(never)));
      await Promise.all(replicas.map((replica) => replica.drain()));
    }
    const own = sent.filter(({ host }) => ['one.test', 'two.test', 'three.test'].includes(host));
    assert.equal(own.length, 120);
    assert.equal(new Set(own.map(({ host, id }) => `${host} ${id}`)).size, 120);
    assert.ok((await scene.read()).every(({ status, attempt_count }) => status === 'succeeded' && attempt_count === 1));
  });

  test('that a replica took with it when it died are due again half a minute later', async () => {
    let isAlive = false;
    const hanging = Promise.withResolvers<AttemptResult>();
    const { send } = counting(() => (isAlive ? TAKEN : hanging.promise));
    const scene = await createScene(send);
    await scene.register('patient.test');
    await scene.happen(1);
    await scene.fanOut();
    await scene.openDispatcher().dispatch(never);
    isAlive = true;
    scene.advance(29_000);
    await scene.dispatch();
    assert.equal((await scene.read())[0]?.status, 'pending');
    scene.advance(2_000);
    await scene.dispatch();
    assert.deepEqual(
      (await scene.read()).map(({ status, attempt_count }) => [status, attempt_count]),
      [['succeeded', 1]],
    );
    hanging.resolve(MISSED);
  });

  test('end when nothing has reached the endpoint for five days: it is paused, and the feed says so', async () => {
    let isDown = true;
    const { send } = counting(() => (isDown ? MISSED : TAKEN));
    const scene = await createScene(send);
    const id = await scene.register('gone.test');
    const healthOf = async () =>
      scene.home
        .selectFrom('webhooks')
        .select(['active', 'failing_since', 'paused_reason'])
        .where('id', '=', id)
        .executeTakeFirst();
    const fail = async () => {
      await scene.happen(1);
      await scene.fanOut();
      await scene.dispatch();
    };
    await fail();
    assert.ok((await healthOf())?.failing_since);
    isDown = false;
    await fail();
    assert.deepEqual(
      await healthOf(),
      { active: true, failing_since: null, paused_reason: null },
      'one success is enough',
    );
    isDown = true;
    await fail();
    scene.advance(5 * DAY_MS - 1);
    await fail();
    assert.equal((await healthOf())?.active, true);
    scene.advance(2);
    await fail();
    const paused = await healthOf();
    assert.deepEqual([paused?.active, paused?.paused_reason], [false, 'failing']);
    const { rows } = await scene.home.raw<{ data: object }>({
      text: `select data from events where project_id = $1 and type = 'webhook.updated'`,
    });
    assert.deepEqual(
      rows.map(({ data }) => data),
      [
        {
          webhook_id: id,
          changed: ['active'],
          secret_rotated: false,
          previous_secret_expires_at: null,
          paused_reason: 'failing',
        },
      ],
    );
    const attempts = (await scene.read()).reduce((sum, { attempt_count }) => sum + attempt_count, 0);
    scene.advance(DAY_MS);
    await scene.dispatch();
    assert.equal(
      (await scene.read()).reduce((sum, { attempt_count }) => sum + attempt_count, 0),
      attempts,
    );
  });
});
