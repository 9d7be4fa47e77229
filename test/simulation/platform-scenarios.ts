/** What the platform promises of each of its works when the replica that does it crashes. The gate runs them, and the soak at every effect. */
import assert from 'node:assert/strict';
import type { InboundMessage, OpenAccount } from '../../src/platform/channels/index.ts';
import { createSchedules } from '../../src/platform/schedules/index.ts';
import { createWebhookDeliveries } from '../../src/platform/webhooks/index.ts';
import { auditFiles } from '../faults/audit-files.ts';
import { SPENT_ONCE } from '../faults/audit-tokens.ts';
import { FAR_CRON } from '../support/far-cron.ts';
import type { Answer, Client, Headers_ } from '../support/http-client.ts';
import { publishMcp } from '../support/mcp-deployment.ts';
import { type Consented, type OAuthAnswer, obtainCode, redeem, refreshWith } from '../support/oauth.ts';
import { collectFrames } from '../support/read-frames.ts';
import { saveTestAccount, TEST_KIND, writes } from '../support/test-channel.ts';
import { assemble, FAKE_MODEL, question, useUpstream } from '../support/turns.ts';
import {
  openPlatformWorld,
  type PlatformReplica,
  type PlatformWorld,
  type PlatformWorldOptions,
  PUBLIC_URL,
  type SimulatedOrganization,
  type SimulatedProject,
  STARTER_CENTS,
} from './platform-world.ts';
import { type Crashes, runScenario, type Scenario, type ScenarioReport, type Scenarios } from './run-scenario.ts';

type PlatformScenario<Case> = Scenario<PlatformWorld, PlatformReplica, Case>;

const worldWith = (options: PlatformWorldOptions) => () => openPlatformWorld(options);
const run =
  <Case>(scenario: PlatformScenario<Case>) =>
  (crashes: Crashes): Promise<ScenarioReport> =>
    runScenario(scenario, crashes);

interface Turn {
  readonly smithId: string;
  readonly text: string;
  /** What the audit wants to know of a turn. */
  readonly metadata: { readonly model_steps: number; readonly calls: number };
  answer?: Answer;
}

async function prepareTurn(
  { other }: PlatformWorld,
  text: string,
  metadata: Turn['metadata'],
  model = 'builtin/demo',
): Promise<Turn> {
  const smith = await other.client.post('/v1/smiths', { model });
  assert.equal(smith.status, 201, smith.text);
  return { smithId: smith.body.id, text, metadata };
}

/** The smith is the idempotency key of its one run. */
async function begin({ client }: PlatformReplica, turn: Turn, headers: Headers_ = {}): Promise<void> {
  const { metadata, smithId, text } = turn;
  const body = { ...question(text), metadata };
  turn.answer = await client.post(`/v1/smiths/${smithId}/runs`, body, { 'idempotency-key': smithId, ...headers });
}

async function judgeTurn(world: PlatformWorld, { answer, smithId }: Turn): Promise<string[]> {
  const { problems, runId } = await judgeRun(world.other.client, smithId);
  if (answer?.status !== 201) return [...problems, `${smithId} was answered ${answer?.status}: ${answer?.text}`];
  return answer.body.id === runId ? problems : [...problems, `${answer.body.id} was told of, and there is ${runId}`];
}

/** The smith's one run is complete, and a reader of its timeline gets that once and in order. */
async function judgeRun(client: Client, smithId: string): Promise<{ problems: string[]; runId?: string }> {
  const runs = `/v1/smiths/${smithId}/runs`;
  const { body } = await client.get(runs);
  const [found, ...more] = body.data;
  if (found === undefined || more.length > 0) return { problems: [`${smithId} has ${body.data.length} runs`] };
  const runId: string = found.id;
  const { body: settled } = await client.get(`${runs}/${runId}`);
  if (settled.status !== 'completed') return { problems: [`the run ${runId} is ${JSON.stringify(settled)}`], runId };
  const problems: string[] = [];
  const frames = await collectFrames(await client.open('GET', `${runs}/${runId}/events`));
  const { text } = assemble(frames);
  const { content } = settled.output;
  if (text !== content) problems.push(`the timeline of ${runId} says “${text}”, and the run “${content}”`);
  for (const type of ['run.started', 'run.completed']) {
    const count = frames.filter(({ event }) => event === type).length;
    if (count !== 1) problems.push(`the timeline of ${runId} has ${type} ${count} times`);
  }
  return { problems, runId };
}

