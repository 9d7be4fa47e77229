/**
 * Workers of an idle domain service find work that nobody told them of: rows that a process changed right before it died, and work that comes due
 * later by itself. The tests turn the clock of the service. Jobs are not covered: pg-boss polls in real time.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createNotifier, type Notifier } from '../../src/domains/dns/embedded/transfer/notifier.ts';
import type { ZonePublisher } from '../../src/domains/dns/publisher.ts';
import { unconfiguredPayments } from '../../src/domains/wallet/index.ts';
import type { Payments } from '../../src/domains/wallet/payments/payments.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';
import type { Jobs } from '../../src/kernel/jobs/jobs.ts';
import { testServerUrl } from '../support/database.ts';
import { NAMESERVERS, startDomains, type TestDomains, type TestWorkspace } from '../support/domains.ts';
import { pricesThatAsk } from '../support/prices.ts';
import { type QuietStore, startQuietStore } from '../support/quiet-store.ts';
import { takingPublisher } from '../support/taking-publisher.ts';
import { openTestLogger } from '../support/test-log.ts';

const PRICE = 11.9;
/** The store is asked so often whether rows have changed. */
const CHECK_SECONDS = 15;
const DUE_IN_SECONDS = 100;

/** The nameserver refuses this zone while it is away, and notes when it was asked to publish it. */
const nameserver = { zone: '', isAway: false, askedAt: [] as Date[] };

const publisher: ZonePublisher = {
  ...takingPublisher,
  supportsDnssec: true,
  sign: async () => [{ keyTag: 1, algorithm: 13, digestType: 2, digest: 'AB'.repeat(32) }],
  async publish({ name }) {
    if (name !== nameserver.zone) return;
    nameserver.askedAt.push(store.clock.now());
    if (nameserver.isAway) throw new Error('the nameserver does not answer');
  },
};

const payments: Payments = {
  ...unconfiguredPayments,
  isConfigured: true,
  charge: async ({ idempotencyKey }) => ({ kind: 'succeeded', reference: idempotencyKey }),
  refund: async ({ id }) => ({ kind: 'succeeded', reference: id }),
  lookUpCardPage: async () => ({ kind: 'saved', card: 'card_test' }),
};

/** pg-boss polls in real time; no job runs here. */
const noJobs: Jobs = {
  define: () => undefined,
  schedule: () => undefined,
  enqueue: async () => undefined,
  start: async () => undefined,
  stop: async () => undefined,
};

/** Of the group of tests that is running. */
let store: QuietStore;
let service: TestDomains;
let notifier: Notifier;

async function start(): Promise<void> {
  store = await startQuietStore();
  service = await store.onClock(() =>
    startDomains({
      sharing: store,
      clock: store.clock,
      payments,
      publisher: () => publisher,
      simulated: { autoRenewGraceDays: 45 },
      mailer: { send: async () => undefined },
      delegations: { find: async () => ({ nameservers: NAMESERVERS, ttlSeconds: 3_600 }) },
      aliasTargets: {
        find: async (target) => ({
          answers: { A: { kind: 'found', values: ['192.0.2.1'], hidden: false, ttl: 3_600 }, AAAA: { kind: 'none' } },
          names: [target],
        }),
      },
      parts: {
        jobs: noJobs,
        prices: pricesThatAsk(['com']),
        outbound: {
          checkUrl: async (url) => new URL(url),
          fetch: () => async () => new Response(null, { status: 204 }),
        },
      },
    }),
  );
  const { db, clock } = store;
  const options = { db, clock, host: '127.0.0.1', secondaries: [], logger: openTestLogger() };
  notifier = store.onClock(() => createNotifier(options));
  await store.onClock(() => notifier.start());
}

async function stop(): Promise<void> {
  await notifier.stop();
  await service.close();
  await store.close();
}

let names = 0;

