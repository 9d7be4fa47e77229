/**
 * A client that asks one smith for one turn after the other while servers die under it, and never gives up a turn: it
 * repeats a create with the same key until it knows the run, reads the timeline over as many connections as it takes, and
 * answers what the run waits for.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { isConnectionLost } from '../support/http-client.ts';
import type { Answer, TestProject } from '../support/platform.ts';
import { type Frame, readFrames } from '../support/read-frames.ts';
import { assemble, question } from '../support/turns.ts';
import type { Random } from './seeded-random.ts';
import { chooseRecipe, HOSTED_TOOL, type Recipe } from './turn-recipes.ts';

export interface DrivenTurn {
  readonly recipe: Recipe;
  readonly runId: string;
  /** Everything that the client was shown, over all of its connections. */
  readonly frames: readonly Frame[];
  /** It was not answered on purpose. */
  readonly leftPaused: boolean;
}

export interface DriverParts {
  /** A client of some server that lives; undefined while none does. */
  readonly pick: () => TestProject | undefined;
  readonly random: Random;
  /** Tells the drivers of one test apart. */
  readonly name: string;
  readonly stopped: () => boolean;
  /** Answers of 5xx are taken for a passing fault of the server, and asked again. */
  readonly mayFail?: boolean;
}

/** Beyond the time that a turn waits for calm while replicas go on ending. */
const PATIENCE_MS = 1_200_000;
const RETRY_MS = 20;
const SETTLED = ['run.completed', 'run.failed', 'run.cancelled'];
const RESTING = [...SETTLED, 'run.paused'];
const LEFT_PAUSED_SHARE = 0.15;
const WAITS_FOR_JSON_SHARE = 0.25;

/** Drives turns until it is stopped; returns every one that was accepted. */
export async function driveTurns(parts: DriverParts): Promise<DrivenTurn[]> {
  const smith = await insist(parts, 'a smith', async (project) => {
    const external_id = `driven-${parts.name}`;
    const settings = { external_id, model: 'builtin/demo', enabled_hosted_tools: [HOSTED_TOOL] };
    return accept(parts, await project.post('/v1/smiths', settings), [200, 201]);
  });
  const runs = `/v1/smiths/${smith.body.id}/runs`;
  const turns: DrivenTurn[] = [];
  while (!parts.stopped()) {
    turns.push(await driveTurn(parts, runs, `${parts.name}-${turns.length}`));
  }
  return turns;
}

async function driveTurn(parts: DriverParts, runs: string, key: string): Promise<DrivenTurn> {
  const recipe = chooseRecipe(parts.random);
  const body = {
    ...question(recipe.text),
    ...recipe.more,
    metadata: { kind: recipe.kind, model_steps: recipe.modelSteps, calls: recipe.calls },
  };
  const frames: Frame[] = [];
  const waits = parts.random.next() < WAITS_FOR_JSON_SHARE;
  const runId = waits
    ? await createAndWait(parts, runs, key, body)
    : await createAndStream(parts, runs, key, body, frames);
  await readTo(RESTING, parts, `${runs}/${runId}`, frames);
  const leftPaused = recipe.pauses && parts.random.next() < LEFT_PAUSED_SHARE;
  if (recipe.pauses && !leftPaused) {
    await answerCalls(parts, `${runs}/${runId}`);
    await readTo(SETTLED, parts, `${runs}/${runId}`, frames);
  }
  const run = await getRun(parts, `${runs}/${runId}`);
  assert.equal(
    run.status,
    leftPaused ? 'paused' : 'completed',
    `${recipe.kind} ${runId}: ${JSON.stringify(run.error)}`,
  );
  assert.equal(assemble(frames).text, run.output.content, `what was shown of ${runId} (${recipe.kind})`);
  if (recipe.outputTokens !== undefined) assert.equal(run.usage.output_tokens, recipe.outputTokens, runId);
  if (recipe.kind === 'structured output') JSON.parse(run.output.content);
  return { recipe, runId, frames, leftPaused };
}

