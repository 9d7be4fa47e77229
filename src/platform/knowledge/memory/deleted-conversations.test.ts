/** What is deleted from conversations is recalled no more, whenever its passages are made. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { eventually, makeSmith, type TestSmith } from '../../../../test/support/turns.ts';
import type { Executor } from '../../../kernel/db/database.ts';
import { BUILTIN_DIMENSIONS } from '../embed/sentence-encoder.ts';
import { indexTurns } from './index-turns.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

const SECRET = 'The vault code is 7391 WALRUS';
const OTHER = 'The vault is behind the boiler';

const say = (content: string) => ({ role: 'user', content });

interface Said {
  readonly id: string;
  readonly path: string;
  /** In the order of the texts. */
  readonly itemPaths: readonly string[];
}

/** A conversation that begins with these texts: one turn. */
async function converse({ project, id: smithId }: TestSmith, ...texts: string[]): Promise<Said> {
  const { body, text } = await project.post('/v1/conversations', { items: texts.map(say) }, { 'ic-smith-id': smithId });
  assert.match(body.id, /^cnv_/, text);
  const path = `/v1/conversations/${body.id}`;
  const items = (await project.get(`${path}/items?order=asc`)).body.data;
  return { id: body.id, path, itemPaths: items.map((item: { id: string }) => `${path}/items/${item.id}`) };
}

/** What recall finds, as `thread: text`. */
async function recall({ project, id }: TestSmith): Promise<string[]> {
  const { body, status, text } = await project.post(`/v1/smiths/${id}/memory/recall`, {
    query: 'vault code',
    limit: 50,
  });
  assert.equal(status, 200, text);
  return body.data.map((each: { thread_id: string; content: string }) => `${each.thread_id}: ${each.content}`);
}

/** What the tool of a later turn finds. */
async function recallByTool(smith: TestSmith): Promise<string> {
  const { body } = await smith.ask('Call the tool recall_conversations with {"query":"vault code"}');
  assert.equal(body.status, 'completed', JSON.stringify(body.error));
  return body.output.content;
}

async function remove({ project }: TestSmith, path: string): Promise<void> {
  const { status, text } = await project.delete(path);
  assert.equal(status, 200, text);
}

async function count(table: 'conversations' | 'recall_passages', { id }: Said): Promise<number> {
  const { rows } = await platform.db.query<{ count: number }>({
    text: `select count(*)::int as count from ${table} where ${table === 'conversations' ? 'id' : 'thread_id'} = $1`,
    values: [id],
  });
  return rows[0]?.count ?? -1;
}

const purged = (conversation: Said) =>
  eventually(
    async () => ((await count('conversations', conversation)) === 0 ? true : undefined),
    'the conversation is purged',
  );

/** Any vector, as long as those of the model that recall asks. */
const embed = async (texts: readonly string[]) => texts.map(() => new Float32Array(BUILTIN_DIMENSIONS).fill(0.05));

const index = (smith: TestSmith, db: Executor = platform.db, meanwhile?: () => Promise<void>) =>
  indexTurns(
    db,
    { projectId: smith.project.projectId, smithId: smith.id },
    async (texts) => {
      await meanwhile?.();
      return embed(texts);
    },
    200,
  );

/** Where the store has several connections: until a statement of another one waits for this transaction. */
async function untilOneWaits(tx: Executor): Promise<void> {
  if (platform.databaseUrl === undefined) return;
  await eventually(async () => {
    const { rowCount } = await tx.query({
      text: 'select from pg_locks l where not l.granted and pg_backend_pid() = any (pg_blocking_pids(l.pid))',
      values: [],
    });
    return rowCount > 0 ? true : undefined;
  }, 'the deletion waits');
}

