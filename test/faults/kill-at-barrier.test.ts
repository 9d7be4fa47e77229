/**
 * A process of each service is killed with -9 while its work stands at a point that the test holds: half of a model's answer, the
 * request of a tool, an approval, the answer of a registry that has created a name, the answer of a payment provider that has charged
 * a card. The next process ends each turn and each order once: nothing is called, created or charged a second time.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createManualClock } from '../../src/kernel/clock/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { openDatabase } from '../../src/kernel/db/open-database.ts';
import { type ServerProcess, waitFor } from '../boot/server-process.ts';
import { type FakeMcpServer, startMcpServer } from '../fakes/mcp-server.ts';
import { type OpenAiUpstream, startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { startStripe } from '../fakes/stripe-server.ts';
import { openTestDatabase, testServerUrl } from '../support/database.ts';
import { openTestEpp, PASSWORD, testTls } from '../support/epp.ts';
import type { TestProject } from '../support/platform.ts';
import { collectFrames, type Frame } from '../support/read-frames.ts';
import {
  assemble,
  FAKE_MODEL,
  framesUntil,
  isType,
  openFrames,
  question,
  smithOf,
  type TestSmith,
  useUpstream,
} from '../support/turns.ts';
import { auditOrders, countOpen, listOrders } from './audit-orders.ts';
import { auditTurns, countTurns } from './audit-turns.ts';
import { createPatientClient, type Fleet, openFleet } from './fleet.ts';
import { lapseLeases, letTimePass } from './lapse-orders.ts';
import type { Call } from './order-driver.ts';

const TIMEOUT_MS = 60_000;
/** Registries want one. */
const CONTACT = { street: '1 Mill Lane', city: 'London', postal_code: 'EC1', country: 'GB', phone: '+44.2071234567' };
const store = testServerUrl() === undefined ? 'embedded' : 'server';

async function killNow(server: ServerProcess): Promise<void> {
  server.kill('SIGKILL');
  assert.equal((await server.ended).signal, 'SIGKILL', 'it lived until then');
}

