/** Webhooks of workspaces, with receivers on loopback that verify what they are sent as Standard Webhooks says. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, describe, test } from 'node:test';
import type { TestWorkspace } from '../../../../test/support/domains.ts';
import { refusal, silenceAfter, startOrders } from '../../../../test/support/orders.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { type Endpoint, openEndpoint, type Received } from '../../../../test/support/webhook-endpoint.ts';
import { listLost, sealedColumns } from '../../../command-line/sealed-columns.ts';
import { createLogger } from '../../../kernel/log/log.ts';
import { createMetrics } from '../../../kernel/metrics/metrics.ts';
import { createOutbound } from '../../../kernel/outbound/outbound.ts';
import { createWebhookDeliveries, EVENT_TYPES } from '../../events/index.ts';

const MINUTE_MS = 60_000;
const service = await startOrders();
const { clock, db, plan, vault } = service;
const endpoints: Endpoint[] = [];
after(async () => {
  await service.close();
  await Promise.all(endpoints.map((endpoint) => endpoint.close()));
});

async function open(): Promise<Endpoint> {
  const endpoint = await openEndpoint();
  endpoints.push(endpoint);
  return endpoint;
}

async function register(workspace: TestWorkspace, endpoint: Endpoint, events?: string[]) {
  const { status, body, text } = await workspace.post('/webhooks', { url: endpoint.url, ...(events && { events }) });
  assert.equal(status, 201, text);
  return body as { id: string; secret: string };
}

/** As a receiver does: the id, the time and the bytes, signed with one of the secrets. */
function verify({ headers, body }: Received, ...secrets: readonly string[]) {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = secrets.map((secret) => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  });
  assert.equal(headers['webhook-signature'], expected.join(' '));
  const event = JSON.parse(body);
  assert.equal(event.id, headers['webhook-id']);
  return event;
}

const deliveriesOf = async (workspace: TestWorkspace, id: string, query = '') =>
  (await workspace.get(`/webhooks/${id}/deliveries${query}`)).body.deliveries;

let names = 0;
const newName = () => `hook-${process.pid}-${++names}.com`;
const buy = (workspace: TestWorkspace, domain: string) => workspace.post('/domains', { domain, confirm_price: 11.9 });

describe('what happens in a workspace', () => {
  test('is sent signed to those who asked for it, once, and read back as the same', async () => {
    const workspace = await service.fundedWorkspace();
    const [all, orders] = [await open(), await open()];
    const everything = await register(workspace, all);
    const some = await register(workspace, orders, ['order', 'domain.renewed']);
    const name = newName();
    assert.equal((await buy(workspace, name)).status, 201);
    assert.equal((await workspace.post(`/domains/${name}/renew`, { confirm_price: 11.9 })).status, 200);
    const sent = [];
    for (let count = 0; count < 3; count += 1) sent.push(verify(await orders.next(), some.secret));
    assert.deepEqual(
      sent.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(({ type, data }) => [type, data.domain, data.kind]),
      [
        ['order.completed', name, 'registration'],
        ['order.completed', name, 'renewal'],
        ['domain.renewed', name, undefined],
      ],
    );
    const listed = (await workspace.reader.get('/events')).body.events;
    assert.deepEqual(
      listed.map(({ type }: { type: string }) => type),
      [
        'domain.renewed',
        'order.completed',
        'domain.registered',
        'order.completed',
        'webhook.created',
        'webhook.created',
        'wallet.credited',
      ],
    );
    // Not of what was before it, nor of itself.
    const [renewed] = listed;
    for (const event of sent) assert.ok(listed.some((one: object) => JSON.stringify(one) === JSON.stringify(event)));
    assert.deepEqual((await workspace.get(`/events/${renewed.id}`)).body, renewed);
    await eventually(async () => (all.received.length >= 5 ? true : undefined), 'every event');
    for (const one of all.received) assert.equal(verify(one, everything.secret).workspace_id, workspace.workspaceId);
    assert.equal(new Set(all.received.map(({ headers }) => headers['webhook-id'])).size, 5);
  });

  test('that does not happen is told by nobody: a refused order is a failed one, an undone change is none', async () => {
    const workspace = await service.fundedWorkspace(500);
    const endpoint = await open();
    const { secret } = await register(workspace, endpoint, ['order', 'domain']);
    assert.deepEqual(refusal(await buy(workspace, newName())), [402, 'insufficient_balance']);
    await workspace.fund(100_000);
    const refused = `taken-${newName()}`;
    const wrong = await workspace.post(`/domains/${refused}/transfer`, { auth_code: 'wrong', confirm_price: 11.9 });
    assert.deepEqual(refusal(wrong), [422, 'transfer_failed']);
    const { type, data } = verify(await endpoint.next(), secret);
    assert.deepEqual([type, data.domain, data.error], ['order.failed', refused, 'transfer_failed']);
    assert.equal(endpoint.received.length, 1);
  });

  test('whose answer was lost at the registry is told once, when it is known', async () => {
    const workspace = await service.fundedWorkspace();
    const endpoint = await open();
    await register(workspace, endpoint, ['order']);
    const name = newName();
    plan(name, silenceAfter('create'));
    await buy(workspace, name);
    for (let look = 0; look < 12; look += 1) await service.later(15 * MINUTE_MS);
    await Promise.all([service.later(MINUTE_MS), service.later(MINUTE_MS)]);
    const { body } = await endpoint.next();
    assert.equal(JSON.parse(body).type, 'order.completed');
    const { events } = (await workspace.get('/events')).body;
    const ended = events.filter(({ type }: { type: string }) => type.startsWith('order.'));
    assert.equal(ended.length, 1);
    assert.equal(ended[0].data.domain, name);
  });
});

