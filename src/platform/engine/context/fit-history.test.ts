import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LanguageModelV4Message } from '@ai-sdk/provider';
import fc from 'fast-check';
import { estimatePromptTokens } from '../../models/index.ts';
import type { StoredMessage } from '../turn.ts';
import { cutLargest, findLevel, fitHistory, sumTokens } from './fit-history.ts';

function message(turn: number, role: StoredMessage['role'], content: StoredMessage['content']): StoredMessage {
  const tokens = estimatePromptTokens([{ role, content } as LanguageModelV4Message]);
  return { turn, position: 0, role, content, tokens };
}

const words = fc.array(fc.lorem({ maxCount: 12, mode: 'words' }), { maxLength: 400 }).map((all) => all.join(' '));
const file = fc.constant({
  type: 'file' as const,
  mediaType: 'image/png',
  data: { type: 'data' as const, data: 'AAAA' },
});
const text = words.map((value) => ({ type: 'text' as const, text: value }));
const call = words.map((body) => ({
  type: 'tool-call' as const,
  toolCallId: 'c1',
  toolName: 'save',
  input: { body, list: [body, 5] },
}));
const output = fc.oneof(
  words.map((value) => ({ type: 'text' as const, value })),
  words.map((value) => ({ type: 'error-text' as const, value })),
  words.map((value) => ({ type: 'json' as const, value: { rows: [value, { value }] } })),
);
const result = output.map((each) => ({
  type: 'tool-result' as const,
  toolCallId: 'c1',
  toolName: 'save',
  output: each,
}));

const messages = fc
  .array(
    fc.oneof(
      fc.array(fc.oneof(text, file), { minLength: 1, maxLength: 4 }).map((parts) => message(2, 'user', parts)),
      fc.array(fc.oneof(text, call), { minLength: 1, maxLength: 3 }).map((parts) => message(2, 'assistant', parts)),
      result.map((part) => message(2, 'tool', [part])),
    ),
    { minLength: 1, maxLength: 60 },
  )
  .map((all) => [...all, message(2, 'user', [{ type: 'text', text: 'The question' }])])
  .map((all) => all.map((each, position) => ({ ...each, position })));

test('whatever a turn holds, it is cut to the room; the question stays and sizes are told truly', () => {
  fc.assert(
    fc.property(messages, fc.integer({ min: 256, max: 8_000 }), (all, room) => {
      const { messages: kept, cut } = cutLargest(all, room);
      assert.equal(cut, sumTokens(all) > room);
      assert.ok(sumTokens(kept) <= room, `${sumTokens(kept)} tokens in a room of ${room}`);
      for (const each of kept) {
        const { role, content } = each;
        assert.equal(each.tokens, estimatePromptTokens([{ role, content } as LanguageModelV4Message]));
      }
      assert.ok(kept.some(({ content }) => JSON.stringify(content).includes('The question')));
      // In the order in which they came.
      const order = kept.map(({ position }) => position);
      assert.deepEqual(
        order,
        [...new Set(order)].sort((a, b) => a - b),
      );
    }),
    { numRuns: 150 },
  );
});

test('a cut text keeps its beginning and its end, whole characters and the ids of its call', () => {
  const long = `Begin ${'👋 wave '.repeat(3_000)}end`;
  const [user, assistant, tool] = cutLargest(
    [
      message(1, 'user', [{ type: 'text', text: long }]),
      message(1, 'assistant', [{ type: 'tool-call', toolCallId: 'c1', toolName: 'save', input: { value: long } }]),
      message(1, 'tool', [
        { type: 'tool-result', toolCallId: 'c1', toolName: 'save', output: { type: 'json', value: { text: long } } },
      ]),
    ],
    2_000,
  ).messages;
  const shown = JSON.stringify(user);
  assert.match(shown, /Begin/);
  assert.match(shown, /end"/);
  assert.match(shown, /cut to fit/);
  assert.ok(shown.isWellFormed());
  assert.match(JSON.stringify(assistant), /"toolCallId":"c1","toolName":"save","input":\{"value":"Begin/);
  assert.match(JSON.stringify(tool), /"toolCallId":"c1","toolName":"save","output":\{"type":"text","value":/);
});

test('the level is the largest under which all fit', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1 }),
      fc.integer({ min: 1, max: 5_000 }),
      (sizes, room) => {
        const level = findLevel(sizes, room);
        const within = (limit: number) => sizes.reduce((sum, size) => sum + Math.min(size, limit), 0);
        if (within(Number.POSITIVE_INFINITY) <= room) return assert.equal(level, Number.POSITIVE_INFINITY);
        assert.ok(level === 1 || within(level) <= room);
        assert.ok(within(level + 1) > room);
      },
    ),
  );
});

const turns = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 400 })), { minLength: 1, maxLength: 40 })
  .map((sizes) =>
    sizes.flatMap(([question, answer], index): StoredMessage[] => [
      { turn: index + 1, position: 0, role: 'user', content: [], tokens: question },
      { turn: index + 1, position: 1, role: 'assistant', content: [], tokens: answer },
    ]),
  );

test('whole turns are folded, oldest first, and only when not everything fits', () => {
  fc.assert(
    fc.property(turns, fc.integer({ min: 200, max: 6_000 }), (all, room) => {
      const current = all.at(-1)?.turn ?? 0;
      const history = { summary: null, summaryTurn: 0, messages: all };
      const { folded, kept, foldedTurn } = fitHistory(history, current, room);
      assert.deepEqual([...folded, ...kept], all);
      if (sumTokens(all) <= room) return assert.deepEqual(folded, []);
      assert.equal(foldedTurn, folded.at(-1)?.turn ?? 0);
      assert.ok(folded.every(({ turn }) => turn <= foldedTurn && turn < current));
      assert.ok(kept.every(({ turn }) => turn > foldedTurn));
      const earlier = kept.filter(({ turn }) => turn !== current);
      const own = kept.filter(({ turn }) => turn === current);
      if (earlier.length > 0) assert.ok(sumTokens(earlier) + sumTokens(own) <= room / 2);
    }),
  );
});
