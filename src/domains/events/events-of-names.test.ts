/** Events of names that are suspended, asked for by another registrar, or signed: through a webhook, over EPP, one of each. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { NAMESERVERS, type TestWorkspace } from '../../../test/support/domains.ts';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { THEIR_PASSWORD } from '../../../test/support/epp.ts';
import { done } from '../../../test/support/simulated-registry.ts';
import { eventually } from '../../../test/support/turns.ts';
import { type Endpoint, openEndpoint } from '../../../test/support/webhook-endpoint.ts';
import type { ZonePublisher } from '../dns/publisher.ts';
import { workspaceDb } from '../workspace-scope.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DS = { keyTag: 1, algorithm: 13, digestType: 2, digest: 'AB'.repeat(32) };

const publisher: ZonePublisher = {
  kind: 'powerdns',
  supportsDnssec: true,
  publish: async () => undefined,
  remove: async () => undefined,
  sign: async () => [DS],
  unsign: async () => undefined,
  addKey: async () => [DS],
  retireKeys: async () => undefined,
  start: async () => undefined,
  stop: async () => undefined,
};
const service = await startDomainsOverEpp({
  autoRenewGraceDays: 45,
  endpoint: { connections: 3 },
  mailer: { send: async () => undefined },
  parts: {
    publisher: () => publisher,
    delegations: { find: async () => ({ nameservers: NAMESERVERS, ttlSeconds: 300 }) },
  },
});
const { deliver, domains, owner } = service;
const { clock, core, ours, theirs } = service.epp;
const other = await service.epp.connect({ clientId: theirs.registrarId, password: THEIR_PASSWORD });
let endpoint: Endpoint;
let workspace: TestWorkspace;
let webhook: { readonly id: string; readonly secret: string };
let names = 0;
let name: string;
after(async () => {
  await service.close();
  await endpoint.close();
});
before(async () => {
  endpoint = await openEndpoint();
});
beforeEach(async () => {
  name = `told-${++names}.com`;
  workspace = await owner(name);
  await workspace.get(`/domains/${name}`);
  const events = ['domain', 'transfer_out', 'dnssec'];
  const { body, status, text } = await workspace.post('/webhooks', { url: endpoint.url, events });
  assert.equal(status, 201, text);
  webhook = body;
});

async function deliveriesOf(): Promise<{ status: string }[]> {
  return (await workspace.get(`/webhooks/${webhook.id}/deliveries`)).body.deliveries;
}

const areSettled = async () => (await deliveriesOf()).every(({ status }) => status === 'succeeded') || undefined;

/** An attempt that this clock leaves behind counts as lost, and is made again. */
async function later(ms: number): Promise<void> {
  await eventually(areSettled, 'what was to be delivered is');
  await service.later(ms);
  await domains.unpaidNames.runDue();
  await domains.watchTransfers();
  await service.later(0);
}

