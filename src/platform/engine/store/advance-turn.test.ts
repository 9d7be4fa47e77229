import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../../../../test/support/platform.ts';
import { makeSmith } from '../../../../test/support/turns.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { advanceTurn } from './advance-turn.ts';

const platform = await startPlatform();
after(() => platform.close());

test('frames that a batch has stored, although it was taken for failed, are no obstacle to the step', async () => {
  const { db } = platform;
  const smith = await makeSmith(platform);
  const { projectId } = smith.project;
  const { body: run } = await smith.ask('Hello');
  const elsewhere = [projectId, run.id];
  const replicaId = mintId('rep');
  await db.query({
    text: `insert into replicas (id, heartbeat_at) values ($1, now() + interval '1 hour')`,
    values: [replicaId],
  });
  await db.query({
    text: `update runs set status = 'in_progress', replica_id = $3 where project_id = $1 and id = $2`,
    values: [...elsewhere, replicaId],
  });
  const { rows } = await db.query<{ seq: number; type: string; data: Record<string, unknown>; created_at: Date }>({
    text: 'select seq, type, data, created_at from run_events where project_id = $1 and run_id = $2 order by seq',
    values: elsewhere,
  });
  const stored = rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() }));
  const next = { seq: (rows.at(-1)?.seq ?? 0) + 1, type: 'message.delta', data: { step: 1, deltas: ['more'] } };
  const key = { projectId, smithId: smith.id, threadId: run.thread_id, runId: run.id, turn: 1, attempt: 1 };
  await advanceTurn(db, key, replicaId, null, {
    status: 'completed',
    frames: [...stored, { ...next, created_at: new Date().toISOString() }],
  });
  const { rows: all } = await db.query<{ seq: number }>({
    text: 'select seq from run_events where project_id = $1 and run_id = $2 order by seq',
    values: elsewhere,
  });
  assert.deepEqual(
    all.map(({ seq }) => seq),
    [...rows.map(({ seq }) => seq), next.seq],
  );
});
