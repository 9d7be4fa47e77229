import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ChatChunks } from './chat-chunks.ts';

/** What one reader makes of these events. */
function partsOf(events: readonly string[], isOver = false): unknown[] {
  const chunks = new ChatChunks('vllm', []);
  for (const event of events) chunks.read(event);
  if (isOver) chunks.end();
  return chunks.take().filter(({ type }) => type !== 'response-metadata');
}

const head = { id: 'c-1', object: 'chat.completion.chunk', created: 1, model: 'm' };

function chunkOf(delta: object, more: object = {}, choice: object = { finish_reason: null }): object {
  return { ...head, ...more, choices: [{ index: 0, delta, ...choice }] };
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('"', '\\', '\\"', '\n', '", "role": "x', '\u2028', '\ud800'),
);

const delta = fc.oneof(
  { arbitrary: text.map((content): object => ({ content })), weight: 6 },
  text.map((content) => ({ role: 'assistant', content, reasoning_content: null })),
  text.map((reasoning_content) => ({ reasoning_content })),
  fc.tuple(text, text).map(([content, reasoning_content]) => ({ content, reasoning_content })),
  fc.constantFrom({}, { content: null }, { content: [{ type: 'text', text: 'listed' }] }, { content: 7 }),
);

const chunk = fc
  .tuple(
    delta,
    fc.constantFrom(
      {},
      {},
      {},
      { usage: null },
      { usage: { prompt_tokens: 1 } },
      { created: 2 },
      { error: { message: 'no' } },
    ),
    fc.constantFrom(
      { finish_reason: null },
      { finish_reason: null },
      {},
      { finish_reason: 'stop' },
      { finish_reason: 'length' },
    ),
  )
  .map(([said, more, choice]) => chunkOf(said, more, choice));

test('a chunk says the same whether it is parsed or read as one like the last', () => {
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 30 }), fc.constantFrom(undefined, 1), (sent, indent) => {
      // With an indent the members are set apart, so that no two of these streams are read by the same shape.
      const write = (each: object) => JSON.stringify(each, undefined, indent).replaceAll('\n', '');
      const read = partsOf(sent.map(write), true);
      // Another id each time: every chunk has to be parsed.
      const parsed = partsOf(
        sent.map((each, at) => write({ ...each, id: `c-${at}` })),
        true,
      );
      assert.deepEqual(stripCauses(read), stripCauses(parsed));
    }),
    { numRuns: 1_000 },
  );
});

function stripCauses(parts: readonly unknown[]): unknown[] {
  return parts.map((part) => (Object(part).type === 'error' ? { type: 'error' } : part));
}

test('what is cut off or not JSON is no repetition', () => {
  const first = JSON.stringify(chunkOf({ content: 'Hello' }));
  const broken = first.replace('Hello', 'He\tllo');
  assert.equal((partsOf([first, first, broken]).at(-1) as { type: string }).type, 'error');
  assert.equal((partsOf([first, first, first.slice(0, -1)]).at(-1) as { type: string }).type, 'error');
  const doubled = first.replace('"content":"Hello"', '"content":"Hello","content":"again"');
  assert.deepEqual(
    partsOf([first, doubled, doubled]).flatMap((part) => (part as { delta?: string }).delta ?? []),
    ['Hello', 'again', 'again'],
  );
});
