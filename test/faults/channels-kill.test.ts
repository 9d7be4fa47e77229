/**
 * Two replicas that are killed with -9 at random moments while people write to a bot whose provider answers 429, 500, garbage or
 * nothing in a third of calls: no message is lost, none is answered twice, and none out of order. Messages are delivered one to
 * four times, at either replica. IRONCRAFT_FAULT_MESSAGES, IRONCRAFT_FAULT_SENDERS and IRONCRAFT_FAULT_CHANNEL_KILLS set the
 * sizes, IRONCRAFT_FAULT_SEED repeats the choices of an earlier run (not its timing).
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../src/kernel/db/database.ts';
import type { ServerProcess } from '../boot/server-process.ts';
import { type ApiCall, type FakeTelegram, startTelegram } from '../fakes/telegram-server.ts';
import { eventually } from '../support/turns.ts';
import { NEEDS_SERVER, openFleet, patiently } from './fleet.ts';
import { createRandom, type Random } from './seeded-random.ts';

const MESSAGES = Number(process.env.IRONCRAFT_FAULT_MESSAGES ?? 40);
const SENDERS = Number(process.env.IRONCRAFT_FAULT_SENDERS ?? Math.max(4, Math.round(MESSAGES / 10)));
const KILLS = Number(process.env.IRONCRAFT_FAULT_CHANNEL_KILLS ?? 2);
const SEED = Number(process.env.IRONCRAFT_FAULT_SEED ?? Date.now() % 1_000_000);

const FAILURES = 0.3;
const LIFE_MS = { min: 300, max: 1_800 };
const FIRST_SENDER = 700_000;
/** In every message, and so in its answer, which quotes it. */
const MARK = /s\d+m\d+/;

test(`two replicas, ${MESSAGES} messages of ${SENDERS} senders, ${KILLS} kills with -9: each is answered once and in order`, {
  skip: NEEDS_SERVER,
}, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const random = createRandom(SEED);
  const telegram = await startTelegram();
  t.after(() => telegram.close());
  const fleet = await openFleet(t, {
    ...{ store: 'server', only: 'platform' },
    variables: { IRONCRAFT_PUBLIC_URL: 'https://127.0.0.1' },
  });
  const db = fleet.db ?? assert.fail('the fleet has no database of its own');
  const alive: ServerProcess[] = [await fleet.start(), await fleet.start()];
  const [first = assert.fail()] = alive;
  const project = fleet.project(first);
  const token = telegram.newToken();
  const api_base_url = `http://127.0.0.1:${new URL(telegram.url).port}`;
  const saved = await patiently(() => project.put('/v1/tenant/telegram', { bot_token: token, api_base_url }));
  assert.equal(saved.status, 200, saved.text);
  const agent = await patiently(() => project.post('/v1/agents', { name: 'Help', model: 'builtin/demo' }));
  await patiently(() => project.post(`/v1/agents/${agent.body.id}/versions`, {}));
  const target = { type: 'agent', id: agent.body.id };
  const deployment = await patiently(() => project.post('/v1/deployments', { kind: 'telegram', target }));
  assert.equal(deployment.status, 201, deployment.text);
  const taken = watchTaken(telegram, random);

  const write = writer(telegram, token, project.projectId, alive, random);
  const writing = Promise.all(Array.from({ length: SENDERS }, (_, sender) => writeAll(write, sender)));
  for (let kill = 0; kill < KILLS; kill += 1) {
    await wait(random.integer(LIFE_MS.min, LIFE_MS.max));
    const victim = random.pick(alive);
    alive.splice(alive.indexOf(victim), 1);
    victim.kill('SIGKILL');
    assert.equal((await victim.ended).signal, 'SIGKILL', 'it lived until then');
    alive.push(await fleet.start());
  }
  await writing;
  const startedMs = performance.now();
  await eventually(async () => ((await countUnsettled(db)) === 0 ? true : undefined), 'every message is answered');
  t.diagnostic(`settled ${Math.round(performance.now() - startedMs)} ms after the last message and kill`);
  await assertAnswered(t, db, taken);
});