function judgeCalls(
  { calls }: PlatformWorld,
  { answer }: Turn,
  limits: Readonly<Record<string, readonly [number, number]>>,
) {
  const own = calls.filter(({ runId }) => runId === answer?.body?.id);
  return Object.entries(limits).flatMap(([tool, [least, most]]) => {
    const made = own.filter(({ name }) => name === tool).length;
    return made >= least && made <= most ? [] : [`${tool} was called ${made} times in ${answer?.body?.id}`];
  });
}

const runWithTools = run<Turn>({
  openWorld: worldWith({}),
  prepare: (world) =>
    prepareTurn(world, 'Call the tool note with {"n":1}, then call the tool pay with {"n":2}', {
      model_steps: 3,
      calls: 2,
    }),
  act: (replica, turn) => begin(replica, turn),
  repeat: (world, turn) => world.waitFor(begin(world.other, turn)),
  judge: async (world, turn) => [
    ...(await judgeTurn(world, turn)),
    ...judgeCalls(world, turn, { note: [1, 2], pay: [0, 1] }),
  ],
});

interface Decision extends Turn {
  /** Once it waits. */
  decided?: Answer;
}

/** Decides what the run waits for, if it waits for anything. */
async function decide({ client }: PlatformReplica, turn: Decision, content?: object): Promise<void> {
  const { answer, smithId } = turn;
  const path = `/v1/smiths/${smithId}/runs/${answer?.body.id}`;
  const [call] = (await client.get(path)).body.output?.tool_calls ?? [];
  if (typeof call?.approval_id !== 'string') return;
  const body = { kind: 'approval', approval_id: call.approval_id, decision: 'approve', ...(content && { content }) };
  turn.decided = await client.post(`${path}/submit`, body, { 'idempotency-key': `${smithId}-decision` });
}

function judgeDecision({ answer, decided }: Decision): string[] {
  return decided === undefined || decided.status === 200
    ? []
    : [`the decision on ${answer?.body.id} was answered ${decided.status}: ${decided.text}`];
}

/** The decision has a key of its own. */
const decidedWorld = worldWith({ audits: { areClaimed: false } });

const approved = run<Decision>({
  openWorld: decidedWorld,
  async prepare(world) {
    const turn = await prepareTurn(world, 'Call the tool guarded with {"n":1}', { model_steps: 2, calls: 1 });
    await begin(world.other, turn);
    assert.equal(turn.answer?.body.status, 'paused', turn.answer?.text);
    return turn;
  },
  act: (replica, turn) => decide(replica, turn),
  repeat: (world, turn) => world.waitFor(decide(world.other, turn)),
  judge: async (world, turn) => [
    ...(await judgeTurn(world, turn)),
    ...judgeDecision(turn),
    ...judgeCalls(world, turn, { guarded: [0, 1] }),
  ],
});

async function askAndAnswer(replica: PlatformReplica, turn: Decision): Promise<void> {
  await begin(replica, turn);
  await decide(replica, turn, { name: 'Ada' });
}

const asked = run<Decision>({
  openWorld: decidedWorld,
  prepare: (world) => prepareTurn(world, 'Call the tool ask with {"n":1}', { model_steps: 2, calls: 1 }),
  act: askAndAnswer,
  repeat: (world, turn) => world.waitFor(askAndAnswer(world.other, turn)),
  async judge(world, turn) {
    const told = world.calls.filter(({ runId, told }) => runId === turn.answer?.body?.id && told !== undefined);
    return [
      ...(await judgeTurn(world, turn)),
      ...judgeDecision(turn),
      ...judgeCalls(world, turn, { ask: [0, 2] }),
      ...(told.length > 1 ? [`the call of ${turn.answer?.body.id} was told ${told.length} times`] : []),
    ];
  },
});