describe('an endpoint', () => {
  test('that takes nothing is tried again with the same id, until its answer of 2xx', async () => {
    const workspace = await service.createWorkspace();
    const endpoint = await open();
    const { id, secret } = await register(workspace, endpoint, ['wallet']);
    endpoint.answerWith(503);
    await workspace.fund(100);
    const first = verify(await endpoint.next(), secret);
    await eventually(async () => {
      const [delivery] = await deliveriesOf(workspace, id);
      return delivery.attempt_count === 1 && delivery.last_http_status === 503 ? true : undefined;
    }, 'the first attempt');
    assert.notEqual((await workspace.get(`/webhooks/${id}`)).body.failing_since, null);
    endpoint.answerWith(204);
    clock.advance(2 * MINUTE_MS);
    const again = verify(await endpoint.next(), secret);
    assert.deepEqual(again, first);
    await eventually(
      async () => ((await deliveriesOf(workspace, id, '?status=succeeded')).length === 1 ? true : undefined),
      'its success',
    );
    // Of the endpoint it is noted behind the delivery, in a statement of its own.
    await eventually(
      async () => ((await workspace.get(`/webhooks/${id}`)).body.failing_since === null ? true : undefined),
      'the endpoint counts as well again',
    );
  });

  test('whose answer was lost with the process that asked gets it again, from another process', async () => {
    const workspace = await service.createWorkspace();
    const endpoint = await open();
    const { id, secret } = await register(workspace, endpoint, ['wallet']);
    await workspace.fund(100);
    const first = verify(await endpoint.next(), secret);
    await eventually(
      async () => ((await deliveriesOf(workspace, id, '?status=succeeded')).length === 1 ? true : undefined),
      'its success',
    );
    // As a process leaves it that died after the answer and before it was written down: leased, and pending.
    await db.query({
      text: `update domains.webhook_deliveries set status = 'pending', next_attempt_at = $2 where webhook_id = $1`,
      values: [id, new Date(clock.now().getTime() + 30_000)],
    });
    const outbound = createOutbound({ allow: ['127.0.0.1'] });
    const logger = createLogger({ logLevel: 'silent' });
    const other = createWebhookDeliveries({ db, vault, clock, logger, metrics: createMetrics(), outbound });
    await other.start();
    try {
      clock.advance(MINUTE_MS);
      assert.deepEqual(verify(await endpoint.next(), secret), first);
    } finally {
      await other.stop();
      await outbound.close();
    }
  });

  test('is sent nothing while it is paused, and all of it afterwards', async () => {
    const workspace = await service.createWorkspace();
    const endpoint = await open();
    const { id } = await register(workspace, endpoint, ['wallet']);
    assert.equal((await workspace.patch(`/webhooks/${id}`, { active: false })).body.active, false);
    await workspace.fund(100);
    await workspace.fund(200);
    assert.equal((await deliveriesOf(workspace, id, '?status=pending')).length, 2);
    assert.equal(endpoint.received.length, 0);
    assert.equal((await workspace.patch(`/webhooks/${id}`, { active: true })).body.active, true);
    await endpoint.next();
    await endpoint.next();
  });

  test('has two valid secrets while a rotation lasts, and one after it', async () => {
    const workspace = await service.createWorkspace();
    const endpoint = await open();
    const { id, secret: old } = await register(workspace, endpoint, ['wallet']);
    const rotated = await workspace.post(`/webhooks/${id}/rotate-secret`, { grace_seconds: 3_600 });
    assert.equal(rotated.status, 200, rotated.text);
    const { secret } = rotated.body;
    await workspace.fund(100);
    verify(await endpoint.next(), secret, old);
    clock.advance(61 * MINUTE_MS);
    await workspace.fund(100);
    verify(await endpoint.next(), secret);
    assert.doesNotMatch((await workspace.get('/webhooks')).text, /whsec/);
  });

  test('keeps each secret that was replaced until its time, whatever is rotated meanwhile', async () => {
    const workspace = await service.createWorkspace();
    const endpoint = await open();
    const { id, secret: first } = await register(workspace, endpoint, ['wallet']);
    const rotate = async (graceSeconds: number) =>
      (await workspace.post(`/webhooks/${id}/rotate-secret`, { grace_seconds: graceSeconds })).body;
    const next = async () => {
      await workspace.fund(100);
      return endpoint.next();
    };
    const { secret: second } = await rotate(2 * 3_600);
    const { secret: third, previous_secret_expires_at } = await rotate(3_600);
    assert.equal(Date.parse(previous_secret_expires_at), clock.now().getTime() + 60 * MINUTE_MS);
    verify(await next(), third, second, first);
    clock.advance(61 * MINUTE_MS);
    verify(await next(), third, first);
    const { secret: fourth } = await rotate(24 * 3_600);
    verify(await next(), fourth, third, first);
    clock.advance(60 * MINUTE_MS);
    verify(await next(), fourth, third);
    const { secret: last } = await rotate(0);
    verify(await next(), last);
    for (const column of sealedColumns.filter(({ table }) => table === 'domains.webhooks')) {
      assert.deepEqual(await listLost(db, vault, column), [], column.column);
    }
  });

  test('is sent a test at once, and whatever it is asked to send again', async () => {
    const workspace = await service.createWorkspace();
    const endpoint = await open();
    const { id, secret } = await register(workspace, endpoint, ['order']);
    const { status, body } = await workspace.post(`/webhooks/${id}/test`);
    assert.equal(status, 202);
    const event = verify(await endpoint.next(), secret);
    assert.deepEqual([event.id, event.type], [body.event_id, 'webhook.test']);
    await eventually(
      async () => ((await deliveriesOf(workspace, id, '?status=succeeded')).length === 1 ? true : undefined),
      'its success',
    );
    const again = await workspace.post(`/webhooks/${id}/deliveries/${body.delivery_id}/redeliver`);
    assert.deepEqual([again.status, again.body.status], [202, 'pending']);
    assert.deepEqual(verify(await endpoint.next(), secret), event);
  });

  test('that is deleted is sent nothing more', async () => {
    const workspace = await service.createWorkspace();
    const endpoint = await open();
    const { id } = await register(workspace, endpoint);
    assert.deepEqual((await workspace.delete(`/webhooks/${id}`)).body, { deleted: true, id });
    assert.deepEqual(refusal(await workspace.get(`/webhooks/${id}`)), [404, 'not_found']);
    await workspace.fund(100);
    const { rows } = await db.query({
      text: 'select from domains.webhook_deliveries where webhook_id = $1',
      values: [id],
    });
    assert.equal(rows.length, 0);
  });
});

