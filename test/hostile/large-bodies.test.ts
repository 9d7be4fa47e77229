/** JSON bodies at and above what one may hold, and JSON in the strings of one, which the same limits hold for. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertRefusal } from '../conformance/assert-refusal.ts';
import { startPlatform } from '../support/platform.ts';

const MAX_VALUES = 100_000;

const platform = await startPlatform();
after(() => platform.close());
const project = await platform.createProject();
const smithId = await project.createSmith();
const smith = project.as(await project.smithToken(smithId, ['runs:read', 'runs:write']));

describe('objects, lists and texts of a body', () => {
  // The body, its member's name, its list and the values of that.
  const bodyOf = (values: number) =>
    `{"texts":[${Array(values - 3)
      .fill('""')
      .join(',')}]}`;

  test('at the limit are read', async () => {
    const answer = await project.post('/v1/customers', bodyOf(MAX_VALUES));
    assertRefusal(answer, 422, 'name_required', 'name');
  });

  test('above the limit are refused with the limit', async () => {
    const answer = await project.post('/v1/customers', bodyOf(MAX_VALUES + 1));
    assertRefusal(answer, 422, 'invalid_request', null);
    assert.match(answer.body.error.message, /more than 100000 objects, lists and texts/);
  });

  test('numbers are not counted: tokens come by the hundred thousand', async () => {
    const tokens = Array.from({ length: 300_001 }, () => 1).join(',');
    const answer = await project.post('/v1/embeddings', `{"model":"builtin/embed","input":[${tokens}]}`);
    assertRefusal(answer, 422, 'invalid_input', 'input');
    assert.match(answer.body.error.message, /300001 tokens/);
  });
});

test('a number has as many characters as are allowed, and not one more', async () => {
  const bodyOf = (digits: number) => `{"name":"Ada","metadata":{"a":${'1'.repeat(digits)}}}`;
  assert.equal((await project.post('/v1/customers', bodyOf(1_000))).status, 201);
  const refused = await project.post('/v1/customers', bodyOf(1_001));
  assertRefusal(refused, 422, 'invalid_request', null);
  assert.match(refused.body.error.message, /more than 1000 characters/);
});

describe('arguments of an earlier call, as text in a body,', () => {
  const hostile = {
    'nested without end': `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    'of a million objects': `{"a":[${'{},'.repeat(1_000_000)}{}]}`,
  };
  const call = (text: string) => ({ type: 'function_call', call_id: 'c1', name: 'f', arguments: text });
  const surfaces = {
    'chat completions': (text: string) =>
      smith.post('/v1/chat/completions', {
        model: 'builtin/demo',
        messages: [
          { role: 'user', content: 'Hello' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: text } }],
          },
          { role: 'tool', tool_call_id: 'c1', content: 'done' },
        ],
      }),
    responses: (text: string) =>
      smith.post('/v1/responses', {
        model: 'builtin/demo',
        input: [
          { role: 'user', content: 'Hello' },
          call(text),
          { type: 'function_call_output', call_id: 'c1', output: 'done' },
        ],
      }),
  };
  for (const [surface, send] of Object.entries(surfaces)) {
    for (const [what, text] of Object.entries(hostile)) {
      test(`${what} are refused by ${surface}`, async () => {
        const answer = await send(text);
        assert.equal(answer.status, 422, answer.text.slice(0, 300));
        assert.match(answer.body.error.param, /arguments$/);
      });
    }

    test(`of two hundred members are taken by ${surface}`, async () => {
      const members = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`member_${index}`, [index]]));
      const answer = await send(JSON.stringify(members));
      assert.equal(answer.status, 200, answer.text.slice(0, 300));
    });
  }
});
