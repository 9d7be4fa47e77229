import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Webhook as StandardWebhook, WebhookVerificationError } from 'standardwebhooks';
import Stripe from 'stripe';
import { startLately } from '../../../../test/support/lately.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { type Endpoint, openEndpoint, type Received } from '../../../../test/support/webhook-endpoint.ts';
import { listLost, sealedColumns } from '../../../command-line/sealed-columns.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';

const isLately = startLately();

const platform = await startPlatform();
after(() => platform.close());

/** The operator has opened it to webhooks, and nothing listens there. */
const PUBLIC_URL = 'https://127.0.0.1:1/hook';

async function register(project: TestProject, url: string, events: readonly string[] = []) {
  const { status, body } = await project.post('/v1/tenant/webhooks', { url, events });
  assert.equal(status, 201);
  return body as { id: string; secret: string };
}

interface Shown {
  readonly id: string;
  readonly status: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly attempt_count: number;
  readonly last_http_status: number | null;
  readonly last_error: string | null;
  readonly next_attempt_at: string | null;
  readonly attempts: readonly { readonly at: string; readonly error: string | null }[];
}

async function listDeliveries(project: TestProject, id: string) {
  const { status, body } = await project.get(`/v1/tenant/webhooks/${id}/deliveries?limit=100`);
  assert.equal(status, 200);
  return body.data as Shown[];
}

/** Its only delivery, once it is in this state. */
async function deliveryInState(project: TestProject, id: string, status: string) {
  return eventually(async () => {
    const [delivery, ...others] = await listDeliveries(project, id);
    assert.deepEqual(others, []);
    return delivery?.status === status ? delivery : undefined;
  }, `the delivery is ${status}`);
}

async function withEndpoint(t: { after(work: () => Promise<void>): void }): Promise<Endpoint> {
  const endpoint = await openEndpoint();
  t.after(() => endpoint.close());
  return endpoint;
}

test('an event is delivered with the very bytes of the feed', async (t) => {
  const endpoint = await withEndpoint(t);
  const project = await platform.createProject();
  const webhook = await register(project, endpoint.url, ['agent.']);
  await project.post('/v1/agents', { name: 'Ümläut “quoted” 🌱' });
  await project.post('/v1/customers', { name: 'not subscribed to' });
  const { body, headers } = await endpoint.next();
  assert.equal(headers['x-ic-event-id'], JSON.parse(body).id);
  assert.equal(headers['content-type'], 'application/json');
  const { text } = await project.get('/v1/events?type=agent.created');
  assert.ok(text.startsWith(`{"data":[${body}]`), `${body}\n${text}`);
  const delivery = await deliveryInState(project, webhook.id, 'succeeded');
  assert.deepEqual(
    [
      delivery.event_id,
      delivery.event_type,
      delivery.attempt_count,
      delivery.last_http_status,
      delivery.next_attempt_at,
    ],
    [JSON.parse(body).id, 'agent.created', 1, 200, null],
  );
  assert.equal(endpoint.received.length, 1);
});

test('both signatures verify, each in its own scheme', async (t) => {
  const endpoint = await withEndpoint(t);
  const project = await platform.createProject();
  const { id, secret } = await register(project, endpoint.url, ['webhook.test']);
  await project.post(`/v1/tenant/webhooks/${id}/test`);
  const { body, headers } = await endpoint.next();
  const event = Stripe.webhooks.constructEvent(body, String(headers['x-ic-signature']), secret);
  assert.equal(event.id, headers['x-ic-event-id']);
  assert.throws(() => Stripe.webhooks.constructEvent(`${body} `, String(headers['x-ic-signature']), secret));
  const standard = new StandardWebhook(secret);
  assert.deepEqual(standard.verify(body, headers as Record<string, string>), event);
  assert.throws(() => standard.verify(`${body} `, headers as Record<string, string>), WebhookVerificationError);
});

