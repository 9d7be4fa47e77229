import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { missingId } from '../../../../test/conformance/world.ts';
import { startLately } from '../../../../test/support/lately.ts';
import { type Client, startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { sweepDeletedConversations } from './purge-conversation.ts';

const isLately = startLately();

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

const PERMISSIONS = ['conversations:read', 'conversations:write', 'runs:read', 'runs:write'];

function openAi(token: string): OpenAI {
  return new OpenAI({ baseURL: `${platform.url}/v1`, apiKey: token, maxRetries: 0 });
}

async function makeSmith(): Promise<{ p: TestProject; smithId: string; smith: Client }> {
  const p = await platform.createProject();
  const smithId = await p.createSmith();
  return { p, smithId, smith: p.as(await p.smithToken(smithId, PERMISSIONS)) };
}

async function countMessages(projectId: string, threadId: string): Promise<number> {
  const { rows } = await platform.db.query<{ count: number }>({
    text: 'select count(*) as count from messages where project_id = $1 and thread_id = $2',
    values: [projectId, threadId],
  });
  return rows[0]?.count ?? -1;
}

describe('a conversation, through the official client', () => {
  test('is created, retrieved, updated and deleted', async () => {
    const { smithId, smith } = await makeSmith();
    const { conversations } = openAi(smith.token);
    const created = await conversations.create({ metadata: { topic: 'demo' } });
    assert.match(created.id, /^cnv_/);
    const { id, created_at, updated_at, ...rest } = created as never as Record<string, unknown>;
    assert.deepEqual(rest, {
      object: 'conversation',
      title: null,
      smith_id: smithId,
      metadata: { topic: 'demo' },
    });
    assert.ok(Number.isInteger(created_at) && isLately(Number(created_at) * 1_000));
    assert.equal(updated_at, created_at);
    assert.deepEqual(await conversations.retrieve(String(id)), created);
    const updated = await conversations.update(String(id), { metadata: { other: 'x' } });
    assert.deepEqual(updated.metadata, { other: 'x' });
    assert.deepEqual(await conversations.delete(String(id)), { id, object: 'conversation.deleted', deleted: true });
    await assert.rejects(conversations.retrieve(String(id)), { status: 404, code: 'conversation_not_found' });
  });

  test('begins with the items that it is given', async () => {
    const { smith } = await makeSmith();
    const client = openAi(smith.token);
    const { id } = await client.conversations.create({
      items: [
        { type: 'message', role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi' },
      ],
    });
    const texts: unknown[] = [];
    for await (const item of client.conversations.items.list(id, { order: 'asc' })) {
      assert.equal(item.type, 'message');
      if (item.type === 'message') texts.push([item.role, item.content]);
    }
    assert.deepEqual(texts, [
      ['user', [{ type: 'input_text', text: 'Hello' }]],
      ['assistant', [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }]],
    ]);
  });
});

describe('whose conversation it is', () => {
  test('with a tenant token, `IC-Smith-Id` or `user` says', async () => {
    const p = await platform.createProject();
    const smithId = await p.createSmith({ external_id: 'ada' });
    const named = await p.post('/v1/conversations', {}, { 'ic-smith-id': smithId });
    assert.deepEqual([named.status, named.body.smith_id], [200, smithId], named.text);
    const byUser = await p.post('/v1/conversations', { user: 'ada', title: 'Plans' });
    assert.deepEqual([byUser.status, byUser.body.smith_id, byUser.body.title], [200, smithId, 'Plans']);
    const refused: readonly (readonly [Record<string, unknown>, Record<string, string>, number, string])[] = [
      [{}, {}, 422, 'smith_required'],
      [{ user: 'bob' }, {}, 404, 'smith_unresolved'],
      [{}, { 'ic-smith-id': missingId('smt') }, 404, 'smith_unresolved'],
      [{}, { 'ic-agent-id': missingId('agt') }, 422, 'user_required'],
    ];
    for (const [body, headers, status, code] of refused) {
      const answer = await p.post('/v1/conversations', body, headers);
      assert.deepEqual([answer.status, answer.body.error.code], [status, code], answer.text);
    }
  });

  test('`user` with `IC-Agent-Id` makes the smith with it', async () => {
    const p = await platform.createProject();
    const agent = await p.post('/v1/agents', { name: 'Helper', model: 'builtin/demo' });
    await p.post(`/v1/agents/${agent.body.id}/versions`, {});
    const headers = { 'ic-agent-id': agent.body.id };
    const first = await p.post('/v1/conversations', { user: 'eve' }, headers);
    assert.equal(first.status, 200, first.text);
    const second = await p.post('/v1/conversations', { user: 'eve' }, headers);
    assert.equal(second.body.smith_id, first.body.smith_id);
    const spoiled = await p.post('/v1/conversations', { user: 'mallory', items: [{ type: 'nonsense' }] }, headers);
    assert.equal(spoiled.status, 422, spoiled.text);
    const smiths = await p.get('/v1/smiths?external_id=mallory');
    assert.deepEqual(smiths.body.data, []);
  });

  test('another smith’s, another project’s, and an archived smith’s are as if they never were', async () => {
    const { p, smithId, smith } = await makeSmith();
    const otherId = await p.createSmith();
    const other = await p.post('/v1/conversations', {}, { 'ic-smith-id': otherId });
    const own = await smith.post('/v1/conversations', {});
    assert.equal(own.body.smith_id, smithId);
    const stranger = await platform.createProject();
    const path = `/v1/conversations/${other.body.id}`;
    const missing = `/v1/conversations/${missingId('cnv')}`;
    for (const caller of [smith, stranger]) {
      const calls: readonly ((at: string) => ReturnType<Client['get']>)[] = [
        (at) => caller.get(at),
        (at) => caller.post(at, { title: 'Mine' }),
        (at) => caller.delete(at),
        (at) => caller.get(`${at}/items`),
        (at) => caller.post(`${at}/items`, { items: [{ role: 'user', content: 'Hi' }] }),
        (at) => caller.get(`${at}/items/msg_1`),
        (at) => caller.delete(`${at}/items/msg_1`),
      ];
      for (const call of calls) {
        const [foreign, absent] = [await call(path), await call(missing)];
        assert.deepEqual([foreign.status, foreign.body.error.code], [404, 'conversation_not_found'], foreign.text);
        assert.equal(foreign.text, absent.text);
      }
    }
    assert.deepEqual(
      (await smith.get('/v1/conversations')).body.data.map(({ id }: { id: string }) => id),
      [own.body.id],
    );
    assert.equal((await p.get('/v1/conversations')).body.data.length, 2);
    assert.deepEqual((await stranger.get('/v1/conversations')).body.data, []);
    await p.delete(`/v1/smiths/${otherId}`);
    assert.equal((await p.get(path)).status, 404);
    assert.equal((await p.get('/v1/conversations')).body.data.length, 1);
  });
});

test('the list pages both ways, newest first unless asked otherwise', async () => {
  const { smith } = await makeSmith();
  const ids: string[] = [];
  for (let made = 0; made < 5; made += 1) ids.push((await smith.post('/v1/conversations', {})).body.id);
  const newest = ids.toReversed();
  const list = async (query: string) => (await smith.get(`/v1/conversations?${query}`)).body;
  const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id);
  const first = await list('limit=2');
  assert.deepEqual([idsOf(first), first.has_more, first.last_id], [newest.slice(0, 2), true, newest[1]]);
  assert.deepEqual(idsOf(await list(`limit=2&after=${first.last_id}`)), newest.slice(2, 4));
  assert.deepEqual(idsOf(await list('order=asc')), ids);
  assert.deepEqual(idsOf(await list(`before=${newest[2]}`)), newest.slice(0, 2));
});

