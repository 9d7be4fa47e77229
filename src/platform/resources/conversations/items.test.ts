import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { uploadFile } from '../../../../test/conformance/world.ts';
import { type OpenAiUpstream, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { type Client, startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { clientTool, makeSmith, makeUpstreamSmith, sentTexts, type TestSmith } from '../../../../test/support/turns.ts';
import {
  fileSearchItemId,
  functionCallItemId,
  functionCallOutputItemId,
  inputItemId,
  messageItemId,
  reasoningItemId,
} from '../../surfaces/openai/item-ids.ts';

let platform: TestPlatform;
let upstream: OpenAiUpstream;
before(async () => {
  platform = await startPlatform();
  upstream = await startOpenAiUpstream();
});
after(async () => {
  await platform.close();
  await upstream.close();
});

interface Item extends Record<string, unknown> {
  readonly id: string;
  readonly type: string;
}

interface TestConversation {
  readonly smith: TestSmith;
  readonly id: string;
  readonly path: string;
  readonly items: OpenAI['conversations']['items'];
  /** In the order in which they were said. */
  list(): Promise<Item[]>;
  add(...items: readonly Record<string, unknown>[]): ReturnType<Client['post']>;
  remove(itemId: string): ReturnType<Client['post']>;
}

async function converse(smith: TestSmith): Promise<TestConversation> {
  const { project } = smith;
  const { body, text } = await project.post('/v1/conversations', {}, { 'ic-smith-id': smith.id });
  assert.match(body.id, /^cnv_/, text);
  const path = `/v1/conversations/${body.id}`;
  const client = new OpenAI({ baseURL: `${platform.url}/v1`, apiKey: project.token, maxRetries: 0 });
  return {
    smith,
    id: body.id,
    path,
    items: client.conversations.items,
    async list() {
      const all: Item[] = [];
      for await (const item of client.conversations.items.list(body.id, { order: 'asc', limit: 3 })) {
        all.push(item as never);
      }
      return all;
    },
    add: (...items) => project.post(`${path}/items`, { items }),
    remove: (itemId) => project.delete(`${path}/items/${itemId}`),
  };
}

const say = (text: string, role = 'user') => ({ role, content: text });

describe('items that a client adds', () => {
  test('come back in order, one by one and in pages, until they are deleted', async () => {
    const conversation = await converse(await makeSmith(platform));
    const { items, id } = conversation;
    const added = await items.create(id, {
      items: [
        { type: 'message', role: 'user', content: 'Where is it?' },
        { type: 'reasoning', id: 'rs_theirs', summary: [{ type: 'summary_text', text: 'A place.' }] },
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":"map"}' },
        { type: 'function_call_output', call_id: 'c1', output: 'Nowhere' },
        { role: 'developer', content: 'Be brief.' },
        {
          type: 'message',
          role: 'assistant',
          id: 'msg_theirs',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Nowhere.', annotations: [] }],
        },
      ],
    });
    const shapes = added.data.map(({ id: _, ...rest }) => rest);
    assert.deepEqual(shapes, [
      {
        type: 'message',
        status: 'completed',
        role: 'user',
        content: [{ type: 'input_text', text: 'Where is it?' }],
      },
      { type: 'reasoning', status: 'completed', summary: [{ type: 'summary_text', text: 'A place.' }] },
      { type: 'function_call', status: 'completed', call_id: 'c1', name: 'look', arguments: '{"at":"map"}' },
      { type: 'function_call_output', status: 'completed', call_id: 'c1', output: 'Nowhere' },
      { type: 'message', status: 'completed', role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] },
      {
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Nowhere.', annotations: [], logprobs: [] }],
      },
    ]);
    assert.deepEqual([added.first_id, added.last_id, added.has_more], [added.data[0]?.id, added.data[5]?.id, false]);
    assert.deepEqual(await conversation.list(), added.data);
    const newest: unknown[] = [];
    for await (const item of items.list(id, { limit: 1 })) newest.push(item);
    assert.deepEqual(newest, added.data.toReversed());
    for (const item of added.data) {
      const itemId = (item as never as Item).id;
      assert.deepEqual(await items.retrieve(itemId, { conversation_id: id }), item);
    }
    const [, reasoning, call] = added.data as never as Item[];
    assert.ok(reasoning && call);
    const left = await items.delete(reasoning.id, { conversation_id: id });
    assert.deepEqual([left.id, left.object], [id, 'conversation']);
    await assert.rejects(items.retrieve(reasoning.id, { conversation_id: id }), { status: 404, code: 'not_found' });
    await assert.rejects(items.delete(reasoning.id, { conversation_id: id }), { status: 404, code: 'not_found' });
    assert.deepEqual(
      await conversation.list(),
      added.data.filter((item) => item !== (reasoning as never)),
    );
    const behind = await items.list(id, { order: 'asc', after: reasoning.id, limit: 1 });
    assert.equal((behind.data[0] as never as Item).id, call.id, 'a deleted item still is a place');
  });

  test('with files, show them again: addresses, bytes and the ids of uploads', async () => {
    const smith = await makeSmith(platform);
    const conversation = await converse(smith);
    const fileId = await uploadFile(smith.project);
    const added = await conversation.add({
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look' },
        { type: 'input_image', image_url: 'https://example.com/a.png' },
        { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
        { type: 'input_file', file_id: fileId },
      ],
    });
    assert.equal(added.status, 200, added.text);
    assert.deepEqual(added.body.data[0].content, [
      { type: 'input_text', text: 'Look' },
      { type: 'input_image', detail: 'auto', image_url: 'https://example.com/a.png' },
      { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
      { type: 'input_file', filename: 'notes.txt', file_id: fileId },
    ]);
    assert.deepEqual(await conversation.list(), added.body.data);
  });

  test('are seen by the next turn, which the built-in model shows by quoting them', async () => {
    const smith = await makeSmith(platform);
    const conversation = await converse(smith);
    await conversation.add(say('The harbour code is 4711.', 'developer'), say('Noted.', 'assistant'));
    const answer = await smith.ask('What is the harbour code?', { thread_id: conversation.id });
    assert.match(answer.body.output.content, /4711/);
  });

  test('stand in the prompt as they were added, results behind their calls', async () => {
    const smith = await makeUpstreamSmith(platform, upstream);
    const conversation = await converse(smith);
    await conversation.add(
      say('Look at both'),
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
      { type: 'function_call', call_id: 'b', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'b', output: 'B' },
      { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'A' }] },
    );
    await conversation.add({ type: 'function_call', call_id: 'c', name: 'find', arguments: '{}' });
    const late = await conversation.add({ type: 'function_call_output', call_id: 'c', output: 'C' });
    assert.equal(late.status, 200, late.text);
    await conversation.add({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] });
    upstream.respondWith([{ type: 'answer', deltas: ['Done'] }]);
    await smith.ask('And now?', { thread_id: conversation.id });
    assert.deepEqual(sentTexts(upstream), [
      'user: Look at both',
      'assistant: look({})',
      'tool: A',
      'assistant: look({})',
      'tool: B',
      'assistant: find({})',
      'tool: C',
      'user: And now?',
    ]);
  });

  const bad: readonly (readonly [what: string, items: unknown, code: string, param: string])[] = [
    ['none', [], 'invalid_request', 'items'],
    ['21', Array.from({ length: 21 }, () => say('x')), 'invalid_request', 'items'],
    ['one of an unknown type', [say('x'), { type: 'item_reference', id: 'msg_1' }], 'invalid_input', 'items.1.type'],
    ['a message of nobody', [{ content: 'x' }], 'invalid_input', 'items.0.role'],
    ['a message of a stranger', [say('x', 'critic')], 'invalid_input', 'items.0.role'],
    ['a message without content', [say('x'), { role: 'user' }], 'invalid_input', 'items.1.content'],
    [
      'a part of an unknown type',
      [{ role: 'user', content: [{ type: 'smell' }] }],
      'invalid_input',
      'items.0.content.0.type',
    ],
    [
      'a call whose arguments are no JSON',
      [{ type: 'function_call', call_id: 'a', name: 'f', arguments: '{' }],
      'invalid_input',
      'items.0.arguments',
    ],
    [
      'an answer to no call',
      [{ type: 'function_call_output', call_id: 'z', output: 'x' }],
      'invalid_input',
      'items.0.call_id',
    ],
    [
      'a file that is not there',
      [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_0' }] }],
      'invalid_input',
      'items.0.content',
    ],
  ];
  for (const [what, items, code, param] of bad) {
    test(`are refused when there are ${what}, and none is kept`, async () => {
      const conversation = await converse(await makeSmith(platform));
      const answer = await conversation.smith.project.post(`${conversation.path}/items`, { items });
      assert.deepEqual(
        [answer.status, answer.body.error.code, answer.body.error.param],
        [422, code, param],
        answer.text,
      );
      assert.deepEqual(await conversation.list(), []);
    });
  }
});