interface Scheduled {
  readonly smithId: string;
  readonly scheduleId: string;
}

/** As soon as somebody looks: its own time is half a year away. */
const fireSchedule = run<Scheduled>({
  openWorld: worldWith({
    open: `select from schedule_fires where status = 'queued' union all select from schedules where next_fire_at <= now()`,
  }),
  async prepare({ db, other: { client } }) {
    const smith = await client.post('/v1/smiths', { model: 'builtin/demo' });
    const body = { cron: FAR_CRON, ...question('Write 3 words') };
    const made = await client.post(`/v1/smiths/${smith.body.id}/schedules`, body);
    assert.equal(made.status, 201, made.text);
    await db.query({
      text: `update schedules set next_fire_at = now() - interval '1 s' where id = $1`,
      values: [made.body.id],
    });
    return { smithId: smith.body.id, scheduleId: made.body.id };
  },
  act: ({ given, platform, work }) =>
    work(() => createSchedules({ ...given, engine: platform.engine, now: () => given.clock.now() }).start()),
  async judge({ db, other }, { scheduleId, smithId }) {
    const { problems, runId } = await judgeRun(other.client, smithId);
    const { rows } = await db.query<{ status: string; run_id: string | null }>({
      text: 'select status, run_id from schedule_fires where schedule_id = $1',
      values: [scheduleId],
    });
    const fired = rows.map(({ run_id, status }) => `${status} ${run_id}`);
    return fired.join() === `started ${runId}`
      ? problems
      : [...problems, `${scheduleId} has fired ${fired.join()}, and its run is ${runId}`];
  },
  isSweep: true,
});

interface Hooked {
  readonly project: SimulatedProject;
  readonly eventId: string;
}

const deliverWebhook = run<Hooked>({
  openWorld: worldWith({
    open: `select from webhook_deliveries where status = 'pending'`,
    audits: { areClaimed: false },
  }),
  async prepare(world) {
    const project = await world.createProject();
    const client = project.at(world.other);
    const path = `/${project.projectId}`;
    const hook = await client.post('/v1/tenant/webhooks', {
      url: `${world.receiver.url}${path}`,
      events: ['run.completed'],
    });
    assert.equal(hook.status, 201, hook.text);
    world.receiver.secrets.set(path, hook.body.secret);
    const smith = await client.post('/v1/smiths', { model: 'builtin/demo' });
    const ran = await client.post(`/v1/smiths/${smith.body.id}/runs`, question('Write 3 words'));
    assert.equal(ran.body.status, 'completed', ran.text);
    const { body } = await client.get('/v1/events?type=run.completed');
    return { project, eventId: body.data[0].id };
  },
  act: ({ given, work }) => work(() => createWebhookDeliveries({ ...given, now: () => given.clock.now() }).start()),
  async judge({ db, receiver }, { eventId, project: { projectId } }) {
    const taken = [...receiver.taken.keys()].filter((place) => place.startsWith(`/${projectId} `));
    const { rows } = await db.query<{ status: string }>({
      text: 'select status from webhook_deliveries where project_id = $1',
      values: [projectId],
    });
    const found = [...taken, ...rows.map(({ status }) => status)].join();
    return found === `/${projectId} ${eventId},succeeded` ? [] : [`of the event ${eventId} there is: ${found}`];
  },
  isSweep: true,
});

interface Chat {
  readonly project: SimulatedProject;
  readonly account: OpenAccount;
  readonly smithId: string;
  readonly message: InboundMessage;
  /** Who stands still until another has sent the answer sends it after all: providers take no condition. */
  readonly maySendTwice: boolean;
  isTaken?: boolean;
}

let chats = 10_000;

