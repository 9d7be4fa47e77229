/** What starts or steps together: one statement, and each answered for itself. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { makeSmith } from '../../../../test/support/turns.ts';
import type { Database, Statement } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { auditUsage } from '../../usage/index.ts';
import { LeaseLostError } from '../turn.ts';
import type { TurnAdvance } from './advance-turn.ts';
import { type RunRow, turnKeyOf } from './run-row.ts';
import type { NewTurn } from './start-turn.ts';
import { createTurnWriter } from './turn-writer.ts';

const platform = await startPlatform();

const seen: Statement[] = [];
const db: Database = {
  ...platform.db,
  kind: platform.db.kind,
  wake: (channel) => platform.db.wake(channel),
  transaction: (work) => platform.db.transaction(work),
  notify: (channel, payload) => platform.db.notify(channel, payload),
  listen: (channel, onMessage, onGap) => platform.db.listen(channel, onMessage, onGap),
  ping: () => platform.db.ping(),
  close: async () => {},
  query: (statement) => {
    seen.push(statement);
    return platform.db.query(statement);
  },
};
const replicaId = mintId('rep');
const writer = createTurnWriter(db, replicaId, undefined);
// Its turns are not taken over.
await platform.db.query({
  text: `insert into replicas (id, heartbeat_at) values ($1, now() + interval '1 hour')`,
  values: [replicaId],
});
after(() => platform.close());

/** Turns of as many smiths of a project, as a request would start them. */
async function describeTurns(count: number, project?: TestProject): Promise<NewTurn[]> {
  const first = await makeSmith(platform, {}, project);
  const { body } = await first.ask('Hello');
  const { rows } = await platform.db.query<RunRow>({
    text: 'select * from runs where project_id = $1 and id = $2',
    values: [first.project.projectId, body.id],
  });
  const [template] = rows;
  assert.ok(template !== undefined && 'settings' in template.config);
  const { config } = template;
  const turns: NewTurn[] = [];
  for (let number = 1; number <= count; number += 1) {
    const { id: smith_id } = number === 1 ? first : await makeSmith(platform, {}, first.project);
    turns.push({
      run: { ...template, config, id: mintId('run'), smith_id, thread_id: mintId('thr'), replica_id: replicaId },
      messages: [{ role: 'user', content: [{ type: 'text', text: `Question ${number}` }], tokens: 3 }],
      stored: true,
      idempotency: undefined,
      asyncCommit: false,
    });
  }
  return turns;
}

async function countStatements<T>(work: () => Promise<T>): Promise<{ count: number; result: T }> {
  seen.length = 0;
  const result = await work();
  return { count: seen.length, result };
}

/** A completed step with one call of a model. */
function answer(cost_micros: number): TurnAdvance {
  const used = { input_tokens: 10, output_tokens: 5, cost_micros };
  return {
    status: 'completed',
    steps: [{ position: 0, kind: 'model', status: 'completed', name: 'builtin/demo', ...used }],
    messages: [{ position: 1, role: 'assistant', content: [{ type: 'text', text: 'Answer' }], tokens: 2 }],
    frames: [{ seq: 2, type: 'run.completed', data: {}, created_at: new Date().toISOString() }],
    output: { content: `cost ${cost_micros}` },
    inputTokens: 10,
    outputTokens: 5,
    costMicros: cost_micros,
  };
}

test('turns that start in one moment start in one statement, each with its own history and number', async () => {
  const turns = await describeTurns(3);
  const started = await countStatements(() => Promise.all(turns.map(writer.start)));
  assert.equal(started.count, 1);
  for (const [index, { run, history }] of started.result.entries()) {
    assert.equal(run.id, turns[index]?.run.id);
    assert.deepEqual([run.turn, history.messages], [1, []]);
  }
  await Promise.all(started.result.map(({ run }) => writer.advance(turnKeyOf(run), null, answer(1))));
  const next = turns.map((turn) => ({ ...turn, run: { ...turn.run, id: mintId('run') } }));
  const [, continued] = await Promise.all(next.map(writer.start));
  assert.equal(continued?.run.turn, 2);
  assert.deepEqual(
    continued.history.messages.map(({ role, turn, content }) => [role, turn, content]),
    [
      ['user', 1, [{ type: 'text', text: 'Question 2' }]],
      ['assistant', 1, [{ type: 'text', text: 'Answer' }]],
    ],
  );
});

