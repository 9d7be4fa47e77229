/** A server that rests with work of each kind, as far as tests need it there before its time comes. Each gives its project's id and its own. */
import assert from 'node:assert/strict';
import { addSigningKey, makeSigningPair } from '../../src/platform/access/signing-keys.ts';
import { FAR_CRON } from '../support/far-cron.ts';
import { startPlatform, type TestPlatform } from '../support/platform.ts';
import { type QuietStore, startQuietStore } from '../support/quiet-store.ts';
import { createTestChannel, openTestProvider, saveTestAccount, TEST_KIND, writes } from '../support/test-channel.ts';
import { createTestTools } from '../support/tools.ts';
import { eventually, makeSmith, question } from '../support/turns.ts';
import { type Endpoint, openEndpoint } from '../support/webhook-endpoint.ts';

type Ids = readonly [string, string];

export interface QuietWork {
  readonly store: QuietStore;
  readonly server: TestPlatform;
  /** Where webhooks deliver. */
  readonly endpoint: Endpoint;
  /** A schedule whose time is far. */
  makeSchedule(): Promise<Ids>;
  /** A chat whose only message has been answered. */
  makeAnsweredChat(): Promise<Ids>;
  /** A delivery that the endpoint has answered, well or not. */
  makeDelivery(): Promise<Ids>;
  /** A run that has asked a question, which has long to expire. */
  makeQuestion(): Promise<Ids>;
  /** A page on which somebody has paid, of which the server has not heard: its organization instead of a project. */
  makePaidPage(): Promise<Ids>;
  close(): Promise<void>;
}

/** Of a chat, by its project and its id. */
export const ANSWER = 'from channel_answers where project_id = $1 and chat_id = $2';

/** SQL that puts a delivery of a schedule into its smith's queue, to be looked at then. */
export function queueFire(at: string): string {
  return `
    with waiting as (
      update schedules set waiting = 1 where project_id = $1 and id = $2 returning project_id, id, smith_id
    ), fire as (
      insert into schedule_fires (project_id, id, schedule_id, smith_id, kind, due_at, status, created_at)
      select project_id, 'schd_left', id, smith_id, 'scheduled', now(), 'queued', now() from waiting
    )
    insert into schedule_queues (project_id, smith_id, next_attempt_at, version)
    select project_id, smith_id, ${at}, 1 from waiting`;
}

/** SQL that puts a second message into a chat that has been answered. */
export function queueMessage(at: string): string {
  return `
    with chat as (
      update channel_chats set received = received + 1, next_attempt_at = ${at} where project_id = $1 and id = $2
      returning project_id, id, received
    )
    insert into inbound_events (project_id, id, source, account_id, type, subject, idempotency_key, data, smith_id,
      deployment_id, chat_id, position, thread_id, message, state)
    select e.project_id, 'ievt_left', e.source, e.account_id, e.type, e.subject, 'left', e.data, e.smith_id,
      e.deployment_id, e.chat_id, chat.received, e.thread_id, '{"text":"Write 1 words","attachments":[]}', 'waiting'
    from inbound_events e join chat on e.project_id = chat.project_id and e.chat_id = chat.id`;
}

/** SQL that has the answer of a chat be sent once more. */
export function queuePart(at: string): string {
  return `
    with part as (
      update channel_parts set state = 'waiting', attempts = 0, sending_since = null
      where project_id = $1 and answer_id in (select id ${ANSWER}) returning project_id, outbox_id
    )
    update channel_outboxes o set next_attempt_at = ${at} from part where o.project_id = part.project_id and o.id = part.outbox_id`;
}