describe('a change', () => {
  test('replaces what it names, and null clears', async () => {
    const { smith } = await makeSmith();
    const { body } = await smith.post('/v1/conversations', { title: 'First', metadata: { a: '1' } });
    const path = `/v1/conversations/${body.id}`;
    assert.equal((await smith.post(path, { title: 'Second' })).body.metadata.a, '1');
    const cleared = await smith.post(path, { title: null, metadata: null });
    assert.deepEqual([cleared.body.title, cleared.body.metadata], [null, {}]);
    const nothing = await smith.post(path, {});
    assert.deepEqual([nothing.status, nothing.body.error.code], [422, 'nothing_to_update']);
  });

  const keys = (count: number, key = 'k', value = 'v') =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${key}${index}`, value]));
  const bad: Readonly<Record<string, Record<string, unknown>>> = {
    'more than 16 keys': { metadata: keys(17) },
    'a key of 65 characters': { metadata: keys(1, 'k'.repeat(64)) },
    'a value of 513 characters': { metadata: keys(1, 'k', 'v'.repeat(513)) },
    'a value that is no string': { metadata: { a: 1 } },
    'a title that is no string': { title: 5 },
    'a title of 513 characters': { title: 't'.repeat(513) },
  };
  for (const [what, change] of Object.entries(bad)) {
    test(`with ${what} is refused`, async () => {
      const { smith } = await makeSmith();
      const created = await smith.post('/v1/conversations', { metadata: keys(16, 'k'.repeat(62), 'v'.repeat(512)) });
      assert.equal(created.status, 200, created.text);
      for (const path of ['/v1/conversations', `/v1/conversations/${created.body.id}`]) {
        const answer = await smith.post(path, change);
        assert.deepEqual([answer.status, answer.body.error?.code], [422, 'invalid_request'], answer.text);
      }
    });
  }
});

describe('a deleted conversation', () => {
  test('takes its messages along, and leaves its runs', async () => {
    const { p, smithId, smith } = await makeSmith();
    const { body } = await smith.post('/v1/conversations', {});
    const run = await smith.post(`/v1/smiths/${smithId}/runs`, {
      thread_id: body.id,
      input: [{ role: 'user', content: 'Write 3 words' }],
    });
    assert.equal(run.status, 201, run.text);
    const items = Array.from({ length: 20 }, (_, index) => ({ role: 'user', content: `Note ${index}` }));
    for (let added = 0; added < 15; added += 1) {
      assert.equal((await smith.post(`/v1/conversations/${body.id}/items`, { items })).status, 200);
    }
    assert.equal(await countMessages(p.projectId, body.id), 302);
    assert.equal((await smith.delete(`/v1/conversations/${body.id}`)).status, 200);
    assert.equal((await smith.delete(`/v1/conversations/${body.id}`)).body.error.code, 'conversation_not_found');
    await eventually(
      async () => ((await countMessages(p.projectId, body.id)) === 0 ? true : undefined),
      'its messages are gone',
    );
    assert.equal((await smith.get(`/v1/smiths/${smithId}/runs/${run.body.id}`)).body.status, 'completed');
  });

  test('keeps what a paused run in it still reads, until that has ended', async () => {
    const { p, smithId, smith } = await makeSmith();
    const { body } = await smith.post('/v1/conversations', {});
    const runs = `/v1/smiths/${smithId}/runs`;
    const run = await smith.post(runs, {
      thread_id: body.id,
      input: [{ role: 'user', content: 'Call the tool look with {"at": "the sky"}' }],
      tools: [{ name: 'look' }],
    });
    assert.equal(run.body.status, 'paused', run.text);
    await smith.post(`/v1/conversations/${body.id}/items`, { items: [{ role: 'user', content: 'A note' }] });
    await smith.delete(`/v1/conversations/${body.id}`);
    await eventually(
      async () => ((await countMessages(p.projectId, body.id)) === 2 ? true : undefined),
      'the note is gone, and the question and the call are left',
    );
    const [call] = run.body.output.tool_calls;
    const ended = await smith.post(`${runs}/${run.body.id}/submit`, {
      kind: 'tool_result',
      tool_call_id: call.id,
      result: { seen: 'a cloud' },
    });
    assert.equal(ended.body.status, 'completed', ended.text);
    assert.match(ended.body.output.content, /a cloud/);
    await sweepDeletedConversations(platform.db, new AbortController().signal);
    assert.equal(await countMessages(p.projectId, body.id), 0);
    const { rows } = await platform.db.query<{ left: number }>({
      text: `select (select count(*) from conversations where id = $1) + (select count(*) from threads where id = $1) as left`,
      values: [body.id],
    });
    assert.equal(rows[0]?.left, 0);
  });
});