describe('items of a turn', () => {
  test('are those of its response, to the id', async () => {
    const conversation = await converse(await makeSmith(platform));
    const { project } = conversation.smith;
    const answer = await project.post(
      '/v1/responses',
      {
        conversation: conversation.id,
        input: [say('Think about rivers')],
      },
      { 'ic-smith-id': conversation.smith.id },
    );
    assert.equal(answer.status, 200, answer.text);
    const items = await conversation.list();
    assert.deepEqual(items.slice(1), answer.body.output);
    assert.deepEqual(
      items.map(({ type }) => type),
      ['message', 'reasoning', 'message'],
    );
  });

  test('have the ids that its response shows: thoughts, words, parallel calls and their results', async () => {
    const smith = await makeUpstreamSmith(platform, upstream);
    const conversation = await converse(smith);
    upstream.respondWith([
      {
        type: 'answer',
        reasoning: ['Two ', 'things.'],
        deltas: ['Let me ', 'look.'],
        toolCalls: [
          { id: 'call_a', name: 'look', arguments: '{"at":1}' },
          { id: 'call_b', name: 'look', arguments: '{"at":2}' },
        ],
      },
      { type: 'answer', deltas: ['Both ', 'seen.'] },
    ]);
    const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };
    const run = (
      await smith.project.post(smith.runs, {
        thread_id: conversation.id,
        input: [{ role: 'user', content: [{ type: 'input_text', text: 'Look at these' }, image] }],
        tools: [clientTool('look')],
      })
    ).body;
    assert.equal(run.status, 'paused', JSON.stringify(run));
    const early = await conversation.add({ type: 'function_call_output', call_id: 'call_a', output: 'x' });
    assert.deepEqual([early.status, early.body.error.code], [409, 'invalid_state'], early.text);
    for (const [callId, result] of [
      ['call_a', { seen: 'a' }],
      ['call_b', { seen: 'b' }],
    ]) {
      const answer = await smith.submit(run.id, { kind: 'tool_result', tool_call_id: callId, result });
      assert.ok(answer.status < 300, answer.text);
    }
    const items = await conversation.list();
    assert.deepEqual(
      items.map(({ id, type }) => [id, type]),
      [
        [inputItemId(run.id, 0), 'message'],
        [reasoningItemId(run.id, 0), 'reasoning'],
        [messageItemId(run.id, 0), 'message'],
        [functionCallItemId(run.id, 'call_a'), 'function_call'],
        [functionCallItemId(run.id, 'call_b'), 'function_call'],
        [functionCallOutputItemId(run.id, 'call_a'), 'function_call_output'],
        [functionCallOutputItemId(run.id, 'call_b'), 'function_call_output'],
        [messageItemId(run.id, 3), 'message'],
      ],
    );
    const [asked] = items;
    assert.ok(asked);
    const [text, picture] = asked.content as Record<string, unknown>[];
    assert.deepEqual(text, { type: 'input_text', text: 'Look at these' });
    assert.match(String(picture?.file_id), /^file_/);
    assert.deepEqual(picture, { type: 'input_image', detail: 'auto', file_id: picture?.file_id });
    assert.deepEqual(items[1]?.summary, [{ type: 'summary_text', text: 'Two things.' }]);
    assert.equal(items[3]?.arguments, '{"at":1}');
    assert.equal(items[5]?.output, '{"seen":"a"}');
    for (const item of items) {
      assert.deepEqual(await conversation.items.retrieve(item.id, { conversation_id: conversation.id }), item);
    }

    // What is deleted is gone from lists and from later prompts; the others keep their ids.
    const gone = [items[1], items[2], items[4], items[6]].flatMap((item) => (item === undefined ? [] : [item.id]));
    for (const itemId of gone) assert.equal((await conversation.remove(itemId)).status, 200);
    assert.deepEqual(
      await conversation.list(),
      items.filter(({ id }) => !gone.includes(id)),
    );
    upstream.respondWith([{ type: 'answer', deltas: ['Fine.'] }]);
    await smith.ask('Again?', { thread_id: conversation.id });
    assert.deepEqual(sentTexts(upstream), [
      'user: Look at these(image_url)',
      'assistant: look({"at":1})',
      'tool: {"seen":"a"}',
      'assistant: Both seen.',
      'user: Again?',
    ]);

    // A message of which nothing is left holds the place of the answer behind it.
    const [, call] = await conversation.list();
    assert.equal((await conversation.remove(String(call?.id))).status, 200);
    const last = await conversation.list();
    assert.deepEqual(
      last.slice(1, 3).map(({ id }) => id),
      [functionCallOutputItemId(run.id, 'call_a'), messageItemId(run.id, 3)],
    );
  });

  test('that searched files are one search each, whose passages go with it', async () => {
    const smith = await makeUpstreamSmith(platform, upstream);
    const conversation = await converse(smith);
    const { body: run } = await smith.ask('Hello', { thread_id: conversation.id });
    await platform.db.query({
      text: `update runs set config = config || '{"file_search": {"vector_store_ids": []}}' where id = $1`,
      values: [run.id],
    });
    const call = { type: 'tool-call', toolCallId: 's1', toolName: 'file_search', input: { query: 'rivers' } };
    const result = {
      type: 'tool-result',
      toolCallId: 's1',
      toolName: 'file_search',
      output: { type: 'json', value: {} },
    };
    for (const [position, role, part] of [
      [2, 'assistant', call],
      [3, 'tool', result],
    ] as const) {
      await platform.db.query({
        text: `insert into messages (project_id, smith_id, thread_id, turn, position, run_id, role, content, tokens)
               values ($1, $2, $3, 1, $4, $5, $6, $7, 1)`,
        values: [smith.project.projectId, smith.id, conversation.id, position, run.id, role, JSON.stringify([part])],
      });
    }
    const search = (await conversation.list()).at(-1);
    const id = fileSearchItemId(run.id, 's1');
    assert.deepEqual(search, { id, type: 'file_search_call', status: 'completed', queries: ['rivers'], results: null });
    assert.equal((await conversation.remove(id)).status, 200);
    const { rows } = await platform.db.query<{ content: unknown }>({
      text: 'select content from messages where run_id = $1 and position >= 2',
      values: [run.id],
    });
    assert.deepEqual(
      rows.map(({ content }) => content),
      [[], []],
    );
  });

  test('of another conversation are not found in this one, and are no places of its list', async () => {
    const smith = await makeSmith(platform);
    const [one, other] = [await converse(smith), await converse(smith)];
    await one.add(say('Here'));
    await smith.ask('Write 2 words', { thread_id: one.id });
    for (const { id } of await one.list()) {
      const answer = await smith.project.get(`${other.path}/items/${id}`);
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found']);
      const page = await smith.project.get(`${other.path}/items?after=${id}`);
      assert.deepEqual([page.status, page.body.error.code], [422, 'invalid_cursor']);
    }
  });
});