/** As providers do: until it is taken. */
async function bringMessage({ platform, work }: PlatformReplica, chat: Chat): Promise<void> {
  if (chat.isTaken === true) return;
  await work(() => platform.messaging.accept(chat.account, [chat.message]));
  chat.isTaken = true;
}

const answerMessage = run<Chat>({
  openWorld: worldWith({
    open: `
      select from inbound_events where state = 'waiting' union all
      select from channel_answers where state in ('open', 'planned')`,
  }),
  async prepare({ createProject, db, other, provider }, tag) {
    const project = await createProject();
    const client = project.at(other);
    const account = await saveTestAccount(db, project.projectId, provider);
    const smith = await client.post('/v1/smiths', { model: 'builtin/demo' });
    const target = { type: 'smith', id: smith.body.id };
    chats += 1;
    const address = String(chats);
    const deployed = await client.post('/v1/deployments', { kind: TEST_KIND, target, address });
    assert.equal(deployed.status, 201, deployed.text);
    const message = writes(address, 'Write 3 words');
    return { project, account, smithId: smith.body.id, message, maySendTwice: tag.startsWith('stalled') };
  },
  async act(replica, chat) {
    await bringMessage(replica, chat);
    await replica.work(() => replica.platform.messaging.start());
  },
  repeat: ({ other }, chat) => bringMessage(other, chat),
  async judge({ db, other, provider }, { maySendTwice, message, project, smithId }) {
    const { problems, runId } = await judgeRun(project.at(other), smithId);
    const { rows } = await db.query<{ answer: string; states: string[] }>({
      text: `
        select output ->> 'content' as answer,
          array(select state from inbound_events e where e.project_id = runs.project_id)
            || array(select state from channel_parts p where p.project_id = runs.project_id) as states
        from runs where id = $1`,
      values: [runId ?? ''],
    });
    const [row] = rows;
    const said = provider.sent.filter(({ chat }) => chat === message.chat).map(({ text }) => text);
    const isOnce = said.length === 1 || (said.length === 2 && maySendTwice);
    const isTold = isOnce && said.every((text) => text === row?.answer) && row?.states.join() === 'started,sent';
    return isTold
      ? problems
      : [...problems, `${message.chat} was told “${said.join('”, “')}”: ${JSON.stringify(rows)}`];
  },
  isSweep: true,
});

interface Connector extends Consented {
  readonly refreshToken?: string;
  /** Undefined: it was cut off. */
  answer?: OAuthAnswer;
}

/** A client of an MCP deployment, with a code that lives as long as it takes to ask again. */
async function consent({ db, other, project }: PlatformWorld): Promise<Connector> {
  const client = project.at(other);
  const smith = await client.post('/v1/smiths', { model: 'builtin/demo' });
  const { path } = await publishMcp(client, { type: 'smith', id: smith.body.id });
  const asked = { resource: PUBLIC_URL + path, token: client.token, origin: PUBLIC_URL };
  const consented = await obtainCode(other.url, asked);
  const text = `update oauth_requests set code_expires_at = now() + interval '1 day' where client_id = $1`;
  await db.query({ text, values: [consented.clientId] });
  return consented;
}

/** Whoever was answered does not ask again, for a code that comes twice ends what it was redeemed for. */
async function askOnce(connector: Connector, ask: () => Promise<OAuthAnswer>): Promise<void> {
  if (connector.answer === undefined) connector.answer = await ask();
}

/** What was given goes on; what was not given is no token that anybody could use. */
async function judgeTokens({ db, other }: PlatformWorld, { answer, clientId }: Connector): Promise<string[]> {
  const { rows } = await db.query<{ live: number; all: number }>({
    text: `select count(*)::int as all, count(*) filter (where revoked_at is null)::int as live from tokens where client_id = $1`,
    values: [clientId],
  });
  const tokens = `of ${clientId} are ${rows[0]?.live} of ${rows[0]?.all} tokens live`;
  if (answer?.status !== 200) {
    const isEnded = answer?.status === 400 && rows[0]?.all === 1 && rows[0].live === 0;
    return isEnded ? [] : [`${tokens}, and it was answered ${answer?.status}: ${answer?.text}`];
  }
  const next = await refreshWith(other.url, clientId, answer.body.refresh_token);
  return next.status === 200 && rows[0]?.all === 1 ? [] : [`${tokens}, and its refresh is answered ${next.text}`];
}