/** What this webhook was sent: each event once, and signed; in the order in which they came about. */
function received() {
  const mine = endpoint.received.flatMap(({ body, headers }) => {
    const event = JSON.parse(body);
    if (event.workspace_id !== workspace.workspaceId) return [];
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const key = Buffer.from(webhook.secret.slice('whsec_'.length), 'base64');
    assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
    return [event];
  });
  assert.equal(new Set(mine.map(({ id }) => id)).size, mine.length, 'each is delivered once');
  return mine.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Once all that there is has been delivered: what was sent is what is read back. */
async function assertTold(expected: readonly (readonly [type: string, data: object])[]): Promise<void> {
  await eventually(async () => {
    return ((await deliveriesOf()).length >= expected.length && (await areSettled())) || undefined;
  }, `${expected.length} events are delivered`);
  const events = received();
  assert.deepEqual(
    events.map(({ data, type }) => [type, data]),
    expected,
  );
  const listed = (await workspace.get('/events')).body.events;
  for (const event of events)
    assert.deepEqual(
      listed.find(({ id }: { id: string }) => id === event.id),
      event,
    );
}

describe('a name that nobody pays for', () => {
  test('domain.suspended and domain.resumed', async () => {
    await workspace.patch(`/domains/${name}/settings`, { auto_renew: false });
    const { body } = await workspace.get(`/domains/${name}`);
    const end = new Date(body.renewal.billed_until);
    await later(end.getTime() - clock.now().getTime() + HOUR_MS);
    const suspended = {
      domain: name,
      reason: 'unpaid',
      deleted_after: new Date(end.getTime() + 30 * DAY_MS).toISOString(),
      paid_until: end.toISOString(),
    };
    await assertTold([['domain.suspended', suspended]]);
    const renewed = await workspace.post(`/domains/${name}/renew`, { confirm_price: 11.9 });
    assert.equal(renewed.body.status, 'Completed', renewed.text);
    await later(2 * HOUR_MS);
    const { expires_at, renewal } = (await workspace.get(`/domains/${name}`)).body;
    const term = { expires_at, billed_until: renewal.billed_until };
    await assertTold([
      ['domain.suspended', suspended],
      ['domain.renewed', { domain: name, order_id: renewed.body.order_id, ...term }],
      ['domain.resumed', { domain: name }],
    ]);
  });
});

describe('a name that another registrar asks for', () => {
  async function ask() {
    const { authInfo = '' } = done(await core.infoDomain(ours, { name }));
    const asked = await other.transfer({ name, authCode: authInfo, years: 1, transactionId: `trn_${name}` });
    assert.equal(asked.kind, 'pending');
    const at = clock.now();
    await later(1_000);
    return {
      ...{ domain: name, requested_by: theirs.registrarId, requested_at: at.toISOString() },
      acts_at: new Date(at.getTime() + 5 * DAY_MS).toISOString(),
    };
  }

  /** The same request, which has ended by now. */
  const ended = (asked: object) => ({ ...asked, acts_at: clock.now().toISOString() });

  test('transfer_out.requested, then transfer_out.rejected', async () => {
    const asked = await ask();
    await assertTold([['transfer_out.requested', asked]]);
    assert.equal((await workspace.post(`/domains/${name}/transfer-out/reject`, {})).status, 200);
    await assertTold([
      ['transfer_out.requested', asked],
      ['transfer_out.rejected', ended(asked)],
    ]);
  });

  test('transfer_out.approved, then domain.transferred_out', async () => {
    const asked = await ask();
    assert.equal((await workspace.post(`/domains/${name}/transfer-out/approve`, {})).status, 200);
    const approved = ended(asked);
    for (let count = 0; count < 5; count += 1) await later(DAY_MS);
    await assertTold([
      ['transfer_out.requested', asked],
      ['transfer_out.approved', approved],
      ['domain.transferred_out', { domain: name }],
    ]);
  });

  test('transfer_out.cancelled, where the other registrar takes its request back', async () => {
    const asked = await ask();
    done(await core.cancelTransfer(theirs, { name }));
    const cancelled = ended(asked);
    await later(1_000);
    await assertTold([
      ['transfer_out.requested', asked],
      ['transfer_out.cancelled', cancelled],
    ]);
  });
});

describe('a zone that is signed', () => {
  const switched = (dnssec: boolean) => workspace.patch(`/domains/${name}/settings`, { dnssec });

  test('dnssec.enabled and dnssec.disabled', async () => {
    assert.equal((await switched(true)).status, 200);
    await assertTold([['dnssec.enabled', { domain: name }]]);
    assert.equal((await switched(false)).status, 200);
    await eventually(async () => {
      const zones = workspaceDb(service.db, workspace.workspaceId).selectFrom('zones').select('ds_removed_at');
      return (await zones.executeTakeFirst())?.ds_removed_at ?? undefined;
    }, 'the registry has no DS record any more');
    // It has to be forgotten first.
    clock.advance(2 * DAY_MS);
    await assertTold([
      ['dnssec.enabled', { domain: name }],
      ['dnssec.disabled', { domain: name }],
    ]);
  });

  test('dnssec.refused, in our words', async () => {
    service.answerWrongly((command, named) => (command === 'update' && named === name ? 2201 : undefined));
    assert.equal((await switched(true)).status, 200);
    const reason = `The registry does not let us do this with ${name}: it is with another registrar.`;
    await eventually(async () => received().some(({ type }) => type === 'dnssec.refused') || undefined, 'it is told');
    service.answerWrongly(undefined);
    deliver(undefined);
    const [refused] = received();
    assert.deepEqual(refused.data, { domain: name, reason });
  });
});
