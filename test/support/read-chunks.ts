/** Reads a streamed chat completion off the wire, and holds it to what clients of the dialect rely on. */
import assert from 'node:assert/strict';

// biome-ignore lint/suspicious/noExplicitAny: tests look into chunks of every shape.
type Json = any;

export interface ChunkStream {
  readonly chunks: readonly Json[];
  /** The error that stands in place of the rest. */
  readonly error: Json | undefined;
  readonly message: {
    readonly content: string | null;
    readonly reasoning: string;
    readonly refusal: string | null;
    readonly calls: readonly { id: string; name: string; arguments: Json }[];
    readonly annotations: readonly Json[];
  };
  readonly finishReason: string | null;
  readonly usage: Json | undefined;
  readonly ironcraft: Json | undefined;
}

/** Reads the whole stream. Fails where it breaks a rule of the dialect. */
export async function readChunks(response: Response): Promise<ChunkStream> {
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  return parseChunks(await response.text());
}

export function parseChunks(text: string): ChunkStream {
  assert.ok(text.endsWith('\n\n'), 'the last frame is whole');
  const frames = text.slice(0, -2).split('\n\n');
  const payloads = frames.filter((frame) => !frame.startsWith(':')).map(readPayload);
  const isDone = payloads.at(-1) === '[DONE]';
  const parsed: Json[] = (isDone ? payloads.slice(0, -1) : payloads).map((payload) => JSON.parse(payload));
  const error = parsed.at(-1)?.error;
  assert.equal(isDone, error === undefined, 'a stream ends with [DONE] or with an error');
  const chunks = error === undefined ? parsed : parsed.slice(0, -1);
  assert.ok(
    chunks.every((chunk) => chunk.error === undefined),
    'nothing follows an error',
  );
  checkHeads(chunks);
  const withChoice = chunks.filter(({ choices }) => choices.length > 0);
  const deltas = withChoice.map(({ choices }) => choices[0].delta);
  checkOrder(chunks, withChoice, error);
  const finish = withChoice.find(({ choices }) => choices[0].finish_reason !== null);
  return {
    chunks,
    error,
    message: {
      content: joined(deltas, 'content'),
      reasoning: joined(deltas, 'reasoning_content') ?? '',
      refusal: joined(deltas, 'refusal'),
      calls: joinCalls(deltas),
      annotations: deltas.flatMap(({ annotations = [] }) => annotations),
    },
    finishReason: finish?.choices[0].finish_reason ?? null,
    usage: chunks.find(({ choices }) => choices.length === 0)?.usage,
    ironcraft: finish?.ironcraft,
  };
}

function readPayload(frame: string): string {
  // Lines end with CR or LF alone: a text may hold other separators.
  const match = /^data: ([^\r\n]*)$/.exec(frame);
  assert.ok(match, `a frame is one line of data: ${frame}`);
  return match[1] ?? '';
}

function checkHeads(chunks: readonly Json[]): void {
  const [first] = chunks;
  assert.match(first?.id, /^chatcmpl-/);
  for (const { id, object, created, model, choices } of chunks) {
    assert.deepEqual([id, created, model], [first.id, first.created, first.model]);
    assert.equal(object, 'chat.completion.chunk');
    assert.ok(choices.length <= 1);
    for (const { index, finish_reason, logprobs } of choices) {
      assert.deepEqual([index, logprobs], [0, null]);
      assert.notEqual(finish_reason, undefined);
    }
  }
}

function checkOrder(chunks: readonly Json[], withChoice: readonly Json[], error: Json | undefined): void {
  const roles = withChoice.map(({ choices }) => choices[0].delta.role);
  assert.equal(roles[0], 'assistant', 'the first chunk has the role');
  assert.ok(roles.slice(1).every((role) => role === undefined));
  const finished = withChoice.filter(({ choices }) => choices[0].finish_reason !== null);
  assert.equal(finished.length, error === undefined ? 1 : 0, 'one chunk says how it ended');
  if (error === undefined) assert.equal(finished[0], withChoice.at(-1), 'it is the last with a choice');
  const usages = chunks.filter(({ choices }) => choices.length === 0);
  const asked = 'usage' in (chunks[0] ?? {});
  assert.equal(usages.length, asked && error === undefined ? 1 : 0);
  if (usages.length > 0) assert.equal(usages[0], chunks.at(-1), 'the usage comes last');
  for (const chunk of withChoice) assert.equal(chunk.usage, asked ? null : undefined);
}

function joined(deltas: readonly Json[], member: string): string | null {
  const pieces = deltas.map((delta) => delta[member]).filter((piece) => typeof piece === 'string');
  const text = pieces.join('');
  return text === '' ? null : text;
}

function joinCalls(deltas: readonly Json[]) {
  const calls: { id: string; name: string; text: string }[] = [];
  for (const { index, id, type, function: called } of deltas.flatMap(({ tool_calls = [] }) => tool_calls)) {
    if (index === calls.length) {
      assert.ok(id !== undefined && id !== '' && called.name !== '', 'a call begins with its id and name');
      assert.equal(type, 'function');
      calls.push({ id, name: called.name, text: called.arguments });
      continue;
    }
    assert.equal(index, calls.length - 1, 'a fragment belongs to the last call');
    assert.deepEqual([id, called.name], [undefined, undefined]);
    const last = calls.at(-1);
    if (last !== undefined) last.text += called.arguments;
  }
  assert.equal(new Set(calls.map(({ id }) => id)).size, calls.length);
  return calls.map(({ id, name, text }) => ({ id, name, arguments: JSON.parse(text) }));
}