const oauthWorld = worldWith({ rules: SPENT_ONCE });

const redeemCode = run<Connector>({
  openWorld: oauthWorld,
  prepare: consent,
  act: ({ url }, connector) => askOnce(connector, () => redeem(url, connector)),
  repeat: ({ other }, connector) => askOnce(connector, () => redeem(other.url, connector)),
  judge: judgeTokens,
});

const rotateToken = run<Connector & { readonly refreshToken: string }>({
  openWorld: oauthWorld,
  async prepare(world) {
    const consented = await consent(world);
    const { body, text } = await redeem(world.other.url, consented);
    return { ...consented, refreshToken: body?.refresh_token ?? assert.fail(text) };
  },
  act: ({ url }, made) => askOnce(made, () => refreshWith(url, made.clientId, made.refreshToken)),
  repeat: ({ other: { url } }, made) => askOnce(made, () => refreshWith(url, made.clientId, made.refreshToken)),
  async judge(world, made) {
    const problems = await judgeTokens(world, made);
    const again = await refreshWith(world.other.url, made.clientId, made.refreshToken);
    return again.status === 400
      ? problems
      : [...problems, `${made.clientId} has refreshed by a spent token: ${again.text}`];
  },
});

/** Nobody waits for the answer, so what the call may cost is reserved by a statement of its own. */
const AT_ONCE = { prefer: 'respond-async' };

const spendBudget = run<Turn>({
  async openWorld() {
    const world = await openPlatformWorld();
    const usage = { promptTokens: 10_000, completionTokens: 2_000 };
    world.upstream.respondWith({ type: 'answer', deltas: ['One', ' two'], usage });
    await useUpstream(world.other.client, world.upstream, 'openai');
    return world;
  },
  async prepare(world) {
    const turn = await prepareTurn(world, 'Count', { model_steps: 1, calls: 0 }, 'openai/gpt-4o-mini');
    const budget = { scope: 'smith', scope_id: turn.smithId, limit: 10, action: 'block' };
    const made = await world.other.client.post('/v1/budgets', budget);
    assert.equal(made.status, 201, made.text);
    return turn;
  },
  act: (replica, turn) => begin(replica, turn, AT_ONCE),
  repeat: ({ other }, turn) => begin(other, turn, AT_ONCE),
  async judge(world, turn) {
    const { rows } = await world.db.query<{ cost: number; spent: number; reserved: number; held: number }>({
      text: `
        select r.cost_micros as cost, sum(p.spent_micros)::bigint as spent, sum(p.reserved_micros)::bigint as reserved, (
            select coalesce(sum(h.amount_micros), 0)::bigint from budget_reservations h
            where h.project_id = r.project_id and h.holder = r.id
          ) as held
        from runs r join budgets b on b.project_id = r.project_id and b.scope_id = r.smith_id
        join budget_periods p on p.project_id = b.project_id and p.budget_id = b.id
        where r.smith_id = $1 group by r.project_id, r.id`,
      values: [turn.smithId],
    });
    const [row] = rows;
    const sums = JSON.stringify(rows);
    const isFree = row !== undefined && row.reserved === 0 && row.held === 0;
    const isRight = isFree && rows.length === 1 && row.cost > 0 && row.cost === row.spent;
    return [...(await judgeTurn(world, turn)), ...(isRight ? [] : [`the budget of ${turn.smithId} has ${sums}`])];
  },
});

interface Payer {
  readonly organization: SimulatedOrganization;
  readonly key: string;
  /** Set once it was told. */
  paid?: string;
}

