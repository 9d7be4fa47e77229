/**
 * What is served is what the contract lists (operations.tsv), what clients of the OpenAI dialect call besides
 * (dialect-operations.tsv) and what is Ironcraft's own (own-operations.tsv): each operation in one of them, and nothing
 * else.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { createClient, startPlatform } from '../support/platform.ts';
import { bodyFor, foreignWorld, pathIn } from './world.ts';

interface Row {
  readonly method: string;
  readonly path: string;
  readonly id: string;
  readonly posture: string;
  readonly scope: string;
}

const listed: readonly Row[] = ['./operations.tsv', './dialect-operations.tsv', './own-operations.tsv']
  .flatMap((name) => readFileSync(new URL(name, import.meta.url), 'utf8').split('\n'))
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [method = '', path = '', id = '', posture = '', scope = ''] = line.split('\t');
    return { method, path, id, posture, scope };
  });

const platform = await startPlatform();
after(() => platform.close());
const served = new Map(
  platform.platform.operations.map(({ method, path, id, posture, scope = '-' }) => [
    id,
    { method, path, id, posture, scope },
  ]),
);

describe('every operation of the tables is served as it is listed', () => {
  for (const row of listed) {
    test(row.id, () => assert.deepEqual(served.get(row.id), row));
  }
});

test('each operation that is served stands in one table, once', () => {
  assert.deepEqual([...served.keys()].sort(), listed.map(({ id }) => id).sort());
});

test('no two operations share an id, or a method and path', () => {
  const { operations } = platform.platform;
  assert.equal(new Set(operations.map(({ id }) => id)).size, operations.length);
  assert.equal(new Set(operations.map(({ method, path }) => `${method} ${path}`)).size, operations.length);
});

test('every create honours Idempotency-Key; a POST that does not names a call that may be repeated', () => {
  // Cancelling acts on one object that exists: the second call finds it cancelled. An embedding, a recall and a search
  // change nothing. What is changed twice alike is as if it were changed once.
  const repeatable = [
    // What counts once is spent: a code, a refresh token. A client that registers twice is two.
    'oauth.register',
    'oauth.consent',
    'oauth.token',
    'oauth.revoke',
    'oauth.authorize_requests.complete',
    'oauth.authorize_requests.decline',
    'smiths.runs.cancel',
    'hosted.stop',
    'responses.cancel',
    'embeddings.create',
    'smiths.memory.recall',
    'conversations.update',
    'vector_stores.update',
    'vector_stores.files.update',
    'vector_stores.file_batches.cancel',
    'vector_stores.search',
    // Each span counts once.
    'traces.otlp.push',
    // Asks the server again.
    'tenant.mcp.refresh',
    'skills.update',
    // Each call is a further delivery.
    'tenant.webhooks.test',
    'tenant.webhooks.deliveries.redeliver',
    'tenant.webhooks.replay',
    // Each call is another link; a connection that was just refreshed may be refreshed again.
    'smiths.connections.authorize',
    'smiths.connections.refresh',
    // A request of a session begins one turn.
    'deployments.mcp',
    // A page is settled once, an event of Stripe too.
    'organization.billing.confirm',
    'organization.billing.stripe_webhook',
    // A message is known by its id.
    'telegram.webhook.receive',
    'whatsapp.webhook.receive',
    'discord.webhook.receive',
    'slack.webhook.receive',
    'slack.app_webhook.receive',
    'sms.webhook.receive',
    'email.inbound.receive',
    'voice.webhook.receive',
  ];
  const without = platform.platform.operations.filter(({ method, idempotent }) => method === 'POST' && !idempotent);
  assert.deepEqual(without.map(({ id }) => id).sort(), repeatable.sort());
});

test('every operation answers for the objects that its path names', async () => {
  const world = await foreignWorld(platform);
  const nobody = createClient(platform.url, '');
  for (const row of listed) {
    const { method, path, id, posture } = row;
    // Whoever may read is answered. What changes something is only asked who calls: the objects are for those that come after.
    const isRead = method === 'GET' && posture !== 'public';
    const reader = posture === 'org' ? world.organization : world.tenant;
    const body = posture === 'public' ? bodyFor(row, world) : undefined;
    const response = await (isRead ? reader : nobody).open(method, pathIn(path, world), body);
    const text = await response.text();
    const { status } = response;
    if (isRead) assert.ok(status < 300, `${id}: ${status} ${text}`);
    else if (posture === 'public') assert.ok(status !== 404 && status !== 405, `${id}: ${status} ${text}`);
    else assert.equal(status, 401, `${id}: ${text}`);
  }
});