test('during a rotation deliveries carry a signature with either secret, and with one after it', async (t) => {
  const endpoint = await withEndpoint(t);
  const project = await platform.createProject();
  const { id, secret } = await register(project, endpoint.url, ['webhook.test']);
  const verify = ({ body, headers }: Awaited<ReturnType<Endpoint['next']>>, with_: string) => {
    const event = Stripe.webhooks.constructEvent(body, String(headers['x-ic-signature']), with_);
    assert.deepEqual(new StandardWebhook(with_).verify(body, headers as Record<string, string>), event);
    return event;
  };
  const rotated = await project.post(`/v1/tenant/webhooks/${id}/rotate_secret`, {});
  assert.equal(rotated.status, 200);
  const inADay = Date.parse(rotated.body.previous_secret_expires_at) - Date.now();
  assert.ok(Math.abs(inADay - 86_400_000) < 60_000);
  await project.post(`/v1/tenant/webhooks/${id}/test`);
  const during = await endpoint.next();
  for (const valid of [secret, rotated.body.secret]) assert.ok(verify(during, valid));
  assert.equal(String(during.headers['webhook-signature']).split(' ').length, 2);

  const last = await project.post(`/v1/tenant/webhooks/${id}/rotate_secret`, { grace_seconds: 0 });
  assert.equal(last.body.previous_secret_expires_at, null);
  await project.post(`/v1/tenant/webhooks/${id}/test`);
  const afterwards = await endpoint.next();
  assert.ok(verify(afterwards, last.body.secret));
  for (const ended of [secret, rotated.body.secret]) {
    assert.throws(() => verify(afterwards, ended));
    const headers = afterwards.headers as Record<string, string>;
    assert.throws(() => new StandardWebhook(ended).verify(afterwards.body, headers), WebhookVerificationError);
  }

  const { body: feed } = await project.get('/v1/events?type=webhook.updated');
  assert.deepEqual(
    feed.data.map(({ data }: { data: object }) => data),
    [null, rotated.body.previous_secret_expires_at].map((expires) => ({
      webhook_id: id,
      changed: [],
      secret_rotated: true,
      previous_secret_expires_at: expires,
    })),
  );
});

test('a further rotation ends no grace before, five earlier secrets sign at most, and no grace ends them all', async (t) => {
  const endpoint = await withEndpoint(t);
  const project = await platform.createProject();
  const { id, secret } = await register(project, endpoint.url, ['webhook.test']);
  const secrets = [secret];
  const rotate = async (graceSeconds: number) => {
    const { status, body } = await project.post(`/v1/tenant/webhooks/${id}/rotate_secret`, {
      grace_seconds: graceSeconds,
    });
    assert.equal(status, 200);
    secrets.push(body.secret);
    return body.previous_secret_expires_at as string | null;
  };
  /** The places of the secrets that a delivery is signed with, oldest first. */
  const signing = async () => {
    await project.post(`/v1/tenant/webhooks/${id}/test`);
    const { body, headers } = await endpoint.next();
    const [, ...ours] = String(headers['x-ic-signature']).split(',');
    const valid = [...secrets.keys()].filter((place) => verifies(body, headers, secrets[place] ?? ''));
    assert.equal(ours.length, valid.length);
    assert.equal(String(headers['webhook-signature']).split(' ').length, valid.length);
    return valid;
  };

  await rotate(86_400);
  const ends = await rotate(3_600);
  assert.ok(isLately(ends ?? '', 3_600_000), 'it is that of the secret before');
  assert.equal((await project.get('/v1/tenant/webhooks')).body.data[0].previous_secret_expires_at, ends);
  assert.deepEqual(await signing(), [0, 1, 2]);

  for (const grace of [7_200, 1_200, 1_800]) await rotate(grace);
  assert.deepEqual(await signing(), [0, 1, 2, 3, 4, 5]);
  await rotate(900);
  assert.deepEqual(await signing(), [0, 1, 2, 4, 5, 6], 'the one that ended first of those before is gone');
  for (const column of sealedColumns.filter(({ table }) => table === 'webhooks')) {
    assert.deepEqual(await listLost(platform.db, platform.vault, column), [], column.column);
  }
  const { rows } = await platform.db.query({
    text: 'select w::text as row from webhooks w where id = $1',
    values: [id],
  });
  assert.doesNotMatch(JSON.stringify(rows), /whsec_/);

  assert.equal(await rotate(0), null);
  assert.deepEqual(await signing(), [7]);
});

function verifies(body: string, headers: Received['headers'], secret: string): boolean {
  try {
    Stripe.webhooks.constructEvent(body, String(headers['x-ic-signature']), secret);
  } catch {
    assert.throws(() => new StandardWebhook(secret).verify(body, headers as Record<string, string>));
    return false;
  }
  new StandardWebhook(secret).verify(body, headers as Record<string, string>);
  return true;
}

test('the secret is shown once, and never listed', async () => {
  const project = await platform.createProject();
  const { id, secret } = await register(project, PUBLIC_URL, ['run.']);
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const { body, text } = await project.get('/v1/tenant/webhooks');
  const [{ created_at, updated_at, ...webhook }] = body.data;
  assert.ok(Date.parse(created_at) <= Date.parse(updated_at));
  assert.deepEqual(webhook, {
    id,
    url: PUBLIC_URL,
    events: ['run.'],
    active: true,
    failing_since: null,
    paused_reason: null,
    previous_secret_expires_at: null,
  });
  assert.ok(!text.includes(secret));
});