test('a deleted item that was summarized is told of no more', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const conversation = await converse(smith);
  const secret = (await conversation.add(say('The secret is plum.'))).body.data[0].id;
  await conversation.add(say('The weather is fine.'));
  await platform.db.query({
    text: `update threads set summary = 'They spoke of plum.', summary_turn = 2 where id = $1`,
    values: [conversation.id],
  });
  await conversation.remove(secret);
  upstream.respondWith([{ type: 'answer', deltas: ['Yes.'] }]);
  await smith.ask('And?', { thread_id: conversation.id });
  assert.deepEqual(sentTexts(upstream), ['user: The weather is fine.', 'user: And?']);
});

test('a list walked page by page while its items are deleted meets each once', async () => {
  const smith = await makeSmith(platform);
  const conversation = await converse(smith);
  await conversation.add(...Array.from({ length: 5 }, (_, index) => say(`Note ${index}`)));
  await smith.ask('Write 2 words', { thread_id: conversation.id });
  const all = (await conversation.list()).map(({ id }) => id);
  const met: string[] = [];
  for await (const item of conversation.items.list(conversation.id, { limit: 2 })) {
    const { id } = item as never as Item;
    met.push(id);
    await conversation.items.delete(id, { conversation_id: conversation.id });
  }
  assert.deepEqual(met, all.toReversed());
  assert.deepEqual(await conversation.list(), []);
});

