/**
 * Two replicas that are killed with -9 at random moments while people write over six channels whose providers answer 429, 500,
 * garbage or nothing in a third of calls: no message is lost, none is answered twice, and none out of order. Messages are
 * delivered one to four times, at either replica. IRONCRAFT_FAULT_MESSAGES, IRONCRAFT_FAULT_SENDERS and
 * IRONCRAFT_FAULT_CHANNEL_KILLS set the sizes, IRONCRAFT_TEST_SEED repeats the choices of a run, not its timing.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../src/kernel/db/database.ts';
import { type ServerProcess, waitFor } from '../boot/server-process.ts';
import { seedFor } from '../support/seed.ts';
import { type BadDay, type ChannelKind, type Deliver, startChannelKinds } from './channel-kinds.ts';
import { NEEDS_SERVER, openFleet, patiently } from './fleet.ts';
import { createRandom, type Random } from './seeded-random.ts';
import { killBetweenTrials, letCalmPass } from './trials.ts';

const MESSAGES = Number(process.env.IRONCRAFT_FAULT_MESSAGES ?? 120);
const SENDERS = Number(process.env.IRONCRAFT_FAULT_SENDERS ?? Math.max(6, Math.round(MESSAGES / 10)));
const KILLS = Number(process.env.IRONCRAFT_FAULT_CHANNEL_KILLS ?? 6);
const SEED = seedFor('channels-kill');

const FAILURES = 0.3;
const LIFE_MS = { min: 300, max: 1_800 };
/** The longest that one part is put off by failures that come in a row. */
const SETTLING_MS = 300_000;
/** In every message, and so in its answer, which quotes it. */
const MARKS = /s\d+m\d+/g;

test(`two replicas, ${MESSAGES} messages of ${SENDERS} senders, ${KILLS} kills with -9: each is answered once and in order`, {
  skip: NEEDS_SERVER,
}, async (t) => {
  const random = createRandom(SEED);
  const { kinds, variables } = await startChannelKinds();
  t.after(async () => {
    for (const { close } of kinds) await close();
  });
  const fleet = await openFleet(t, { store: 'server', only: 'platform', variables });
  const db = fleet.db ?? assert.fail('the fleet has no database of its own');
  const alive: ServerProcess[] = [await fleet.start(), await fleet.start()];
  const [first = assert.fail()] = alive;
  const project = fleet.project(first);
  const agent = await patiently(() => project.post('/v1/agents', { name: 'Help', model: 'builtin/demo' }));
  await patiently(() => project.post(`/v1/agents/${agent.body.id}/versions`, {}));
  for (const kind of kinds) await kind.connect(project, agent.body.id, first.url);
  for (const { misbehave, canLookUp } of kinds) misbehave(() => throwDice(random, canLookUp));

  const kindOf = (sender: number) => kinds[sender % kinds.length] ?? assert.fail('there is no channel');
  let kill = 0;
  const writing = Promise.all(
    Array.from({ length: SENDERS }, (_, sender) =>
      writeAll(kindOf(sender), sender, { alive, random, kills: () => kill }),
    ),
  );
  for (; kill < KILLS; kill += 1) {
    await wait(random.integer(LIFE_MS.min, LIFE_MS.max));
    const victim = random.pick(alive);
    alive.splice(alive.indexOf(victim), 1);
    await killBetweenTrials(fleet, [victim]);
    alive.push(await fleet.start());
  }
  await writing;
  for (const { misbehave } of kinds) misbehave(() => undefined);
  const startedMs = performance.now();
  const isSettled = async () => {
    await letCalmPass(db);
    return (await countUnsettled(db)) === 0 ? true : undefined;
  };
  await waitFor('answer to every message', SETTLING_MS, isSettled);
  t.diagnostic(`settled ${Math.round(performance.now() - startedMs)} ms after the last message and kill`);
  await assertAnswered(t, db, kindOf);
});

