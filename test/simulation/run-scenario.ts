/**
 * Crashes a replica at each effect of what it does, in turn, and has another take over:
 *
 *   1. A run without a crash counts the effects, and must be right.
 *   2. Before and after each change that it makes outside: fresh tenant data, a replica of its own that crashes there. After a crash `before` the customer repeats
 *      the call at the other replica once the leases are over; after one `after` he does so once everything has ended. As nothing happens between two effects, a crash
 *      after one and a crash before the next leave the same behind, so each state is left to both kinds of customers.
 *   3. The replica stands still before the effect instead, another takes over, and then it goes on; where no transaction is open.
 *   4. The other replica brings all to its end, and the scenario judges.
 *
 * The effects before the crash must be those of the first run, in their order. IRONCRAFT_SIMULATION_CRASH=17-after runs one alone, in a world of its own.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../src/kernel/db/database.ts';
import { type Effect, Effects, type Interruption, type Moment } from './effects.ts';

export interface SimulatedReplica {
  /** Frees what the process holds of it. Whatever it had under way is crashed by then. */
  close(): Promise<void>;
}

export interface SimulatedWorld<Replica extends SimulatedReplica> {
  readonly db: Database;
  /** A replica on the world's database, whose ports count their effects. */
  startReplica(effects: Effects): Promise<Replica>;
  /** Moves the clock past every lease. */
  passLeases(): Promise<void> | void;
  /** Does so, has the other replica do what is due, and goes on until nothing is open. Rejects where that never comes. */
  settle(): Promise<void>;
  /** What is wrong with everything there is, a sentence each. */
  audit(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface Scenario<World extends SimulatedWorld<Replica>, Replica extends SimulatedReplica, Case> {
  readonly openWorld: () => Promise<World>;
  /** Tenant data for one run; the tag is part of names that must differ. */
  readonly prepare: (world: World, tag: string) => Promise<Case>;
  /** What the replica that is to crash does. It rejects, or never ends, where the replica crashes. */
  readonly act: (replica: Replica, made: Case, world: World) => Promise<unknown>;
  /** What whoever was cut off does at the other replica. */
  readonly repeat?: (world: World, made: Case) => Promise<unknown>;
  /** The replica works on what is due for anybody: all of one run is brought to its end before the next. */
  readonly isSweep?: boolean;
  /** Where what has ended is worked on again: sees to it that the next run does not meet it. Called once all of a run has ended. */
  readonly retire?: (world: World, made: Case) => Promise<unknown>;
  /** Runs that share a world, where each moves its clock far. Default: `RUNS_A_WORLD`. */
  readonly runsAWorld?: number;
  /** What is wrong with it, a sentence each, once everything has ended. */
  readonly judge: (world: World, made: Case) => Promise<readonly string[]>;
}

export interface ScenarioReport {
  readonly effects: readonly Effect[];
  readonly interruptions: number;
}

/** Far longer than an answer takes: so that a test of a replica that gives none ends. */
const ANSWER_LIMIT_MS = 30_000;
/** Failures that are reported of one scenario: most have one cause. */
const REPORTED = 5;
/** The embedded store takes several times as long: of the crashes and stalls, in their order, it has every so many-th. A server has all. */
const EMBEDDED_SHARE = 5;
/** Each run moves the clock of its world: after more of them the names and orders of the first would be due again. */
const RUNS_A_WORLD = 40;

export async function runScenario<World extends SimulatedWorld<Replica>, Replica extends SimulatedReplica, Case>(
  scenario: Scenario<World, Replica, Case>,
  crashes: Crashes,
): Promise<ScenarioReport> {
  const { runsAWorld = RUNS_A_WORLD } = scenario;
  const world = await scenario.openWorld();
  const chosen = chosenCrash() ?? (crashes === 'all' ? crashes : undefined);
  const failures = new Map<string, readonly string[]>();
  const wrong: { readonly some: readonly Interruption[]; readonly problems: readonly string[] }[] = [];
  let effects: readonly Effect[];
  let planned: ReturnType<typeof planInterruptions>;
  let done = 0;
  const note = (problems: readonly string[], some: readonly Interruption[]) => {
    done += some.length;
    if (problems.length > 0) wrong.push({ some, problems });
  };
  try {
    effects = await countEffects(scenario, world);
    planned = planInterruptions(effects, chosen, {
      hasCustomers: scenario.repeat !== undefined,
      share: world.db.kind === 'embedded' ? EMBEDDED_SHARE : 1,
    });
    // The world of the first run serves on, unless one crash alone is asked for.
    const some = planned.length === 1 ? [] : planned.slice(0, runsAWorld);
    note(await runTogether(scenario, world, effects, some), some);
  } finally {
    await world.close();
  }
  while (done < planned.length && wrong.length < REPORTED) {
    const some = planned.slice(done, done + runsAWorld);
    note(await runInWorld(scenario, effects, some), some);
  }
  for (const { some, problems } of wrong) {
    const known = failures.size;
    // Which of them it was: each in a world of its own.
    for (const interruption of some) {
      if (failures.size === REPORTED) break;
      const own = planned.length === 1 ? problems : await runInWorld(scenario, effects, [interruption]);
      if (own.length > 0) failures.set(describeInterruption(interruption, effects), own);
    }
    if (failures.size === known) failures.set(`${some.length} of them in one world, and none alone`, problems);
  }
  const report = [...failures].map(([what, problems]) => `${what}\n${problems.map((one) => `    ${one}`).join('\n')}`);
  assert.ok(failures.size === 0, `\n${report.join('\n')}`);
  return { effects, interruptions: planned.length };
}

/** `some`: those that leave something else behind than the crash before them. */
export type Crashes = 'some' | 'all';

/** Each with the promise that it keeps, which names its test. */
export type Scenarios = Readonly<Record<string, (crashes: Crashes) => Promise<ScenarioReport>>>;

export function testScenarios(scenarios: Scenarios, crashes: Crashes = 'some'): void {
  for (const [promise, run] of Object.entries(scenarios)) {
    test(`${promise} whatever effect a crash hits`, async (t) => {
      const { effects, interruptions } = await run(crashes);
      if (interruptions === 0) return t.skip(`it has ${effects.length} effects alone`);
      t.diagnostic(`${effects.length} effects, ${interruptions} crashes and stalls`);
      if (chosenCrash() !== undefined) t.diagnostic(listEffects(effects));
    });
  }
}

/** What is asked for in place of what the file has. */
function chosenCrash(): string | undefined {
  return process.env.IRONCRAFT_SIMULATION_CRASH;
}

/** A line each, with its number; what changes something outside is marked. */
function listEffects(effects: readonly Effect[]): string {
  const lines = effects.map(({ isChange, label }, place) => `${place + 1}${isChange ? '*' : ''} ${label}`);
  return lines.join('\n');
}

async function runInWorld<World extends SimulatedWorld<Replica>, Replica extends SimulatedReplica, Case>(
  scenario: Scenario<World, Replica, Case>,
  expected: readonly Effect[],
  interruptions: readonly Interruption[],
): Promise<readonly string[]> {
  const world = await scenario.openWorld();
  try {
    return await runTogether(scenario, world, expected, interruptions);
  } finally {
    await world.close();
  }
}

/** The effects of a run that nothing interrupts, which must be right. */
async function countEffects<World extends SimulatedWorld<Replica>, Replica extends SimulatedReplica, Case>(
  scenario: Scenario<World, Replica, Case>,
  world: World,
): Promise<readonly Effect[]> {
  const made = await scenario.prepare(world, 'whole');
  const { log } = await runOnce(scenario, world, made);
  await scenario.repeat?.(world, made);
  await world.settle();
  const problems = [...(await scenario.judge(world, made)), ...(await world.audit())];
  // Later than the judge, who may work on it by looking.
  await scenario.retire?.(world, made);
  assert.deepEqual(problems, [], 'the run without a crash is wrong');
  assert.ok(log.length > 0, 'it has no effect');
  return log;
}

/** In one world: tenancy keeps the runs apart. What is wrong, a sentence each. */
async function runTogether<World extends SimulatedWorld<Replica>, Replica extends SimulatedReplica, Case>(
  scenario: Scenario<World, Replica, Case>,
  world: World,
  expected: readonly Effect[],
  interruptions: readonly Interruption[],
): Promise<readonly string[]> {
  const problems: string[] = [];
  const made: { readonly interruption: Interruption; readonly made: Case }[] = [];
  const repeatAll = (isMeant: (moment: Moment) => boolean) =>
    Promise.all(
      made.filter(({ interruption }) => isMeant(interruption.moment)).map((one) => scenario.repeat?.(world, one.made)),
    );
  /** An error is a problem like others. */
  const attempt = async (part: () => Promise<void>): Promise<void> => {
    try {
      await part();
    } catch (error) {
      problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
  };
  await attempt(async () => {
    for (const interruption of interruptions) {
      const prepared = await scenario.prepare(world, `${interruption.moment}-${interruption.number}`);
      made.push({ interruption, made: prepared });
      const { log } = await runOnce(scenario, world, prepared, interruption);
      problems.push(...compareEffects(log, expected, interruption));
      if (scenario.isSweep === true) await world.settle();
      await scenario.retire?.(world, prepared);
    }
    await world.passLeases();
    await repeatAll((moment) => moment === 'before');
    await world.settle();
    await repeatAll((moment) => moment !== 'before');
    await world.settle();
  });
  // What has not ended is judged too, as that says why.
  await attempt(async () => {
    for (const { interruption, made: one } of made) {
      const name = describeInterruption(interruption, expected);
      problems.push(...(await scenario.judge(world, one)).map((problem) => `${name}: ${problem}`));
    }
    problems.push(...(await world.audit()));
  });
  return problems;
}

async function runOnce<World extends SimulatedWorld<Replica>, Replica extends SimulatedReplica, Case>(
  { act }: Scenario<World, Replica, Case>,
  world: World,
  made: Case,
  interruption?: Interruption,
): Promise<Effects> {
  const effects = new Effects();
  const replica = await world.startReplica(effects);
  try {
    effects.arm(interruption);
    const acting = act(replica, made, world);
    const acted = acting.then(
      () => 'acted' as const,
      (error: unknown) => ({ error }),
    );
    const stalled = effects.stalled.then(() => 'stalled' as const);
    const ended = await Promise.race([acted, effects.crashed.catch(() => 'crashed' as const), stalled]);
    // What goes on after the answer may come to the stall as well.
    const first = ended === 'acted' ? await Promise.race([effects.idle().then(() => ended), stalled]) : ended;
    if (first === 'stalled') {
      await world.settle();
      effects.resume();
      // What it learns now may be a refusal: another replica was faster.
      await untilAnswered(acted);
    } else if (typeof first === 'object' && !effects.isDead) throw first.error;
    await effects.idle();
    return effects;
  } finally {
    effects.crash();
    await replica.close();
  }
}

/** Rejects if the replica does not answer its caller within the limit. */
async function untilAnswered(acted: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  const late = wait(ANSWER_LIMIT_MS, 'late', { signal: limit.signal }).catch(() => undefined);
  const first = await Promise.race([acted, late]);
  limit.abort();
  if (first === 'late') throw new Error('after its stall the replica does not answer any more');
}

function compareEffects(log: readonly Effect[], expected: readonly Effect[], interruption: Interruption): string[] {
  const { moment, number } = interruption;
  const name = describeInterruption(interruption, expected);
  if (log.length < number) return [`${name}: it had ${log.length} effects alone, and crashed at none`];
  // What comes after a stall depends on what the other replica has done.
  const isKnown = (place: number) => moment !== 'stalled' || place < number;
  const other = log.findIndex(({ label }, place) => isKnown(place) && label !== expected[place]?.label);
  if (other === -1) return [];
  const [is, was] = [log[other]?.label, expected[other]?.label];
  return [`${name}: effect ${other + 1} was “${is}”, and in the run without a crash “${was}”`];
}

/**
 * A crash leaves behind what it leaves at the change before it, as reads and statements of transactions that are rolled back leave nothing: so the
 * gate crashes before and after each change; where nobody repeats anything, after each and before the first.
 * IRONCRAFT_SIMULATION_CRASH=all crashes before and after each effect, as the soak does.
 */
function planInterruptions(
  effects: readonly Effect[],
  chosen: string | undefined,
  { hasCustomers, share }: { readonly hasCustomers: boolean; readonly share: number },
): readonly Interruption[] {
  const isComplete = chosen === 'all';
  // One that is asked for is one of the scenarios that have so many effects.
  if (chosen !== undefined && !isComplete)
    return [parseInterruption(chosen)].filter(({ number }) => number <= effects.length);
  const all = effects.flatMap(({ isChange, isInTransaction }, place) => {
    const number = place + 1;
    const moments: Moment[] = [];
    // Where nobody repeats anything, the crash after the change before has left the same.
    const isSeen = !hasCustomers && effects.slice(0, place).some((before) => before.isChange);
    if (isComplete || (isChange && !isSeen)) moments.push('before');
    if (isComplete || isChange) moments.push('after');
    if (!isInTransaction) moments.push('stalled');
    return moments.map((moment) => ({ number, moment }));
  });
  return isComplete ? all : all.filter((_, place) => place % share === 0);
}

function parseInterruption(text: string): Interruption {
  const [, number, moment] = /^(\d+)-(before|after|stalled)$/.exec(text) ?? [];
  if (number === undefined)
    throw new Error('IRONCRAFT_SIMULATION_CRASH is all, or a number and a moment: 17-before, 17-after or 17-stalled');
  return { number: Number(number), moment: moment as Moment };
}

function describeInterruption({ moment, number }: Interruption, effects: readonly Effect[]): string {
  const label = effects[number - 1]?.label ?? 'no effect';
  const what = moment === 'stalled' ? 'stall before' : `crash ${moment}`;
  return `${what} effect ${number} of ${effects.length}: ${label} (IRONCRAFT_SIMULATION_CRASH=${number}-${moment})`;
}