async function fundedWorkspace(): Promise<TestWorkspace> {
  const workspace = await service.createWorkspace();
  await workspace.fund(100_000);
  return workspace;
}

/** The id of a new name's row. The name has a zone. */
async function buyName(workspace?: TestWorkspace): Promise<string> {
  names += 1;
  const owner = workspace ?? (await fundedWorkspace());
  const domain = `bought-${names}.com`;
  const bought = await owner.post('/domains', { domain, confirm_price: PRICE });
  assert.equal(bought.status, 201, bought.text);
  return readId('select id from domains.domains where name = $1', [domain]);
}

async function readId(text: string, values: readonly unknown[]): Promise<string> {
  const { rows } = await store.db.query<{ id: string }>({ text, values });
  return rows[0]?.id ?? assert.fail(`no row: ${text}`);
}

const nameOf = (domainId: string) => readId('select name as id from domains.domains where id = $1', [domainId]);

/** The id of a new order of a name that is with another registrar. */
async function transferName(authCode: string, expectedStatus: number): Promise<string> {
  names += 1;
  const domain = `taken-${names}.com`;
  const workspace = await fundedWorkspace();
  const body = { auth_code: authCode, confirm_price: PRICE };
  const ordered = await workspace.post(`/domains/${domain}/transfer`, body);
  assert.equal(ordered.status, expectedStatus, ordered.text);
  return readId('select id from domains.orders where name = $1', [domain]);
}

/** The workspace has a saved card, and less than the threshold. */
async function makePoorWorkspace(): Promise<string> {
  const { workspaceId } = await service.createWorkspace();
  await store.db.query({
    text: `insert into domains.auto_top_ups
      (workspace_id, customer_reference, card_reference, threshold_cents, amount_cents, monthly_limit_cents)
      values ($1, 'customer', 'card', 1000, 2000, 100000)`,
    values: [workspaceId],
  });
  return workspaceId;
}

async function insertPayment(kind: string, state: string): Promise<string> {
  const { workspaceId } = await service.createWorkspace();
  const id = mintId('pay');
  await store.db.query({
    text: `insert into domains.payments
      (workspace_id, id, kind, amount_cents, state, provider_reference, saved_card, created_at, updated_at)
      values ($1, $2, $3, 1190, $4, 'charge', '{"customer":"customer","card":"card"}', $5, $5)`,
    values: [workspaceId, id, kind, state, store.clock.now()],
  });
  return id;
}

const setDomain = (columns: string) => `update domains.domains set ${columns} where id = $1`;
const setZone = (columns: string) => `update domains.zones set ${columns} where domain_id = $1`;
const ofDomain = (condition: string) => `(select ${condition} from domains.domains where id = $1)`;
const ofZone = (condition: string) => `(select ${condition} from domains.zones where domain_id = $1)`;

interface Case {
  readonly worker: string;
  /** Seconds between its passes while the store is used. */
  readonly interval: number;
  /** Seconds until it finds the work at the latest. Default: the next check, an interval, and one more. */
  readonly within?: number;
  /** Its passes say when the next thing is due. */
  readonly isTold?: true;
  /** Resolves with the id of what the statements are about. */
  prepare(): Promise<string>;
  /** Leaves work that is due at the time $2, for what has the id $1. */
  readonly leave: string;
  /** True once that work is done. */
  readonly done: string;
}