test('a turn that finds its smith busy, or its key taken, fails alone', async () => {
  const [busy, free, taken, clashing, neighbour] = await describeTurns(5);
  assert.ok(busy && free && taken && clashing && neighbour);
  await writer.start(busy);
  const late = { ...busy, run: { ...busy.run, id: mintId('run') } };
  const locked = await countStatements(() => Promise.allSettled([late, free].map(writer.start)));
  assert.deepEqual([locked.count, ...locked.result.map(({ status }) => status)], [1, 'rejected', 'fulfilled']);
  const [refusal] = locked.result;
  assert.ok(refusal?.status === 'rejected' && refusal.reason instanceof ApiError);
  assert.equal(refusal.reason.code, 'conversation_locked');

  const idempotency = { operation: 'test', key: mintId('evt'), fingerprint: 'one' };
  await writer.start({ ...taken, idempotency });
  const together = [{ ...clashing, idempotency }, neighbour];
  const settled = await countStatements(() => Promise.allSettled(together.map(writer.start)));
  const statuses = settled.result.map(({ status }) => status);
  assert.deepEqual([settled.count, ...statuses], [3, 'rejected', 'fulfilled'], 'together, then each by itself');
});

test('steps that end in one moment end in one statement, and one that is refused or whose lease is lost, alone', async () => {
  const turns = await describeTurns(4);
  const [first, lost, broken, last] = await Promise.all(turns.map(async (turn) => (await writer.start(turn)).run));
  assert.ok(first && lost && broken && last);
  const [step] = answer(3).steps ?? [];
  assert.ok(step);
  const lapsed = { ...turnKeyOf(lost), attempt: 2 };
  const ended = await countStatements(() =>
    Promise.allSettled([writer.advance(turnKeyOf(first), null, answer(5)), writer.advance(lapsed, null, answer(6))]),
  );
  assert.deepEqual([ended.count, ...ended.result.map(({ status }) => status)], [1, 'fulfilled', 'rejected']);
  assert.ok(ended.result[1]?.status === 'rejected' && ended.result[1].reason instanceof LeaseLostError);

  const refused = { ...answer(7), steps: [{ ...step, kind: 'none' as never }] };
  const settled = await countStatements(() =>
    Promise.allSettled([
      writer.advance(turnKeyOf(broken), null, refused),
      writer.advance(turnKeyOf(last), null, answer(8)),
    ]),
  );
  assert.deepEqual([settled.count, ...settled.result.map(({ status }) => status)], [3, 'rejected', 'fulfilled']);
  const { rows } = await platform.db.query<{ id: string; status: string; cost: number | null; said: string }>({
    text: `select id, status, cost_micros as cost, output ->> 'content' as said from runs where id = any($1)`,
    values: [[first.id, lost.id, broken.id, last.id]],
  });
  const stored = new Map(rows.map(({ id, ...row }) => [id, row]));
  const untouched = { status: 'in_progress', cost: null, said: null };
  assert.deepEqual(
    [first, lost, broken, last].map(({ id }) => stored.get(id)),
    [
      { status: 'completed', cost: 5, said: 'cost 5' },
      untouched,
      untouched,
      { status: 'completed', cost: 8, said: 'cost 8' },
    ],
  );
  const differences = await auditUsage(platform.db);
  assert.deepEqual(
    differences.filter(({ project_id }) => project_id === first.project_id),
    [],
  );
});

test('turns of different projects share no statement', async () => {
  const turns = [...(await describeTurns(1)), ...(await describeTurns(1))];
  assert.equal((await countStatements(() => Promise.all(turns.map(writer.start)))).count, 2);
});
