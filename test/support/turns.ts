/** What tests of turns keep needing. */
import assert from 'node:assert/strict';
import type { OpenAiUpstream } from '../fakes/openai-upstream.ts';
import type { Answer, TestPlatform, TestProject } from './platform.ts';
import { poll } from './poll.ts';
import { type Frame, readFrames } from './read-frames.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Json = any;

export interface TestSmith {
  readonly project: TestProject;
  readonly id: string;
  /** `/v1/smiths/{id}/runs` */
  readonly runs: string;
  /** Starts a run and waits for its rest. */
  ask(text: string, more?: Record<string, unknown>, headers?: Record<string, string>): Promise<Answer>;
  /** Starts a streamed run. */
  stream(text: string, more?: Record<string, unknown>, signal?: AbortSignal): Promise<Response>;
  /** Starts a run and comes back at once. Returns its id. */
  begin(text: string, more?: Record<string, unknown>): Promise<string>;
  get(runId: string): Promise<Json>;
  submit(runId: string, body: Record<string, unknown>): Promise<Answer>;
  cancel(runId: string): Promise<Answer>;
  /** The run's stream, from the beginning or behind a frame. */
  events(runId: string, lastEventId?: number): Promise<Response>;
  /** Waits until the run is no longer in progress. */
  settled(runId: string): Promise<Json>;
}

/** A smith in a project of its own, or in the given one. */
export async function makeSmith(
  platform: TestPlatform,
  settings: Record<string, unknown> = {},
  project?: TestProject,
): Promise<TestSmith> {
  const owner = project ?? (await platform.createProject());
  return smithOf(owner, await owner.createSmith(settings));
}

export function smithOf(project: TestProject, id: string): TestSmith {
  const runs = `/v1/smiths/${id}/runs`;
  const get = async (runId: string) => (await project.get(`${runs}/${runId}`)).body;
  return {
    project,
    id,
    runs,
    ask: (text, more = {}, headers) => project.post(runs, { ...question(text), ...more }, headers),
    stream: (text, more = {}, signal) =>
      project.open('POST', runs, { ...question(text), ...more, stream: true }, {}, signal),
    async begin(text, more = {}) {
      const begun = await project.post(runs, { ...question(text), ...more }, { prefer: 'respond-async' });
      assert.equal(begun.status, 201, begun.text);
      return begun.body.id;
    },
    get,
    submit: (runId, body) => project.post(`${runs}/${runId}/submit`, body),
    cancel: (runId) => project.post(`${runs}/${runId}/cancel`),
    events: (runId, lastEventId) =>
      project.open(
        'GET',
        `${runs}/${runId}/events`,
        undefined,
        lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) },
      ),
    settled: (runId) =>
      eventually(async () => {
        const run = await get(runId);
        return run.status === 'in_progress' ? undefined : run;
      }, `the run ${runId} rests`),
  };
}

export function question(text: string) {
  return { input: [{ role: 'user', content: text }] };
}

/** A model that a fake upstream serves; no list price. */
export const FAKE_MODEL = 'openai-compatible/small';

/** Points the project's OpenAI-compatible provider at the upstream. */
export async function useUpstream(
  project: Pick<TestProject, 'put'>,
  upstream: OpenAiUpstream,
  provider = 'openai-compatible',
) {
  const path = `/v1/tenant/model_keys/${provider}`;
  const { status, text } = await project.put(path, { api_key: 'sk-test', base_url: upstream.url });
  assert.equal(status, 200, text);
}

/** A smith on a fake upstream's model. */
export async function makeUpstreamSmith(
  platform: TestPlatform,
  upstream: OpenAiUpstream,
  settings: Record<string, unknown> = {},
): Promise<TestSmith> {
  const project = await platform.createProject();
  await useUpstream(project, upstream);
  return makeSmith(platform, { model: FAKE_MODEL, ...settings }, project);
}

/** The body of a request that the upstream received; the last one unless counted from the end (-2) or the start. */
export function sentBody(upstream: OpenAiUpstream, at = -1): Json {
  const body = upstream.requests.at(at)?.body;
  assert.notEqual(body, undefined, 'the upstream received no such request');
  return body;
}