const CASES: readonly Case[] = [
  {
    worker: 'orders',
    interval: 1,
    isTold: true,
    prepare: () => transferName('simulated-auth', 201),
    leave: 'update domains.orders set next_look_at = $2 where id = $1',
    done: '(select next_look_at > $2 from domains.orders where id = $1)',
  },
  {
    worker: 'refunds',
    interval: 1,
    prepare: () => insertPayment('refund', 'declined'),
    leave: `update domains.payments set state = 'open', updated_at = $2 where id = $1`,
    done: `(select state = 'succeeded' from domains.payments where id = $1)`,
  },
  {
    worker: 'messages of a registry',
    interval: 1,
    // A queue without messages is read once a minute.
    within: 62,
    prepare: async () => 'ironcraft',
    leave: `insert into domains.registry_messages (registrar, queued_at, name, text, data)
      values ($1, $2, '', 'hello', '{"type":"announcement"}')`,
    done: 'not exists (select from domains.registry_messages where registrar = $1 and queued_at = $2)',
  },
  {
    worker: 'names at a registry',
    interval: 1,
    prepare: () => buyName(),
    leave: setDomain(`synced_at = $2::timestamptz - interval '2 days', seen_at = null`),
    done: ofDomain('synced_at >= $2'),
  },
  {
    worker: 'names that orders did not get',
    interval: 60,
    prepare: () => transferName('wrong', 422),
    leave: `update domains.orders set next_look_at = $2 where id = $1 and state = 'failed'`,
    done: '(select next_look_at > $2 from domains.orders where id = $1)',
  },
  {
    worker: 'deletions',
    interval: 2,
    isTold: true,
    prepare: () => buyName(),
    leave: setDomain('deletion_sent_at = $2, deletion_wanted_at = $2, deletion_look_at = $2'),
    done: ofDomain('deletion_look_at is null'),
  },
  {
    worker: 'changes that wait',
    interval: 5,
    isTold: true,
    prepare: () => buyName(),
    leave: setDomain(`change_wanted = '{"transferLocked":false}', change_wanted_at = $2, change_look_at = $2`),
    done: ofDomain('change_look_at is null'),
  },
  {
    worker: 'auth codes',
    interval: 30,
    isTold: true,
    prepare: () => buyName(),
    leave: setDomain('auth_code_until = $2, auth_code_look_at = $2'),
    done: ofDomain('auth_code_look_at is null'),
  },
  {
    worker: 'transfers out',
    interval: 2,
    isTold: true,
    prepare: () => buyName(),
    leave: setDomain('transfer_out_look_at = $2'),
    done: ofDomain('transfer_out_look_at is null'),
  },
  {
    worker: 'delegations',
    interval: 60,
    prepare: () => buyName(),
    leave: setZone('delegation_look_at = $2'),
    done: ofZone('delegation_look_at > $2'),
  },
  {
    worker: 'aliases',
    interval: 2,
    isTold: true,
    async prepare() {
      const workspace = await fundedWorkspace();
      const id = await buyName(workspace);
      const name = await nameOf(id);
      const record = { action: 'create', subdomain: '@', type: 'ALIAS', value: 'target.example' };
      const changed = await workspace.post(`/domains/${name}/zone/changes`, { changes: [record] });
      assert.equal(changed.status, 200, changed.text);
      return id;
    },
    leave: 'update domains.alias_answers set look_at = $2 where domain_id = $1',
    done: '(select look_at > $2 from domains.alias_answers where domain_id = $1)',
  },
  {
    worker: 'expiry notices',
    interval: 300,
    prepare: () => buyName(),
    leave: setDomain(`expires_at = $2::timestamptz + interval '5 days', auto_renew = false`),
    done: 'exists (select from domains.expiry_notices where domain_id = $1 and sent_at >= $2)',
  },
  {
    worker: 'balances',
    interval: 30,
    prepare: async () => 'simulated',
    leave: 'update domains.registry_balances set look_at = $2 where registry = $1',
    done: '(select look_at > $2 from domains.registry_balances where registry = $1)',
  },
  {
    worker: 'automatic top-ups',
    interval: 2,
    prepare: makePoorWorkspace,
    leave: 'update domains.auto_top_ups set enabled = true, updated_at = $2 where workspace_id = $1',
    done: `exists (select from domains.payments where workspace_id = $1 and state = 'succeeded' and updated_at >= $2)`,
  },
  {
    worker: 'verifications of registrants',
    interval: 5,
    async prepare() {
      const workspace = await fundedWorkspace();
      await buyName(workspace);
      return workspace.workspaceId;
    },
    leave: 'update domains.registrant_verifications set mail_look_at = $2 where workspace_id = $1',
    done: '(select mail_look_at > $2 from domains.registrant_verifications where workspace_id = $1)',
  },
  {
    worker: 'zones',
    interval: 2,
    prepare: () => buyName(),
    leave: setZone('version = version + 1, updated_at = $2'),
    done: ofZone('published_version = version'),
  },
  {
    worker: 'dnssec',
    interval: 5,
    isTold: true,
    prepare: () => buyName(),
    leave: setZone(`dnssec = 'enabling', dnssec_next_look_at = $2`),
    done: ofZone(`dnssec = 'on'`),
  },
  {
    worker: 'secondaries',
    interval: 5,
    isTold: true,
    prepare: () => buyName(),
    leave: setZone('notified_version = version - 1, notify_due_at = $2'),
    done: ofZone('notified_version = version'),
  },
  {
    worker: 'webhook dispatcher',
    interval: 1,
    isTold: true,
    async prepare() {
      const workspace = await fundedWorkspace();
      const webhook = await workspace.post('/webhooks', { url: 'https://example.com/hook' });
      assert.equal(webhook.status, 201, webhook.text);
      await buyName(workspace);
      return readId('select id from domains.webhook_deliveries where webhook_id = $1 limit 1', [webhook.body.id]);
    },
    leave: `update domains.webhook_deliveries set status = 'pending', next_attempt_at = $2 where id = $1`,
    done: `(select status = 'succeeded' from domains.webhook_deliveries where id = $1)`,
  },
  {
    worker: 'unpaid names',
    interval: 30,
    prepare: () => buyName(),
    leave: setDomain('billed_until = $2, auto_renew = false'),
    done: ofDomain('suspended_at >= $2'),
  },
  {
    worker: 'simulated registry',
    interval: 1,
    isTold: true,
    prepare: async () => nameOf(await buyName()),
    // Its term ends, and it is renewed by the registry.
    leave: 'update domains.registry_domains set expires_at = $2, due_at = $2 where name = $1',
    done: '(select expires_at > $2 from domains.registry_domains where name = $1)',
  },
];