/** The stream of the create, as far as it goes. A repetition is answered with a pointer to the run. */
async function createAndStream(
  parts: DriverParts,
  runs: string,
  key: string,
  body: object,
  frames: Frame[],
): Promise<string> {
  return insist(parts, 'an accepted run', async (project) => {
    const headers = { 'idempotency-key': key };
    const response = await project.open('POST', runs, { ...body, stream: true }, headers);
    if (response.status >= 300) return refuse(parts, response);
    await keepFrames(response, frames);
    const [first] = frames;
    const pointer = frames.at(-1)?.event === 'run.duplicate' ? frames.pop() : undefined;
    return pointer?.data.run_id ?? first?.data.run_id;
  });
}

async function createAndWait(parts: DriverParts, runs: string, key: string, body: object): Promise<string> {
  const run = await insist(parts, 'an accepted run', async (project) => {
    const answer = await project.post(runs, body, { 'idempotency-key': key });
    // The first try has started it, and its server may be gone.
    if (answer.status === 409 && answer.body.error.code === 'idempotency_in_progress') return undefined;
    return accept(parts, answer, [201]);
  });
  return run.body.id;
}

/**
 * Adds frames until one of these types is the last, from wherever they can be had. A pause that was answered is no rest:
 * a connection may break right behind it.
 */
async function readTo(types: readonly string[], parts: DriverParts, run: string, frames: Frame[]): Promise<void> {
  await insist(parts, `the rest of ${run}`, async (project) => {
    const last = frames.at(-1);
    if (last?.event !== undefined && types.includes(last.event)) return true;
    const headers = last?.id === undefined ? {} : { 'last-event-id': String(last.id) };
    const response = await project.open('GET', `${run}/events`, undefined, headers);
    if (response.status !== 200) return refuse(parts, response);
    await keepFrames(response, frames);
    return undefined;
  });
}

/** Keeps what arrives, also of a connection that breaks. */
async function keepFrames(response: Response, frames: Frame[]): Promise<void> {
  try {
    for await (const frame of readFrames(response)) {
      if (frame.id !== undefined || frame.event === 'run.duplicate') frames.push(frame);
    }
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
  }
}

/** Answers every call that the run waits for. An answer whose fate is unknown is given again. */
async function answerCalls(parts: DriverParts, path: string): Promise<void> {
  await insist(parts, `the answers to ${path}`, async (project) => {
    const run = accept(parts, await project.get(path), [200])?.body;
    if (run === undefined || run.status !== 'paused') return run === undefined ? undefined : true;
    const call = run.output.tool_calls.find(({ status }: { status: string }) => status.startsWith('requires_'));
    const answer =
      call.status === 'requires_approval'
        ? { kind: 'approval', tool_call_id: call.id, decision: 'approve' }
        : { kind: 'tool_result', tool_call_id: call.id, result: { answer: call.id } };
    const submitted = await project.post(`${path}/submit`, answer, { prefer: 'respond-async' });
    const code = submitted.status >= 400 ? submitted.body.error.code : undefined;
    if (code !== 'run_not_paused' && code !== 'invalid_state') accept(parts, submitted, [200]);
    return undefined;
  });
}

async function getRun(parts: DriverParts, path: string): Promise<Answer['body']> {
  const answer = await insist(parts, path, async (project) => accept(parts, await project.get(path), [200]));
  return answer.body;
}

/** The answer; undefined when the server asks for another try. Fails for any other. */
function accept(parts: DriverParts, answer: Answer, statuses: readonly number[]): Answer | undefined {
  if (asksForAnotherTry(parts, answer.status)) return undefined;
  assert.ok(statuses.includes(answer.status), `${answer.status} ${answer.text}`);
  return answer;
}

async function refuse(parts: DriverParts, response: Response): Promise<undefined> {
  const text = await response.text();
  assert.ok(asksForAnotherTry(parts, response.status), `${response.status} ${text}`);
}

function asksForAnotherTry({ mayFail }: DriverParts, status: number): boolean {
  return status === 503 || (mayFail === true && status >= 500);
}

/** Asks one server after the other until one gives something. */
export async function insist<T, Place = TestProject>(
  { pick }: { readonly pick: () => Place | undefined },
  what: string,
  attempt: (place: Place) => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const place = pick();
    try {
      const found = place === undefined ? undefined : await attempt(place);
      if (found !== undefined) return found;
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
    }
    if (performance.now() > deadline) assert.fail(`not within ${PATIENCE_MS} ms: ${what}`);
    await wait(RETRY_MS);
  }
}