/** What the provider has taken, by chat: a call that it answered well. The others are a third. */
function watchTaken(telegram: FakeTelegram, random: Random): ReadonlyMap<number, string[]> {
  const taken = new Map<number, string[]>();
  telegram.misbehave((call: ApiCall) => {
    const dice = random.integer(1, 1_000) / 1_000;
    if (dice < FAILURES / 4)
      return { error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 1 } };
    if (dice < FAILURES / 2) return { error_code: 500, description: 'Internal Server Error' };
    if (dice < (3 * FAILURES) / 4) return 'garbage';
    if (dice < FAILURES) return 'cut';
    if (call.method === 'sendMessage') {
      const chat = Number(call.payload.chat_id);
      taken.set(chat, [...(taken.get(chat) ?? []), String(call.payload.text)]);
    }
    return undefined;
  });
  return taken;
}

type Write = (sender: number, text: string, updateId: number) => Promise<void>;

/** Delivers as providers do: until it is acknowledged, and now and then once more. */
function writer(
  telegram: FakeTelegram,
  token: string,
  projectId: string,
  alive: readonly ServerProcess[],
  random: Random,
): Write {
  const secret = telegram.webhookOf(token)?.secret_token ?? assert.fail('there is no webhook');
  async function deliver(body: string): Promise<boolean> {
    const { url } = random.pick([...alive]);
    const headers = { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret };
    const call = fetch(`${url}/v1/telegram/webhook/${projectId}`, { method: 'POST', headers, body });
    return call.then(({ ok }) => ok).catch(() => false);
  }
  return async (sender, text, update_id) => {
    const from = { id: FIRST_SENDER + sender, is_bot: false, first_name: `Sender ${sender}` };
    const message = { message_id: update_id, date: 1_780_000_000, from, chat: { id: from.id, type: 'private' }, text };
    const body = JSON.stringify({ update_id, message });
    while (!(await deliver(body))) await wait(20);
    for (let again = random.integer(0, 3); again > 0; again -= 1) await deliver(body);
  };
}

async function writeAll(write: Write, sender: number): Promise<void> {
  const count = Math.ceil(MESSAGES / SENDERS);
  for (let index = 0; index < count; index += 1)
    await write(sender, `s${sender}m${index}`, sender * 10_000 + index + 1);
}

/** Messages that wait, turns that go on, and answers that are not through. */
async function countUnsettled(db: Database): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    text: `
      select (select count(*) from inbound_events where state = 'waiting')
        + (select count(*) from runs where status = 'in_progress')
        + (select count(*) from channel_answers where state in ('open', 'planned')) as count`,
    values: [],
  });
  return rows[0]?.count ?? Number.NaN;
}

async function assertAnswered(t: TestContext, db: Database, taken: ReadonlyMap<number, string[]>): Promise<void> {
  const { rows: runs } = await db.query<{ chat: string; said: string[]; status: string; answer: string }>({
    text: `
      select metadata ->> 'chat' as chat, status, output ->> 'content' as answer,
        (select array_agg(m ->> 'content' order by n) from jsonb_array_elements(input) with ordinality as i (m, n)) as said
      from runs where channel = 'telegram' order by smith_id, turn`,
    values: [],
  });
  const problems: string[] = [];
  let repeats = 0;
  for (let sender = 0; sender < SENDERS; sender += 1) {
    const own = runs.filter(({ chat }) => chat === String(FIRST_SENDER + sender));
    const expected = Array.from({ length: Math.ceil(MESSAGES / SENDERS) }, (_, index) => `s${sender}m${index}`);
    const said = own.flatMap((run) => run.said);
    if (said.join() !== expected.join()) problems.push(`sender ${sender} said ${said.join(' ')}`);
    if (own.some(({ status }) => status !== 'completed')) problems.push(`sender ${sender} has turns that failed`);
    const marks = (taken.get(FIRST_SENDER + sender) ?? []).map((text) => MARK.exec(text)?.[0] ?? text);
    const once = marks.filter((mark, index) => mark !== marks[index - 1]);
    repeats += marks.length - once.length;
    const answers = own.map((run) => MARK.exec(run.answer)?.[0]);
    if (once.join() !== answers.join())
      problems.push(`sender ${sender} was told ${once.join(' ')} for ${answers.join(' ')}`);
  }
  assert.deepEqual(problems, []);
  const { rows: failed } = await db.query<{ count: number }>({
    text: `
      select (select count(*) from inbound_events where state <> 'started')
        + (select count(*) from channel_parts where state <> 'sent') as count`,
    values: [],
  });
  assert.equal(failed[0]?.count, 0, 'every message began a turn, and every part was sent');
  assert.ok(repeats <= KILLS, `${repeats} answers came twice, more than there were kills`);
  t.diagnostic(`${runs.length} turns, ${repeats} answers came twice`);
}