/** The messages of a request as `role: text`. */
export function sentTexts(upstream: OpenAiUpstream, at = -1): string[] {
  return sentBody(upstream, at).messages.map((message: Json) => `${message.role}: ${contentText(message)}`);
}

function contentText({ content, tool_calls }: Json): string {
  if (typeof content === 'string' && content !== '') return content;
  if (Array.isArray(content)) return content.map((part) => part.text ?? `(${part.type})`).join('');
  return (tool_calls ?? []).map((call: Json) => `${call.function.name}(${call.function.arguments})`).join(' ');
}

/** Polls until the probe gives something; fails with `what` after a minute, unless the caller knows that it takes longer. */
export async function eventually<T>(
  probe: () => Promise<T | undefined> | T | undefined,
  what: string,
  withinMs = 60_000,
): Promise<T> {
  return (await poll(probe, withinMs)) ?? assert.fail(`in vain waited until ${what}`);
}

/** Resolves once all of them but one have been answered: the one that the others wait for, or are refused for. */
export async function untilAllButOne(asked: readonly Promise<unknown>[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let open = asked.length;
  for (const one of asked) {
    void one.finally(() => {
      open -= 1;
      if (open === 1) resolve();
    });
  }
  await promise;
}

/** Reads frames until one passes the test, that one included; the stream can be read on. */
export async function framesUntil(frames: AsyncGenerator<Frame>, test: (frame: Frame) => boolean): Promise<Frame[]> {
  const seen: Frame[] = [];
  for (;;) {
    const next = await frames.next();
    if (next.done === true) assert.fail(`the stream ended first, after ${seen.map((frame) => frame.event).join(' ')}`);
    seen.push(next.value);
    if (test(next.value)) return seen;
  }
}

/** Reads frames to their end, into those that were read before. */
export async function readOn(frames: AsyncGenerator<Frame>, seen: Frame[]): Promise<void> {
  for await (const frame of frames) seen.push(frame);
}

/** Opens a response's frames to be read one by one. */
export function openFrames(response: Response): AsyncGenerator<Frame> {
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  return readFrames(response);
}

export const isType = (type: string) => (frame: Frame) => frame.event === type;

/**
 * The answer as a reader of the timeline assembles it: deltas in order, those of a step that was made again dropped.
 * Fails when a number does not increase.
 */
export function assemble(frames: readonly Frame[]): { text: string; reasoning: string; steps: number } {
  let lastId = 0;
  const text = new Map<number, string>();
  const reasoning = new Map<number, string>();
  for (const { id = 0, event, data } of frames) {
    assert.ok(id > lastId, `frame ${id} (${event}) follows ${lastId}`);
    lastId = id;
    if (event === 'run.restarted') {
      for (const pieces of [text, reasoning]) {
        for (const step of [...pieces.keys()]) if (step >= data.data.step) pieces.delete(step);
      }
    }
    const pieces = event === 'message.delta' ? text : event === 'reasoning' ? reasoning : undefined;
    pieces?.set(data.data.step, (pieces.get(data.data.step) ?? '') + data.data.text);
  }
  return { text: [...text.values()].join(''), reasoning: [...reasoning.values()].join(''), steps: text.size };
}

/** A function that the caller of a run serves. */
export function clientTool(name: string, more: Record<string, unknown> = {}) {
  return { name, description: `The tool ${name}`, parameters: { type: 'object', properties: {} }, ...more };
}

const TRIES = 3;

/**
 * Checks that something takes at most so long; `attempt` does it and says how long it took, in milliseconds. It may try
 * again: what is measured is this program, not whatever else the machine does. Code that is too slow is so each time.
 */
export async function withinMs(limitMs: number, attempt: () => Promise<number>): Promise<void> {
  const taken: number[] = [];
  while (taken.length < TRIES) {
    const ms = await attempt();
    if (ms < limitMs) return;
    taken.push(Math.round(ms));
  }
  assert.fail(`took ${taken.join(', ')} ms, never less than ${limitMs} ms`);
}