test('a paused webhook gets nothing, and afterwards what happened meanwhile', async (t) => {
  const endpoint = await withEndpoint(t);
  const project = await platform.createProject();
  const { id } = await register(project, endpoint.url, ['agent.']);
  const paused = await project.patch(`/v1/tenant/webhooks/${id}`, { active: false });
  assert.deepEqual([paused.status, paused.body.active], [200, false]);
  await project.post('/v1/agents', { name: 'Made in the pause' });
  await eventually(async () => ((await listDeliveries(project, id)).length === 1 ? true : undefined), 'it waits');
  // Another endpoint's delivery has passed meanwhile.
  const control = await register(project, endpoint.url, ['webhook.test']);
  await project.post(`/v1/tenant/webhooks/${control.id}/test`);
  assert.equal(JSON.parse((await endpoint.next()).body).type, 'webhook.test');
  assert.equal(endpoint.received.length, 1);
  await project.patch(`/v1/tenant/webhooks/${id}`, { active: true });
  assert.equal(JSON.parse((await endpoint.next()).body).type, 'agent.created');
});

test('a webhook that is deleted gets nothing more', async (t) => {
  const endpoint = await withEndpoint(t);
  const project = await platform.createProject();
  const { id } = await register(project, endpoint.url, ['webhook.test']);
  await project.patch(`/v1/tenant/webhooks/${id}`, { active: false });
  await project.post(`/v1/tenant/webhooks/${id}/test`);
  assert.equal((await project.delete(`/v1/tenant/webhooks/${id}`)).status, 204);
  const control = await register(project, endpoint.url, ['webhook.test']);
  await project.post(`/v1/tenant/webhooks/${control.id}/test`);
  await deliveryInState(project, control.id, 'succeeded');
  assert.equal(endpoint.received.length, 1);
  for (const [method, path] of [
    ['get', 'deliveries'],
    ['post', 'test'],
    ['post', 'rotate_secret'],
  ] as const) {
    assert.equal((await project[method](`/v1/tenant/webhooks/${id}/${path}`)).status, 404);
  }
});

test('registering, changing, rotating and deleting a webhook append one event each', async () => {
  const project = await platform.createProject();
  const { id } = await register(project, PUBLIC_URL, ['run.']);
  assert.equal((await project.patch(`/v1/tenant/webhooks/${id}`, { active: false })).status, 200);
  assert.equal((await project.post(`/v1/tenant/webhooks/${id}/rotate_secret`, { grace_seconds: 0 })).status, 200);
  assert.equal((await project.delete(`/v1/tenant/webhooks/${id}`)).status, 204);
  const { body: feed } = await project.get('/v1/events?type=webhook');
  const updated = { webhook_id: id, previous_secret_expires_at: null };
  assert.deepEqual(feed.data.map(({ type, data }: { type: string; data: object }) => [type, data]).reverse(), [
    ['webhook.created', { webhook_id: id, url: PUBLIC_URL, events: ['run.'], active: true }],
    ['webhook.updated', { ...updated, changed: ['active'], secret_rotated: false }],
    ['webhook.updated', { ...updated, changed: [], secret_rotated: true }],
    ['webhook.deleted', { webhook_id: id }],
  ]);
});

test('a miss says why and when the next attempt is, and a redelivery is made at once', async (t) => {
  const endpoint = await withEndpoint(t);
  endpoint.answerWith(503);
  const project = await platform.createProject();
  const { id } = await register(project, endpoint.url, ['webhook.test']);
  const { body: sent } = await project.post(`/v1/tenant/webhooks/${id}/test`);
  const missed = await eventually(async () => {
    const [delivery] = await listDeliveries(project, id);
    return delivery?.attempt_count === 1 ? delivery : undefined;
  }, 'the first attempt');
  assert.deepEqual([missed.id, missed.status, missed.last_http_status], [sent.delivery_id, 'pending', 503]);
  const [attempt] = missed.attempts;
  assert.equal(attempt?.error, 'status 503');
  const waitMs = Date.parse(String(missed.next_attempt_at)) - Date.parse(attempt.at);
  assert.ok(waitMs > 45_000 && waitMs <= 66_000, `${waitMs} ms`);
  endpoint.answerWith(204);
  const again = await project.post(`/v1/tenant/webhooks/${id}/deliveries/${missed.id}/redeliver`);
  assert.deepEqual([again.status, again.body.status], [202, 'pending']);
  const done = await deliveryInState(project, id, 'succeeded');
  assert.deepEqual([done.attempt_count, done.last_http_status, done.last_error], [2, 204, null]);
  assert.equal((await project.post(`/v1/tenant/webhooks/${id}/deliveries/${missed.id}/redeliver`)).status, 202);
  await eventually(async () => (endpoint.received.length === 3 ? true : undefined), 'redelivered after success, too');
});