const TOP_UP_CENTS = 2_500;
const BILLING = '/v1/organization/billing';
const PAGE = { return_url: 'https://example.com/billing' };

/** Goes to the page that is opened under the key, uses it if nobody has, and comes back. */
async function usePage(
  replica: PlatformReplica,
  { key, organization }: Payer,
  page: { readonly kind: string; readonly body: object; readonly use: (sessionId: string) => void },
  { stripe }: PlatformWorld,
): Promise<string> {
  const client = organization.at(replica);
  const headers = { 'idempotency-key': `${key}-${page.kind}` };
  const opened = await client.post(`${BILLING}/${page.kind}`, { ...PAGE, ...page.body }, headers);
  assert.equal(opened.status, 200, opened.text);
  const session = [...stripe.sessions.values()].find(({ url }) => url === opened.body.url) ?? assert.fail(opened.text);
  if (session.status === 'open') page.use(session.id);
  const confirmed = await client.post(`${BILLING}/confirm`, { session_id: session.id });
  assert.equal(confirmed.status, 200, confirmed.text);
  return confirmed.body.payment_status;
}

const preparePayer = async (world: PlatformWorld, key: string): Promise<Payer> => ({
  organization: await world.createOrganization(),
  key,
});

/** What the wallet has, and what came into it, in its order. */
async function judgeWallet(
  { other }: PlatformWorld,
  { organization, paid }: Payer,
  booked: readonly [string, number][],
) {
  const client = organization.at(other);
  const { body } = await client.get(`${BILLING}/ledger`);
  const found = body.data.map(
    ({ kind, amount_cents }: { kind: string; amount_cents: number }) => `${kind} ${amount_cents}`,
  );
  const wanted = booked.map(([kind, cents]) => `${kind} ${cents}`);
  const problems = paid === 'paid' ? [] : [`${organization.organizationId} was told “${paid}”`];
  return found.toSorted().join() === wanted.toSorted().join()
    ? problems
    : [...problems, `the wallet of ${organization.organizationId} was paid ${found.join()}`];
}

/** A page is waited for as long as it is open: whoever opened it comes back. */
const tillWorld = worldWith({
  takesCards: true,
  open: `select from wallet_payments where state = 'open' and kind = 'reload'`,
});

async function checkOut(replica: PlatformReplica, payer: Payer, world: PlatformWorld): Promise<void> {
  const use = (id: string) => world.stripe.paySession(id, { hasIntent: true });
  const page = { kind: 'checkout', body: { amount_cents: TOP_UP_CENTS }, use };
  payer.paid = await usePage(replica, payer, page, world);
}

const topUpOnPage = run<Payer>({
  openWorld: tillWorld,
  prepare: preparePayer,
  act: checkOut,
  repeat: (world, payer) => checkOut(world.other, payer, world),
  judge: (world, payer) => judgeWallet(world, payer, [['topup', TOP_UP_CENTS]]),
});

/** Saves a card, which brings the starter credit, and has it charged. */
async function saveAndCharge(replica: PlatformReplica, payer: Payer, world: PlatformWorld): Promise<void> {
  await usePage(replica, payer, { kind: 'setup', body: {}, use: (id) => void world.stripe.saveCard(id) }, world);
  const body = { amount_cents: TOP_UP_CENTS };
  const headers = { 'idempotency-key': `${payer.key}-reload` };
  const charged = await payer.organization.at(replica).post(`${BILLING}/reload`, body, headers);
  assert.equal(charged.status, 200, charged.text);
  payer.paid = charged.body.payment_status;
}

const chargeCard = run<Payer>({
  openWorld: tillWorld,
  prepare: preparePayer,
  act: saveAndCharge,
  repeat: (world, payer) => saveAndCharge(world.other, payer, world),
  async judge(world, payer) {
    const problems = await judgeWallet(world, payer, [
      ['starter', STARTER_CENTS],
      ['topup', TOP_UP_CENTS],
    ]);
    const { organizationId } = payer.organization;
    const charges = [...world.stripe.intents.values()].filter((intent) =>
      JSON.stringify(intent).includes(organizationId),
    );
    return charges.length === 1
      ? problems
      : [...problems, `the card of ${organizationId} was charged ${charges.length} times`];
  },
});