describe('a deleted conversation', () => {
  test('is recalled no more, at once and when it is purged, and others are', async () => {
    const smith = await makeSmith(platform, { auto_memory: true });
    const conversation = await converse(smith, SECRET);
    const other = await converse(smith, OTHER);
    const found = [`${other.id}: User: ${OTHER}`, `${conversation.id}: User: ${SECRET}`].toSorted();
    assert.deepEqual((await recall(smith)).toSorted(), found);
    await remove(smith, conversation.path);
    assert.deepEqual(await recall(smith), [`${other.id}: User: ${OTHER}`]);
    await purged(conversation);
    assert.deepEqual(await recall(smith), [`${other.id}: User: ${OTHER}`]);
    assert.equal(await count('recall_passages', conversation), 0);
    const told = await recallByTool(smith);
    assert.match(told, /boiler/);
    assert.doesNotMatch(told, /WALRUS/);
  });

  test('is recalled by no turn that ends in it later', async () => {
    const smith = await makeSmith(platform);
    const conversation = await converse(smith, SECRET);
    const run = await smith.ask('Call the tool look with {"at": "the vault"}', {
      thread_id: conversation.id,
      tools: [{ name: 'look' }],
    });
    assert.equal(run.body.status, 'paused', run.text);
    assert.equal((await recall(smith)).length, 1);
    await remove(smith, conversation.path);
    await eventually(
      async () => ((await count('recall_passages', conversation)) === 0 ? true : undefined),
      'its passages are gone while the run still waits',
    );
    assert.equal(await count('conversations', conversation), 1);
    const [call] = run.body.output.tool_calls;
    const result = { kind: 'tool_result', tool_call_id: call.id, result: { code: 'WALRUS' } };
    assert.equal((await smith.submit(run.body.id, result)).body.status, 'completed');
    assert.deepEqual(await recall(smith), []);
    assert.equal(await count('recall_passages', conversation), 0);
  });

  test('is not brought back by a turn that began while it was there', async () => {
    const smith = await makeSmith(platform);
    const conversation = await converse(smith, SECRET);
    await remove(smith, conversation.path);
    await purged(conversation);
    // As the start of a turn leaves the thread that has found the conversation before it was deleted.
    const run = await smith.ask('What is the code of the vault?');
    for (const table of ['messages', 'runs']) {
      await platform.db.query({
        text: `update ${table} set thread_id = $2 where project_id = $1 and thread_id = $3`,
        values: [smith.project.projectId, conversation.id, run.body.thread_id],
      });
    }
    await platform.db.query({
      text: 'update threads set id = $2 where project_id = $1 and id = $3',
      values: [smith.project.projectId, conversation.id, run.body.thread_id],
    });
    assert.deepEqual(await recall(smith), []);
  });

  test('is not recalled where its passages were being made', async () => {
    const smith = await makeSmith(platform);
    const conversation = await converse(smith, SECRET);
    const other = await converse(smith, OTHER);
    const isLeft = await index(smith, platform.db, async () => {
      await remove(smith, conversation.path);
      await purged(conversation);
    });
    assert.equal(isLeft, true);
    assert.deepEqual([await count('recall_passages', conversation), await count('recall_passages', other)], [0, 1]);
    assert.deepEqual(await recall(smith), [`${other.id}: User: ${OTHER}`]);
    assert.equal(await index(smith), false);
  });

  test('is not recalled where its passages were being stored', async () => {
    const smith = await makeSmith(platform);
    const conversation = await converse(smith, SECRET);
    let removed: Promise<void> | undefined;
    await platform.db.transaction(async (tx) => {
      await index(smith, tx);
      removed = remove(smith, conversation.path);
      await untilOneWaits(tx);
    });
    await removed;
    await purged(conversation);
    assert.equal(await count('recall_passages', conversation), 0);
    assert.deepEqual(await recall(smith), []);
  });

  test('is not recalled through a copy of its thread', async () => {
    const smith = await makeSmith(platform);
    const conversation = await converse(smith, SECRET);
    const run = await smith.ask('Write 3 words', { thread_id: conversation.id });
    const replay = await smith.project.post(`${smith.runs}/${run.body.id}/replay`, {});
    assert.equal(replay.body.status, 'completed', replay.text);
    const secrets = async () => (await recall(smith)).filter((each) => each.includes('WALRUS'));
    assert.deepEqual(await secrets(), [`${conversation.id}: User: ${SECRET}`]);
    await remove(smith, conversation.path);
    await purged(conversation);
    assert.deepEqual(await secrets(), []);
    assert.deepEqual(
      (await recall(smith)).map((each) => each.split(':')[0]),
      [replay.body.thread_id],
    );
  });
});