test('of redirects those are followed that keep the event, through the same checks', async (t) => {
  const [endpoint, target] = [await withEndpoint(t), await withEndpoint(t)];
  const project = await platform.createProject();
  const { id } = await register(project, endpoint.url, ['webhook.test']);
  const attempt = async (status: number, location: string) => {
    endpoint.answerWith(status, { location });
    const { body } = await project.post(`/v1/tenant/webhooks/${id}/test`);
    return eventually(async () => {
      const delivery = (await listDeliveries(project, id)).find((each) => each.id === body.delivery_id);
      return delivery?.attempt_count === 1 ? delivery : undefined;
    }, 'an attempt');
  };
  assert.equal((await attempt(307, target.url))?.status, 'succeeded');
  assert.equal(JSON.parse((await target.next()).body).type, 'webhook.test');
  assert.match(String((await attempt(302, target.url))?.last_error), /only 307 and 308 keep the event/);
  assert.match(String((await attempt(308, 'http://169.254.169.254/latest/meta-data'))?.last_error), /https/);
  assert.match(String((await attempt(308, 'https://10.0.0.1/'))?.last_error), /10\.0\.0\.1/);
  assert.match(String((await attempt(308, endpoint.url))?.last_error), /more than 5 redirects/);
  assert.equal(target.received.length, 1);
});

test('a replay delivers what is subscribed to since a time, from before the webhook too', async (t) => {
  const endpoint = await withEndpoint(t);
  const project = await platform.createProject();
  for (let n = 0; n < 5; n += 1) await project.post('/v1/agents', { name: `Agent ${n}` });
  const { id } = await register(project, endpoint.url, ['agent.created']);
  const replayed = await project.post(`/v1/tenant/webhooks/${id}/replay`, { since: '2020-01-01' });
  assert.deepEqual([replayed.status, replayed.body], [202, { webhook_id: id, status: 'queued' }]);
  const names = await Promise.all(Array.from({ length: 5 }, () => endpoint.next()));
  assert.equal(new Set(names.map(({ headers }) => headers['x-ic-event-id'])).size, 5);
  const late = await project.post(`/v1/tenant/webhooks/${id}/replay`, { since: '2999-01-01' });
  assert.deepEqual([late.status, late.body.error.param], [422, 'since']);
});

for (const url of [
  'http://example.net/hook',
  'https://[::1]/hook',
  'https://10.0.0.1/hook',
  'https://0x0a.1/hook',
  'https://167772161/hook',
  'https://[::ffff:10.0.0.1]/hook',
  'https://[64:ff9b::a00:1]/hook',
  'https://169.254.169.254/latest/meta-data',
  'https://user:password@127.0.0.1:1/hook',
  'ftp://127.0.0.1:1/hook',
  'javascript:alert(1)',
  'not a url',
  '',
  `https://127.0.0.1:1/${'a'.repeat(2_048)}`,
]) {
  test(`no webhook is registered at ${url.slice(0, 60)}`, async () => {
    const project = await platform.createProject();
    const { status, body } = await project.post('/v1/tenant/webhooks', { url, events: [] });
    assert.deepEqual([status, body.error?.code, body.error?.param], [422, 'invalid_url', 'url']);
  });
}

test('a webhook is not moved to an address where none is registered', async () => {
  const project = await platform.createProject();
  const { id } = await register(project, PUBLIC_URL);
  for (const url of ['https://10.0.0.1/hook', 'http://example.net/hook']) {
    const { status, body } = await project.patch(`/v1/tenant/webhooks/${id}`, { url });
    assert.deepEqual([status, body.error.code, body.error.param], [422, 'invalid_url', 'url']);
  }
  const moved = await project.patch(`/v1/tenant/webhooks/${id}`, { url: `${PUBLIC_URL}/next`, events: ['run.'] });
  assert.deepEqual([moved.body.url, moved.body.events], [`${PUBLIC_URL}/next`, ['run.']]);
  const { body: feed } = await project.get('/v1/events?type=webhook.updated');
  assert.deepEqual(feed.data[0].data.changed, ['url', 'events']);
});