interface Document {
  readonly storeId: string;
  readonly key: string;
  fileId?: string;
  /** It is in the store. */
  isAdded?: boolean;
}

/** More chunks than are stored by one transaction. */
const DOCUMENT = Array.from({ length: 270 }, (_, at) => `Line ${at} tells of the number ${at * 7_919}.`).join('\n');
const CHUNKS = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 20 } };

/** Goes on from what was answered. */
async function addDocument({ client }: PlatformReplica, document: Document): Promise<void> {
  if (document.fileId === undefined) {
    const form = new FormData();
    form.set('file', new Blob([DOCUMENT]), 'numbers.txt');
    form.set('purpose', 'assistants');
    const uploaded = await client.post('/v1/files', form);
    assert.equal(uploaded.status, 200, uploaded.text);
    document.fileId = uploaded.body.id;
  }
  if (document.isAdded === true) return;
  const body = { file_id: document.fileId };
  const headers = { 'idempotency-key': document.key };
  const added = await client.post(`/v1/vector_stores/${document.storeId}/files`, body, headers);
  assert.equal(added.status, 200, added.text);
  document.isAdded = true;
}

const indexFile = run<Document>({
  async openWorld() {
    const world = await openPlatformWorld({
      open: `select from vector_store_files where status = 'in_progress'`,
      scheduled: ['sweep-ingestion'],
      audit: (db) => auditFiles(db, () => DOCUMENT),
    });
    world.upstream.respondWith({ type: 'embeddings' });
    await useUpstream(world.other.client, world.upstream);
    return world;
  },
  async prepare({ other }, key) {
    const body = { embedding_model: FAKE_MODEL, chunking_strategy: CHUNKS };
    const store = await other.client.post('/v1/vector_stores', body);
    assert.equal(store.status, 200, store.text);
    return { storeId: store.body.id, key };
  },
  async act(replica, document) {
    await addDocument(replica, document);
    await replica.work(() => replica.jobs.runQueued());
  },
  repeat: ({ other }, document) => addDocument(other, document),
  async judge({ other: { client } }, { fileId, storeId }) {
    const store = `/v1/vector_stores/${storeId}`;
    const { body } = await client.get(`${store}/files`);
    const files = body.data.map(({ id, status }: { id: string; status: string }) => `${id} ${status}`);
    const found = await client.post(`${store}/search`, { query: `the number ${7_919 * 7}` });
    const hits = found.body.data?.filter(({ file_id }: { file_id: string }) => file_id === fileId).length ?? 0;
    return [
      ...(files.join() === `${fileId} completed` ? [] : [`${storeId} has the files ${files}, and ${fileId} was added`]),
      ...(hits > 0 ? [] : [`${fileId} is not found: ${found.text}`]),
    ];
  },
  isSweep: true,
});

export const turnScenarios: Scenarios = {
  'a run with tools is completed once, and calls what must not be repeated at most once': runWithTools,
  'an approved call is made at most once, and its decision is there once': approved,
  'a question is answered once, and its run is completed once': asked,
};

export const workScenarios: Scenarios = {
  'a schedule that is due begins one run': fireSchedule,
  'an event is delivered to a webhook, always under the same id': deliverWebhook,
  'a message of a channel is answered once': answerMessage,
};

export const tokenScenarios: Scenarios = {
  'a code is redeemed once': redeemCode,
  'a refresh token has one successor, and is dead after it': rotateToken,
};

export const moneyScenarios: Scenarios = {
  'what a run may cost is reserved, and what it did cost is counted once': spendBudget,
  'a top-up on a page is credited once': topUpOnPage,
  'a saved card is charged once and brings its starter credit once': chargeCard,
};

export const fileScenarios: Scenarios = {
  'a file is indexed whole and found': indexFile,
};