/** Work that is known before it is due. */
const DUE_CASES: readonly Case[] = [
  ...CASES.filter(({ isTold }) => isTold),
  {
    worker: 'automatic top-ups, of a page that saves a card',
    interval: 2,
    prepare: makePoorWorkspace,
    // A page is looked up each 15 seconds.
    leave: `update domains.auto_top_ups
      set page_reference = 'page', page_opened_at = $2, page_looked_at = $2::timestamptz - interval '15 seconds' where workspace_id = $1`,
    done: `(select card_reference = 'card_test' from domains.auto_top_ups where workspace_id = $1)`,
  },
  {
    worker: 'automatic top-ups, of a charge without an answer',
    interval: 2,
    prepare: () => insertPayment('auto_top_up', 'declined'),
    // It is asked about again after a tenth of its age.
    leave: `update domains.payments set state = 'open', updated_at = $2::timestamptz - interval '${DUE_IN_SECONDS} seconds',
      created_at = $2::timestamptz - interval '${11 * DUE_IN_SECONDS} seconds' where id = $1`,
    done: `(select state = 'succeeded' from domains.payments where id = $1)`,
  },
];

/** What earlier tests left comes due in no later one. */
const QUIETEN = [
  'update domains.orders set next_look_at = null where next_look_at is not null',
  `update domains.registry_balances set look_at = '2100-01-01'`,
  'update domains.zones set delegation_look_at = null where delegation_look_at is not null',
  `update domains.alias_answers set look_at = '2100-01-01'`,
];

