/** What the platform promises of each of its works when the replica that does it crashes. The gate runs them, and the soak at every effect. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../support/http-client.ts';
import { collectFrames } from '../support/read-frames.ts';
import { assemble, question } from '../support/turns.ts';
import {
  openPlatformWorld,
  type PlatformReplica,
  type PlatformWorld,
  type PlatformWorldOptions,
} from './platform-world.ts';
import { listEffects, runScenario, type Scenario, type ScenarioReport } from './run-scenario.ts';

type PlatformScenario<Case> = Scenario<PlatformWorld, PlatformReplica, Case>;

const worldWith = (options: PlatformWorldOptions) => () => openPlatformWorld(options);
const run =
  <Case>(scenario: PlatformScenario<Case>) =>
  (): Promise<ScenarioReport> =>
    runScenario(scenario);

interface Turn {
  readonly smithId: string;
  readonly text: string;
  /** What the audit wants to know of a turn. */
  readonly metadata: { readonly model_steps: number; readonly calls: number };
  answer?: Answer;
}

async function prepareTurn({ other }: PlatformWorld, text: string, metadata: Turn['metadata']): Promise<Turn> {
  const smith = await other.client.post('/v1/smiths', { model: 'builtin/demo' });
  assert.equal(smith.status, 201, smith.text);
  return { smithId: smith.body.id, text, metadata };
}

/** The smith is the idempotency key of its one run. */
async function begin({ client }: PlatformReplica, turn: Turn): Promise<void> {
  const { metadata, smithId, text } = turn;
  const body = { ...question(text), metadata };
  turn.answer = await client.post(`/v1/smiths/${smithId}/runs`, body, { 'idempotency-key': smithId });
}

/** Its one run is complete, and a reader of its timeline gets that once and in order. */
async function judgeTurn({ other }: PlatformWorld, { answer, smithId }: Turn): Promise<string[]> {
  const runs = `/v1/smiths/${smithId}/runs`;
  const { body } = await other.client.get(runs);
  const [found, ...more] = body.data;
  if (found === undefined || more.length > 0) return [`${smithId} has ${body.data.length} runs: ${answer?.text}`];
  const problems: string[] = [];
  if (answer?.status !== 201) problems.push(`the run ${found.id} was answered ${answer?.status}: ${answer?.text}`);
  else if (answer.body.id !== found.id)
    problems.push(`the answer tells of ${answer.body.id}, and the run is ${found.id}`);
  const { body: settled } = await other.client.get(`${runs}/${found.id}`);
  if (settled.status !== 'completed') return [...problems, `the run ${found.id} is ${JSON.stringify(settled)}`];
  const frames = await collectFrames(await other.client.open('GET', `${runs}/${found.id}/events`));
  const { text } = assemble(frames);
  if (text !== settled.output.content)
    problems.push(`the timeline of ${found.id} says “${text}”, and the run “${settled.output.content}”`);
  for (const type of ['run.started', 'run.completed']) {
    const count = frames.filter(({ event }) => event === type).length;
    if (count !== 1) problems.push(`the timeline of ${found.id} has ${type} ${count} times`);
  }
  return problems;
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
  act: begin,
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

type Scenarios = Readonly<Record<string, () => Promise<ScenarioReport>>>;

export const turnScenarios: Scenarios = {
  'a run with tools is completed once, and calls what must not be repeated at most once': runWithTools,
  'an approved call is made at most once, and its decision is there once': approved,
  'a question is answered once, and its run is completed once': asked,
};

export function testScenarios(scenarios: Scenarios): void {
  for (const [promise, run] of Object.entries(scenarios)) {
    test(`${promise} whatever effect a crash hits`, async (t) => {
      const { effects, interruptions } = await run();
      t.diagnostic(`${effects.length} effects, ${interruptions} crashes and stalls`);
      if (process.env.IRONCRAFT_SIMULATION_CRASH !== undefined) t.diagnostic(listEffects(effects));
    });
  }
}