describe('a deleted item', () => {
  test('is recalled no more, and what else was said is', async () => {
    const smith = await makeSmith(platform, { auto_memory: true });
    const conversation = await converse(smith, SECRET, OTHER);
    await smith.project.post(`${conversation.path}/items`, { items: [say('The vault is old')] });
    const later = `${conversation.id}: User: The vault is old`;
    const both = [`${conversation.id}: User: ${SECRET}\nUser: ${OTHER}`, later].toSorted();
    assert.deepEqual((await recall(smith)).toSorted(), both);
    await remove(smith, conversation.itemPaths[0] ?? '');
    const left = [`${conversation.id}: User: ${OTHER}`, later].toSorted();
    assert.deepEqual((await recall(smith)).toSorted(), left);
    const told = await recallByTool(smith);
    assert.match(told, /boiler/);
    assert.doesNotMatch(told, /WALRUS/);
    await remove(smith, conversation.itemPaths[1] ?? '');
    assert.deepEqual(
      (await recall(smith)).filter((each) => each.startsWith(conversation.id)),
      [later],
    );
  });

  test('has what is left of its turn embedded again, and no other turn', async () => {
    const smith = await makeSmith(platform);
    const conversation = await converse(smith, SECRET, OTHER);
    await smith.project.post(`${conversation.path}/items`, { items: [say('The vault is old')] });
    assert.equal(await index(smith), false);
    await remove(smith, conversation.itemPaths[0] ?? '');
    const embedded: string[] = [];
    for (const _ of ['what is left', 'nothing']) {
      const owner = { projectId: smith.project.projectId, smithId: smith.id };
      const isLeft = await indexTurns(
        platform.db,
        owner,
        (texts) => {
          embedded.push(...texts);
          return embed(texts);
        },
        200,
      );
      assert.equal(isLeft, false);
    }
    assert.deepEqual(embedded, [`User: ${OTHER}`]);
  });

  test('of a run is recalled no more, and the rest of its turn is', async () => {
    const smith = await makeSmith(platform);
    const conversation = await converse(smith, 'The weather is fine');
    const { body } = await smith.ask(`Write 3 words. ${SECRET}`, { thread_id: conversation.id });
    assert.equal(body.status, 'completed');
    assert.equal((await recall(smith)).filter((each) => each.includes('WALRUS')).length, 1);
    const items = (await smith.project.get(`${conversation.path}/items?order=asc`)).body.data;
    await remove(smith, `${conversation.path}/items/${items[1].id}`);
    const found = await recall(smith);
    assert.equal(found.length, 2);
    assert.ok(found.includes(`${conversation.id}: Smith: ${body.output.content}`), found.join('\n'));
  });

  test('is not recalled where the passages of its turn were being made', async () => {
    const smith = await makeSmith(platform);
    const conversation = await converse(smith, SECRET, OTHER);
    const isLeft = await index(smith, platform.db, () => remove(smith, conversation.itemPaths[0] ?? ''));
    assert.equal(isLeft, true);
    assert.equal(await count('recall_passages', conversation), 0);
    assert.deepEqual(await recall(smith), [`${conversation.id}: User: ${OTHER}`]);
  });

  test('is not recalled where the passages of its turn were being stored', async () => {
    const smith = await makeSmith(platform);
    const conversation = await converse(smith, SECRET, OTHER);
    let removed: Promise<void> | undefined;
    await platform.db.transaction(async (tx) => {
      await index(smith, tx);
      removed = remove(smith, conversation.itemPaths[0] ?? '');
      await untilOneWaits(tx);
    });
    await removed;
    assert.equal(await count('recall_passages', conversation), 0);
    assert.deepEqual(await recall(smith), [`${conversation.id}: User: ${OTHER}`]);
  });
});
