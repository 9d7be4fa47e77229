import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../../../test/support/platform.ts';
import { sweepPushedTraces } from './sweep-pushed-traces.ts';

const platform = await startPlatform();
after(() => platform.close());

test('the sweep removes traces whose last span came 30 days ago, with their spans, and their usage stays', async () => {
  const project = await platform.createProject();
  const push = async (traceId: string) => {
    const span = { name: 'a', started_at: '2026-05-01T12:00:00Z', ended_at: '2026-05-01T12:00:01Z' };
    const spans = ['a', 'b'].map((id) => ({ ...span, span_id: id, usage: { input_tokens: 1 } }));
    const answer = await project.post('/v1/traces:ingest', { trace_id: traceId, spans });
    assert.equal(answer.status, 201, answer.text);
    return answer.body.trace_id as string;
  };
  for (let n = 0; n < 45; n += 1) await push(`old-${n}`);
  await platform.db.query({
    text: `update external_traces set updated_at = now() - interval '30 days 1 second' where project_id = $1`,
    values: [project.projectId],
  });
  const kept = await push('young');
  await sweepPushedTraces(platform.db, new AbortController().signal);
  const { body } = await project.get('/v1/traces?limit=100');
  assert.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    [kept],
  );
  const { rows } = await platform.db.query({
    text: `select (select count(*) from external_spans where project_id = $1) as spans,
             (select sum(input_tokens)::int from usage_daily where project_id = $1) as tokens`,
    values: [project.projectId],
  });
  assert.deepEqual(rows, [{ spans: 2, tokens: 92 }]);
  // What was counted once is not counted again.
  await push('old-0');
  const again = await platform.db.query({
    text: 'select sum(input_tokens)::int as tokens from usage_daily where project_id = $1',
    values: [project.projectId],
  });
  assert.deepEqual(again.rows, [{ tokens: 92 }]);
});