test('registering, changing, rotating and deleting a webhook append one event each', async () => {
  const workspace = await service.createWorkspace();
  const { id } = await register(workspace, await open(), ['order']);
  assert.equal((await workspace.patch(`/webhooks/${id}`, { active: false })).status, 200);
  assert.equal((await workspace.post(`/webhooks/${id}/rotate-secret`, { grace_seconds: 0 })).status, 200);
  assert.equal((await workspace.delete(`/webhooks/${id}`)).status, 200);
  const { events } = (await workspace.get('/events')).body;
  assert.deepEqual(
    events.map(({ type, data }: { type: string; data: { webhook_id: string } }) => [type, data.webhook_id]).reverse(),
    [
      ['webhook.created', id],
      ['webhook.updated', id],
      ['webhook.updated', id],
      ['webhook.deleted', id],
    ],
  );
});

test('bad_request: an address that is not public, a selector that means nothing, and one webhook too many', async () => {
  const workspace = await service.createWorkspace();
  for (const url of [
    'https://10.0.0.1/',
    'http://8.8.8.8/',
    'https://[::1]/',
    'ftp://example.com',
    'no url',
    'https://169.254.169.254/',
  ]) {
    const refused = await workspace.post('/webhooks', { url });
    assert.deepEqual([...refusal(refused), refused.body.details.param], [400, 'bad_request', 'url'], url);
  }
  const endpoint = await open();
  for (const selector of ['orders', 'run.completed', '.', 'order.complete']) {
    const refused = await workspace.post('/webhooks', { url: endpoint.url, events: ['order', selector] });
    assert.deepEqual([...refusal(refused), refused.body.details.param], [400, 'bad_request', 'events.1'], selector);
  }
  for (const selector of EVENT_TYPES.slice(0, 20)) await register(workspace, endpoint, [selector]);
  assert.deepEqual(refusal(await workspace.post('/webhooks', { url: endpoint.url })), [400, 'bad_request']);
});

test('another workspace sees and changes nothing of it', async () => {
  const [one, other] = [await service.createWorkspace(), await service.createWorkspace()];
  const { id } = await register(one, await open());
  await one.fund(100);
  const [event] = (await one.get('/events')).body.events;
  const [delivery] = await deliveriesOf(one, id);
  const tries = [
    other.get(`/webhooks/${id}`),
    other.patch(`/webhooks/${id}`, { active: false }),
    other.delete(`/webhooks/${id}`),
    other.post(`/webhooks/${id}/rotate-secret`, {}),
    other.post(`/webhooks/${id}/test`),
    other.get(`/webhooks/${id}/deliveries`),
    other.post(`/webhooks/${id}/deliveries/${delivery.id}/redeliver`),
    other.get(`/events/${event.id}`),
  ];
  for (const answer of await Promise.all(tries)) assert.deepEqual(refusal(answer), [404, 'not_found']);
  assert.deepEqual((await other.get('/webhooks')).body.webhooks, []);
  assert.deepEqual((await other.get('/events')).body.events, []);
});