function throwDice(random: Random, canLookUp: boolean): BadDay {
  const dice = random.next() / FAILURES;
  if (dice >= 1) return undefined;
  if (dice < 1 / 4) return '429';
  if (dice < 2 / 4) return '500';
  if (dice < 3 / 4) return 'garbage';
  return canLookUp && dice < 7 / 8 ? 'lost' : 'nothing';
}

interface Writing {
  readonly alive: readonly ServerProcess[];
  readonly random: Random;
  /** There were so far. */
  readonly kills: () => number;
}

/** Delivers as providers do: until it is acknowledged, and now and then once more. As long as there are kills, there are messages. */
async function writeAll(kind: ChannelKind, sender: number, { alive, random, kills }: Writing): Promise<void> {
  const bring = (deliver: Deliver) =>
    deliver(random.pick([...alive]).url)
      .then((status) => status >= 200 && status < 300)
      .catch(() => false);
  const marks = marksOf(sender);
  for (const [index, mark] of marks.entries()) {
    while (kills() < Math.floor((index / marks.length) * KILLS)) await wait(50);
    const deliver = await kind.compose(sender, index, mark);
    while (!(await bring(deliver))) await wait(20);
    for (let again = random.integer(0, 3); again > 0; again -= 1) await bring(deliver);
  }
}

/** What the sender writes, in order. */
function marksOf(sender: number): readonly string[] {
  return Array.from({ length: Math.ceil(MESSAGES / SENDERS) }, (_, index) => `s${sender}m${index}`);
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

async function assertAnswered(t: TestContext, db: Database, kindOf: (sender: number) => ChannelKind): Promise<void> {
  const { rows } = await db.query<{ channel: string; said: string; status: string; answer: string }>({
    text: `
      select channel, status, output ->> 'content' as answer,
        (select string_agg(m ->> 'content', ' ' order by n) from jsonb_array_elements(input) with ordinality as i (m, n)) as said
      from runs order by smith_id, turn`,
    values: [],
  });
  const runs = rows.map((run) => ({ ...run, said: run.said.match(MARKS) ?? [], mark: run.answer?.match(MARKS)?.[0] }));
  const problems: string[] = [];
  const repeats = new Map<string, number>();
  for (let sender = 0; sender < SENDERS; sender += 1) {
    const { kind, told } = kindOf(sender);
    const whose = `sender ${sender} of ${kind}`;
    const own = runs.filter(({ said }) => said[0]?.startsWith(`s${sender}m`));
    const said = own.flatMap((run) => run.said);
    if (said.join() !== marksOf(sender).join()) problems.push(`${whose} said ${said.join(' ')}`);
    if (own.some(({ status, channel }) => status !== 'completed' || channel !== kind))
      problems.push(`${whose} has turns that failed, or of another channel`);
    const marks = told(sender).map((text) => text.match(MARKS)?.[0] ?? text);
    const once = marks.filter((mark, index) => mark !== marks[index - 1]);
    repeats.set(kind, (repeats.get(kind) ?? 0) + marks.length - once.length);
    const answers = own.map(({ mark }) => mark);
    if (once.join() !== answers.join()) problems.push(`${whose} was told ${once.join(' ')} for ${answers.join(' ')}`);
  }
  t.diagnostic(`${runs.length} turns; answers that came twice: ${JSON.stringify(Object.fromEntries(repeats))}`);
  assert.deepEqual(problems, []);
  const { rows: failed } = await db.query<{ count: number }>({
    text: `
      select (select count(*) from inbound_events where state <> 'started')
        + (select count(*) from channel_parts where state <> 'sent') as count`,
    values: [],
  });
  assert.equal(failed[0]?.count, 0, 'every message began a turn, and every part was sent');
  const repeated = [...repeats.values()].reduce((sum, count) => sum + count, 0);
  assert.ok(repeated <= KILLS, `${repeated} answers came twice, more than there were kills`);
}