async function restQuietly(): Promise<void> {
  await store.pass(5);
  for (const text of QUIETEN) await store.db.query({ text, values: [] });
  await store.rest();
}

/** Not every condition names the time. */
const isDone = ({ done }: Case, values: readonly [id: string, dueAt: Date]) =>
  store.isTrue(`$2::timestamptz is not null and ${done}`, values);

const skip = testServerUrl() === undefined ? 'set IRONCRAFT_TEST_DATABASE_URL to run these' : false;

describe('an idle domain service', { skip }, () => {
  before(start);
  after(stop);

  for (const work of CASES) {
    const { worker, interval, leave, prepare, within = CHECK_SECONDS + interval + 1 } = work;
    test(`the worker "${worker}" finds work that nobody told of within ${within} seconds`, async () => {
      const id = await prepare();
      await restQuietly();
      const values = [id, store.clock.now()] as const;
      await store.changeSilently(leave, values);
      assert.equal(await isDone(work, values), false, 'done before');
      await store.pass(within);
      assert.equal(await isDone(work, values), true, 'not done in time');
    });
  }
});

describe('a domain service in which nothing else happens', { skip }, () => {
  const ids = new Map<Case, string>();
  let zoneId: string;
  before(async () => {
    await start();
    for (const work of DUE_CASES) ids.set(work, await work.prepare());
    zoneId = await buyName();
    await restQuietly();
  });
  after(stop);

  for (const work of DUE_CASES) {
    const { worker, interval, leave } = work;
    test(`the worker "${worker}" does in time what is due ${DUE_IN_SECONDS} seconds later`, async () => {
      const values = [ids.get(work) ?? '', new Date(store.clock.now().getTime() + DUE_IN_SECONDS * 1_000)] as const;
      await store.change(leave, values);
      await store.pass(DUE_IN_SECONDS - 1);
      assert.equal(await isDone(work, values), false, 'done before');
      await store.pass(3 + interval);
      assert.equal(await isDone(work, values), true, 'not done in time');
    });
  }

  test('a zone that could not be published is published again when its wait is over', async () => {
    const { askedAt } = nameserver;
    askedAt.length = 0;
    Object.assign(nameserver, { zone: await nameOf(zoneId), isAway: true });
    await store.change(setZone('version = version + 1, updated_at = $2'), [zoneId, store.clock.now()]);
    await store.pass(70);
    nameserver.isAway = false;
    // The wait begins with a second, and doubles with each failure.
    const waitMs = 1_000 * 2 ** (askedAt.length - 1);
    const lastMs = askedAt.at(-1)?.getTime() ?? assert.fail('the zone was not published');
    const leftSeconds = (lastMs + waitMs - store.clock.now().getTime()) / 1_000;
    assert.ok(leftSeconds > 1, `${leftSeconds} seconds are left`);
    const isPublished = ofZone('published_version = version');
    await store.pass(leftSeconds - 1);
    assert.equal(await store.isTrue(isPublished, [zoneId]), false, 'published before');
    await store.pass(2);
    assert.equal(await store.isTrue(isPublished, [zoneId]), true, 'not published in time');
  });

  test('the messages of a registry are read when its queue is due', async () => {
    const [queuedAt, dueAt] = [store.clock.now(), new Date(store.clock.now().getTime() + 50_000)];
    await store.change(
      `insert into domains.registry_messages (registrar, queued_at, name, text, data)
        values ('ironcraft', $1, '', 'hello', '{"type":"announcement"}')`,
      [queuedAt],
    );
    await store.change(`update domains.registry_duties set due_at = $1 where duty = 'messages'`, [dueAt]);
    const isRead = 'not exists (select from domains.registry_messages where queued_at = $1)';
    await store.pass(49);
    assert.equal(await store.isTrue(isRead, [queuedAt]), false, 'read before');
    await store.pass(2);
    assert.equal(await store.isTrue(isRead, [queuedAt]), true, 'not read in time');
  });
});