describe('items that are added while turns run', () => {
  test('are all kept, in turns of their own, and the next turn sees them', async () => {
    const smith = await makeSmith(platform);
    const conversation = await converse(smith);
    const thread = { thread_id: conversation.id };
    const runId = await smith.begin('Write 40 words at 100 words per second', thread);
    const added = await Promise.all(
      Array.from({ length: 12 }, (_, index) => conversation.add(say(`Note ${index}`), say('Noted', 'assistant'))),
    );
    for (const answer of added) assert.equal(answer.status, 200, answer.text);
    await smith.settled(runId);
    // Turns start among those who add.
    const more = Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        for (let nth = 0; nth < 4; nth += 1) {
          const answer = await conversation.add(say(`More ${index}.${nth}`));
          assert.equal(answer.status, 200, answer.text);
        }
      }),
    );
    for (let started = 0; started < 6; started += 1) {
      const answer = await smith.ask('Write 1 word', thread);
      assert.equal(answer.status, 201, answer.text);
    }
    await more;
    const texts = (await conversation.list()).map(({ content }) => (content as { text: string }[])[0]?.text ?? '');
    assert.equal(texts.filter((text) => text.startsWith('Note ')).length, 12);
    assert.equal(new Set(texts.filter((text) => text.startsWith('More '))).size, 24);
    const { rows } = await platform.db.query<{ turns: number; used: number; latest: number }>({
      text: `
        select t.turns, count(distinct m.turn) as used, max(m.turn) as latest
        from threads t join messages m on m.thread_id = t.id and m.project_id = t.project_id
        where t.id = $1 group by t.turns`,
      values: [conversation.id],
    });
    assert.deepEqual(rows, [{ turns: 43, used: 43, latest: 43 }]);
    const { rows: shared } = await platform.db.query({
      text: `select turn from messages where thread_id = $1 group by turn having count(distinct coalesce(run_id, '')) > 1`,
      values: [conversation.id],
    });
    assert.deepEqual(shared, []);
  });
});