/** Looks into the store of a fleet; an embedded one belongs to no process meanwhile. */
async function visit<Value>({ db, dataDir }: Fleet, work: (db: Database) => Promise<Value>): Promise<Value> {
  if (db !== undefined) return work(db);
  const opened = await openDatabase({ url: undefined, dataDir, poolSize: 1 });
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

describe('a platform process that is killed while its turns stand', () => {
  const DELTAS = ['One', ' two', ' three', ' four', ' five', ' six'];
  const cleanups: (() => Promise<void>)[] = [];
  let fleet: Fleet;
  let upstream: OpenAiUpstream;
  let tools: FakeMcpServer;
  let project: TestProject;
  let next: ServerProcess;
  let atModel: Standing & { readonly seen: readonly Frame[] };
  let atTool: Standing;
  let atApproval: Standing & { readonly approvalId: string };

  interface Standing {
    readonly smithId: string;
    readonly runId: string;
  }

  before(
    async () => {
      const t = { after: (work: () => Promise<void>) => void cleanups.unshift(work) };
      upstream = await startOpenAiUpstream();
      t.after(() => upstream.close());
      tools = await startMcpServer([{ name: 'note' }]);
      t.after(() => tools.close());
      fleet = await openFleet(t, { store, only: 'platform' });
      const first = await fleet.start();
      project = fleet.project(first);
      await useUpstream(project, upstream);
      await registerTools('peer', {});
      await registerTools('gated', { approval_policy: [{ match: '*' }] });

      upstream.respondWith([
        { type: 'answer', deltas: DELTAS, fault: { afterChunks: 3, type: 'hang' } },
        { type: 'answer', deltas: DELTAS },
      ]);
      const streamed = await begin('Count to six', { model: FAKE_MODEL }, { model_steps: 1, calls: 0 });
      const frames = openFrames(await streamed.smith.events(streamed.runId));
      const seen: Frame[] = [];
      while (assemble(seen).text !== 'One two three') seen.push(...(await framesUntil(frames, () => true)));
      atModel = { smithId: streamed.smith.id, runId: streamed.runId, seen };

      const called = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      t.after(async () => released.resolve());
      tools.onCall = async ({ arguments: given }) => {
        called.resolve();
        await released.promise;
        return { content: [{ type: 'text', text: JSON.stringify(given) }] };
      };
      const calling = await begin('Call the tool peer__note with {"of":"peer"}', {}, { model_steps: 2, calls: 1 });
      atTool = { smithId: calling.smith.id, runId: calling.runId };
      await called.promise;

      const gated = await begin('Call the tool gated__note with {"of":"gated"}', {}, { model_steps: 2, calls: 1 });
      const paused = await gated.smith.settled(gated.runId);
      assert.equal(paused.status, 'paused', JSON.stringify(paused));
      const { approval_id: approvalId } = paused.output.tool_calls[0];
      atApproval = { smithId: gated.smith.id, runId: gated.runId, approvalId };

      await killNow(first);
      tools.onCall = ({ arguments: given }) => ({ content: [{ type: 'text', text: JSON.stringify(given) }] });
      await letLeaseLapse();
      next = await fleet.start();
      project = fleet.project(next);
    },
    { timeout: 3 * TIMEOUT_MS },
  );
  after(async () => {
    for (const work of cleanups) await work();
  });

  async function registerTools(name: string, more: object): Promise<void> {
    const put = await project.put(`/v1/tenant/mcp/${name}`, { url: tools.url, ...more });
    assert.ok(put.status < 300, put.text);
    const { body, text } = await project.post(`/v1/tenant/mcp/${name}/refresh`);
    assert.equal(body.status, 'ready', text);
  }

  /** With what the audit wants to know of a turn. */
  async function begin(
    text: string,
    settings: Record<string, unknown>,
    metadata: { readonly model_steps: number; readonly calls: number },
  ): Promise<{ readonly smith: TestSmith; readonly runId: string }> {
    const smith = smithOf(project, await project.createSmith(settings));
    const headers = { prefer: 'respond-async', 'idempotency-key': smith.id };
    const begun = await project.post(smith.runs, { ...question(text), metadata }, headers);
    assert.equal(begun.status, 201, begun.text);
    return { smith, runId: begun.body.id };
  }

  /** An embedded store has no other process, whose lease would have to lapse. */
  async function letLeaseLapse(): Promise<void> {
    const text = `update replicas set heartbeat_at = heartbeat_at - interval '1 minute'`;
    await fleet.db?.query({ text, values: [] });
  }

  /** Of the feed, at the process that lives. */
  async function toolOutputs(runId: string): Promise<Record<string, unknown>[]> {
    const { body } = await project.get('/v1/events?type=tool.completed&limit=100');
    const events: { data: { run_id: string; output: Record<string, unknown> } }[] = body.data;
    return events.filter(({ data }) => data.run_id === runId).map(({ data }) => data.output);
  }

  function callsOf(server: string): number {
    return tools.calls().filter(({ params }) => Object(params.arguments).of === server).length;
  }

  test('a turn whose model had sent half of its answer is answered once by the next process, and its reader reads on', async () => {
    const smith = smithOf(project, atModel.smithId);
    const lastId = atModel.seen.findLast(({ id }) => id !== undefined)?.id;
    const rest = await collectFrames(await smith.events(atModel.runId, lastId));
    const whole = [...atModel.seen, ...rest].filter(({ id }) => id !== undefined);
    assert.equal(assemble(whole).text, DELTAS.join(''));
    assert.equal(whole.filter(isType('run.restarted')).length, 1);
    assert.equal(whole.filter(isType('run.completed')).length, 1);
    const run = await smith.settled(atModel.runId);
    assert.deepEqual([run.status, run.output.content], ['completed', DELTAS.join('')]);
    assert.equal(upstream.requests.length, 2, 'the answer that broke off and the one that counts');
  });

  test('a turn whose tool had been called does not call it again, and goes on without its outcome', async () => {
    const run = await smithOf(project, atTool.smithId).settled(atTool.runId);
    assert.equal(run.status, 'completed', JSON.stringify(run));
    assert.equal(callsOf('peer'), 1);
    const [output, ...others] = await toolOutputs(atTool.runId);
    assert.deepEqual(others, []);
    assert.match(String(output?.error), /its outcome is unknown/);
  });

  test('a turn that was paused for an approval is approved at the next process, once, and makes its call once', async () => {
    const smith = smithOf(project, atApproval.smithId);
    assert.equal((await smith.get(atApproval.runId)).status, 'paused');
    assert.equal(callsOf('gated'), 0);
    const approval = { kind: 'approval', approval_id: atApproval.approvalId, decision: 'approve' };
    const answers = await Promise.all(
      [1, 2].map(() => project.post(`${smith.runs}/${atApproval.runId}/submit`, approval)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409], answers.map(({ text }) => text).join());
    const run = await smith.settled(atApproval.runId);
    assert.equal(run.status, 'completed', JSON.stringify(run));
    assert.equal(callsOf('gated'), 1);
  });

  test('the store has each of these turns once, whole and paid for once', async () => {
    for (const { smithId, runId } of [atModel, atTool, atApproval]) await smithOf(project, smithId).settled(runId);
    assert.deepEqual(await next.stop(), { code: 0, signal: null });
    await visit(fleet, async (db) => {
      assert.deepEqual(await auditTurns(db), { booking: [], order: [] });
      assert.deepEqual(await countTurns(db), { runs: 3, completed: 3, paused: 0, takenOver: 2 });
    });
  });
});

test('a domain service that is killed while a registry and a payment provider hold their answers ends each order once', {
  timeout: 3 * TIMEOUT_MS,
}, async (t) => {
  const [created, charged] = ['created.com', 'charged.com'];
  const cleanups: (() => Promise<void>)[] = [];
  const closing = { after: (work: () => Promise<void>) => void cleanups.unshift(work) };
  t.after(async () => {
    for (const work of cleanups) await work();
  });
  const stripe = await startStripe();
  closing.after(stripe.close);
  const atRegistry = await openTestDatabase();
  closing.after(atRegistry.close);
  const creates: string[] = [];
  const registry = await openTestEpp(atRegistry.db, {
    clock: createManualClock(new Date()),
    delays: { createSeconds: 0 },
    deliver({ kind, name }) {
      if (kind !== 'domain:create') return undefined;
      creates.push(name);
      // Carried out, and answered to nobody: the process that asked does not live so long.
      return name === created && creates.length === 1 ? { kind: 'slow', delayMs: TIMEOUT_MS } : undefined;
    },
  });
  closing.after(registry.close);
  const fleet = await openFleet(closing, {
    store,
    only: 'domains',
    variables: {
      IRONCRAFT_DOMAINS_REGISTRY: 'epp',
      IRONCRAFT_DOMAINS_EPP_URL: `epps://127.0.0.1:${registry.server.port}`,
      IRONCRAFT_DOMAINS_EPP_CLIENT_ID: registry.ours.registrarId,
      IRONCRAFT_DOMAINS_EPP_PASSWORD: PASSWORD,
      IRONCRAFT_DOMAINS_EPP_CA_FILE: testTls.certificateFile,
      IRONCRAFT_DOMAINS_EPP_TLDS: 'com',
      IRONCRAFT_DOMAINS_STRIPE_KEY: stripe.secretKey,
      IRONCRAFT_DOMAINS_STRIPE_URL: stripe.url,
      IRONCRAFT_LOG_LEVEL: 'error',
    },
  });
  const first = await fleet.start();
  const account = await createPatientClient(first.url, '').post('/accounts', { email: 'someone@example.com' });
  assert.equal(account.status, 201, account.text);
  const token: string = account.body.token.token;
  const contact = await createPatientClient(first.url, token).patch('/registrant', { contact: CONTACT });
  assert.equal(contact.status, 200, contact.text);
  const call = (name: string): Call => ({
    kind: 'register',
    key: name,
    token,
    name,
    path: '/domains',
    body: { domain: name, duration: 1, confirm_price: 11.9, payment_method: 'pm_card_visa' },
  });
  const calls = [call(created), call(charged)];
  const [ofRegistry, ofCharge] = calls;
  assert.ok(ofRegistry !== undefined && ofCharge !== undefined);
  /** As a customer does, who does not know what came of it. */
  const send = ({ path, body, key }: Call, url: string) =>
    createPatientClient(url, token).post(path, body, { 'idempotency-key': key });
  const cutOff = (asked: Promise<unknown>) => asked.then(() => undefined).catch(() => undefined);

  // In this order: nothing else is asked of a registry whose answer is waited for.
  stripe.failNextPost('/v1/payment_intents', 'metadata[order_id]', 'hang');
  const unanswered = [cutOff(send(ofCharge, first.url))];
  await waitFor('charge', TIMEOUT_MS, async () => stripe.intents.size === 1 || undefined);
  unanswered.push(cutOff(send(ofRegistry, first.url)));
  await waitFor('name at the registry', TIMEOUT_MS, async () => {
    const { rows } = await atRegistry.db.query({
      text: 'select name from domains.registry_domains where name = $1',
      values: [created],
    });
    return rows.length === 1 || undefined;
  });
  assert.equal(stripe.intents.size, 2);
  await killNow(first);
  await Promise.all(unanswered);
  assert.deepEqual(creates, [created], 'it stood before the other name was created');

  await visit(fleet, async (db) => {
    await lapseLeases(db);
    await letTimePass(db);
  });
  const next = await fleet.start();
  for (const one of calls) {
    one.answer = await waitFor(`answer of ${one.name}`, TIMEOUT_MS, async () => {
      if (fleet.db !== undefined) await letTimePass(fleet.db);
      const answer = await send(one, next.url);
      return answer.status < 500 ? answer : undefined;
    });
  }
  const owner = createPatientClient(next.url, token);
  for (const { name } of calls) {
    await waitFor(`${name} in the portfolio`, TIMEOUT_MS, async () => {
      if (fleet.db !== undefined) await letTimePass(fleet.db);
      const { status, body } = await owner.get(`/domains/${name}`);
      return (status === 200 && body.status === 'Active') || undefined;
    });
  }
  assert.deepEqual(await next.stop(), { code: 0, signal: null });

  assert.deepEqual(creates, [created, charged], 'each name was created by one command');
  await visit(fleet, async (db) => {
    assert.deepEqual(await countOpen(db), { live: 0, openRefunds: 0, deletions: 0 });
    const orders = await listOrders(db);
    assert.deepEqual(orders.map(({ name, state, submissions }) => [name, state, submissions]).sort(), [
      [charged, 'completed', 1],
      [created, 'completed', 1],
    ]);
    const { registrarId } = registry.ours;
    const evidence = { db, registry: { db: atRegistry.db, registrarId }, stripe, calls, creditCents: 0 };
    assert.deepEqual(await auditOrders(evidence), []);
  });
  assert.deepEqual([stripe.intents.size, stripe.refunds.size], [2, 0], 'each card was charged once');
});