test('a repeated registration is answered with the first, whatever has become of the address', async () => {
  const project = await platform.createProject();
  const send = (url: string) => project.post('/v1/tenant/webhooks', { url }, { 'idempotency-key': 'once' });
  const first = await send(PUBLIC_URL);
  const again = await send(PUBLIC_URL);
  assert.deepEqual([again.status, again.body], [first.status, first.body]);
  assert.equal((await project.get('/v1/tenant/webhooks')).body.data.length, 1);
});

for (const [name, body, code, param] of [
  ['no url', { events: [] }, 'url_required', 'url'],
  ['an unknown type', { url: PUBLIC_URL, events: ['agent.', 'run.complete'] }, 'invalid_request', 'events.1'],
  ['a type that is no text', { url: PUBLIC_URL, events: [7] }, 'invalid_request', 'events.0'],
  ['an unknown member', { url: PUBLIC_URL, active: true }, 'invalid_request', 'active'],
] as const) {
  test(`a webhook with ${name} is refused`, async () => {
    const project = await platform.createProject();
    const answer = await project.post('/v1/tenant/webhooks', body);
    assert.deepEqual([answer.status, answer.body.error.code, answer.body.error.param], [422, code, param]);
  });
}

test('what cannot be rotated or changed so is refused', async () => {
  const project = await platform.createProject();
  const { id } = await register(project, PUBLIC_URL);
  for (const grace_seconds of [-1, 604_801, 1.5, 'soon']) {
    const { status, body } = await project.post(`/v1/tenant/webhooks/${id}/rotate_secret`, { grace_seconds });
    assert.deepEqual([status, body.error.param], [422, 'grace_seconds']);
  }
  assert.equal((await project.post(`/v1/tenant/webhooks/${id}/rotate_secret`, { grace_seconds: 604_800 })).status, 200);
  const { status, body } = await project.patch(`/v1/tenant/webhooks/${id}`, {});
  assert.deepEqual([status, body.error.code], [422, 'empty_patch']);
});

test('a project has at most 100 webhooks', async () => {
  const project = await platform.createProject();
  const { id } = await register(project, PUBLIC_URL);
  await platform.db.query({
    text: `
      insert into webhooks (project_id, id, url, events, sealed_secret)
      select project_id, id || n, url, events, sealed_secret from webhooks, generate_series(1, 98) n where id = $1`,
    values: [id],
  });
  await register(project, PUBLIC_URL);
  const { status, body } = await project.post('/v1/tenant/webhooks', { url: PUBLIC_URL });
  assert.deepEqual([status, body.error.code], [422, 'invalid_request']);
  assert.match(body.error.message, /at most 100/);
});

test('webhooks and deliveries of another project are not there', async () => {
  const [mine, other] = [await platform.createProject(), await platform.createProject()];
  const { id } = await register(other, PUBLIC_URL);
  const { body: sent } = await other.post(`/v1/tenant/webhooks/${id}/test`);
  const own = await register(mine, PUBLIC_URL);
  assert.equal((await mine.get('/v1/tenant/webhooks')).body.data.length, 1);
  for (const answer of [
    await mine.patch(`/v1/tenant/webhooks/${id}`, { active: false }),
    await mine.delete(`/v1/tenant/webhooks/${id}`),
    await mine.post(`/v1/tenant/webhooks/${id}/rotate_secret`, {}),
    await mine.post(`/v1/tenant/webhooks/${id}/test`),
    await mine.post(`/v1/tenant/webhooks/${id}/replay`, { since: '2020-01-01' }),
    await mine.get(`/v1/tenant/webhooks/${id}/deliveries`),
    await mine.post(`/v1/tenant/webhooks/${id}/deliveries/${sent.delivery_id}/redeliver`),
    await mine.post(`/v1/tenant/webhooks/${own.id}/deliveries/${sent.delivery_id}/redeliver`),
  ]) {
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found']);
  }
});

test('a project that is deleted tells nothing more', async (t) => {
  const [endpoint, others] = [await withEndpoint(t), await withEndpoint(t)];
  const [project, other] = [await platform.createProject(), await platform.createProject()];
  await register(project, endpoint.url, ['run.']);
  await register(other, others.url, ['run.']);
  const path = `/v1/organization/projects/${project.projectId}`;
  assert.equal((await platform.organization.delete(path)).status, 204);
  // As a turn does whose end comes later.
  for (const { projectId } of [project, other]) {
    await new TenantDatabase(platform.db, projectId).transaction((tx) =>
      appendEvent(tx, { type: 'run.completed', actor: null, data: {} }),
    );
  }
  await eventually(async () => others.received.length > 0 || undefined, 'the other project tells of its run');
  assert.deepEqual(endpoint.received, []);
});