/** SQL that is true once the work has been done. */
export const DONE = {
  fire: `exists (select from schedule_fires where project_id = $1 and schedule_id = $2 and status = 'started')`,
  message: `exists (select from inbound_events where project_id = $1 and chat_id = $2 and id = 'ievt_left' and state = 'started')`,
  part: `exists (select from channel_parts where project_id = $1 and answer_id in (select id ${ANSWER}) and state = 'sent')`,
  delivery: `exists (select from webhook_deliveries where project_id = $1 and id = $2 and status = 'succeeded')`,
  question: `exists (select from runs where project_id = $1 and id = $2 and status <> 'paused')`,
  payment: `exists (select from wallet_payments where organization_id = $1 and id = $2 and state = 'succeeded')`,
} as const;

export async function startQuietWork(): Promise<QuietWork> {
  const provider = await openTestProvider();
  const endpoint = await openEndpoint();
  const store = await startQuietStore();
  const { db } = store;
  await addSigningKey(db, store.vault, await makeSigningPair());
  const server = await store.onClock(() =>
    startPlatform({
      sharing: store,
      toolSources: [createTestTools().source],
      channels: [createTestChannel(() => db)],
      outboundAllow: ['127.0.0.1'],
    }),
  );
  let chats = 0;

  async function readId(text: string, ownerId: string): Promise<string | undefined> {
    const { rows } = await db.query<{ id: string }>({ text, values: [ownerId] });
    return rows[0]?.id;
  }

  /** Lets time pass until there is one. */
  function awaitId(text: string, ownerId: string, what: string): Promise<string> {
    return eventually(async () => {
      await store.pass(1);
      return readId(text, ownerId);
    }, what);
  }

  return {
    store,
    server,
    endpoint,
    async makeSchedule() {
      const { project, id: smithId } = await makeSmith(server);
      const schedule = { cron: FAR_CRON, ...question('Write 1 words') };
      const { status, body, text } = await project.post(`/v1/smiths/${smithId}/schedules`, schedule);
      assert.equal(status, 201, text);
      return [project.projectId, body.id];
    },
    async makeAnsweredChat() {
      const project = await server.createProject();
      const { projectId } = project;
      const account = await saveTestAccount(db, projectId, provider);
      chats += 1;
      const address = String(10_000 + chats);
      const target = { type: 'smith', id: await project.createSmith() };
      const { status, text } = await project.post('/v1/deployments', { kind: TEST_KIND, target, address });
      assert.equal(status, 201, text);
      await server.platform.messaging.accept(account, [writes(address, 'Write 1 words')]);
      const chatOfSent = `select chat_id as id from channel_answers where project_id = $1 and state = 'sent'`;
      return [projectId, await awaitId(chatOfSent, projectId, 'the message is answered')];
    },
    async makeDelivery() {
      const project = await server.createProject();
      const { projectId } = project;
      const { status, text } = await project.post('/v1/tenant/webhooks', { url: endpoint.url, events: [] });
      assert.equal(status, 201, text);
      await project.createSmith();
      const attempted = `select id from webhook_deliveries where project_id = $1 and attempt_count = 1 order by id limit 1`;
      return [projectId, await awaitId(attempted, projectId, 'a delivery is attempted')];
    },
    async makeQuestion() {
      const { ask, project } = await makeSmith(server);
      const { body, text } = await ask('Call the tool ask with {"seconds":86400}');
      assert.equal(body.status, 'paused', text);
      return [project.projectId, body.id];
    },
    async makePaidPage() {
      const { organizationId, client } = await server.createOrganization();
      const page = { amount_cents: 1_000, return_url: 'https://example.com/' };
      const { status, body, text } = await client.post('/v1/organization/billing/checkout', page);
      assert.equal(status, 200, text);
      server.stripe.paySession(new URL(body.url).pathname.split('/').at(-1) ?? '');
      const putOff = `update wallet_payments set next_look_at = now() + interval '1 day' where organization_id = $1 returning id`;
      return [organizationId, (await readId(putOff, organizationId)) ?? assert.fail('there is no payment')];
    },
    async close() {
      await server.close();
      await store.close();
      await Promise.all([provider.close(), endpoint.close()]);
    },
  };
}
