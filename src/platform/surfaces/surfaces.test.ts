/** The surfaces' front door, used as a schedule or a channel uses it: no HTTP, a key of its own. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../../../test/support/platform.ts';
import { clientTool, eventually, makeSmith } from '../../../test/support/turns.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { TurnRequest } from '../engine/index.ts';
import {
  claimKey,
  collectAnswer,
  findBegun,
  findRunByCalls,
  resumeTurn,
  startTurn,
  UNCHANGED_SETTINGS,
  waitForRest,
} from './index.ts';

const platform = await startPlatform();
after(() => platform.close());
const { engine } = platform.platform;
const unhurried = new AbortController().signal;

async function makeFiring(text: string, tools: readonly string[] = []) {
  const smith = await makeSmith(platform);
  const { projectId } = smith.project;
  const input = [{ role: 'user', content: text }];
  const idempotency = claimKey('schedules.fire', mintId('whd'), input);
  const request: TurnRequest = {
    projectId,
    smithId: smith.id,
    input,
    settings: {
      ...UNCHANGED_SETTINGS,
      tools: {
        ...UNCHANGED_SETTINGS.tools,
        client: tools.map((name) => ({ ...clientTool(name), requires_approval: false })),
      },
    },
    channel: 'schedule',
    metadata: {},
    actor: { kind: 'smith', id: smith.id, token_id: '', email: '' },
    reader: null,
    idempotency,
    buffered: true,
  };
  const fire = async () => (await findBegun(engine.db, projectId, idempotency)) ?? (await startTurn(engine, request));
  return { smith, projectId, fire };
}

test('a turn is started once for its key, waited for, and answered', async () => {
  const { smith, fire } = await makeFiring('Write 4 words');
  const begun = await fire();
  const run = await waitForRest(engine, begun, unhurried);
  assert.deepEqual([run.status, run.channel, run.actor?.id], ['completed', 'schedule', smith.id]);
  const answer = await collectAnswer(engine, begun.segment, unhurried);
  assert.equal(answer?.text, run.output?.content);
  assert.deepEqual([answer?.finishReason, answer?.calls, answer?.approvals], ['stop', [], []]);
  const again = await fire();
  assert.equal(again.claimed?.run.id, run.id);
  assert.deepEqual(await collectAnswer(engine, again.segment, unhurried), answer);
  assert.equal((await smith.project.get(smith.runs)).body.data.length, 1);
});

test('a pause is found by the call that waits, and each of its segments keeps its answer', async () => {
  const { smith, projectId, fire } = await makeFiring('Call the tool look_up with {}', ['look_up']);
  const begun = await fire();
  const asked = await collectAnswer(engine, begun.segment, unhurried);
  const [call] = asked?.calls ?? [];
  assert.ok(call);
  const place = { projectId, smithId: smith.id, threadId: undefined };
  const waiting = await findRunByCalls(engine.db, place, [{ callId: call.id, name: 'look_up' }]);
  assert.equal(waiting?.id, begun.segment.run.id);
  assert.equal(await findRunByCalls(engine.db, place, [{ callId: call.id, name: 'other' }]), undefined);
  const key = { projectId, smithId: smith.id, runId: waiting?.id ?? '' };
  const resumed = await resumeTurn(engine, key, {
    submissions: [{ kind: 'tool_result', toolCallId: call.id, result: 'Found.' }],
    actor: { kind: 'smith', id: smith.id, token_id: '', email: '' },
  });
  assert.equal(resumed.segment.number, 2);
  const answered = await collectAnswer(engine, resumed.segment, unhurried);
  assert.match(answered?.text ?? '', /Found/);
  assert.deepEqual(await collectAnswer(engine, (await fire()).segment, unhurried), asked);
  assert.equal(await findRunByCalls(engine.db, place, [{ callId: call.id }]), undefined);
});

test('a waiting run is found however many others the smith has had since', async () => {
  const { smith, projectId, fire } = await makeFiring('Call the tool look_up with {}', ['look_up']);
  const begun = await fire();
  const [call] = (await collectAnswer(engine, begun.segment, unhurried))?.calls ?? [];
  assert.ok(call);
  await eventually(
    async () => ((await smith.get(begun.segment.run.id)).status === 'paused' ? true : undefined),
    'it pauses',
  );
  for (const status of ['completed', 'paused']) {
    const ids = Array.from({ length: 1_500 }, () => mintId('run'));
    await platform.db.query({
      text: `
        insert into runs (project_id, id, smith_id, thread_id, turn, status, channel, input, config, output)
        select project_id, other.id, smith_id, thread_id, turn, $3, channel, input, config, output
        from runs, unnest($4::text[]) as other (id) where project_id = $1 and runs.id = $2`,
      values: [projectId, begun.segment.run.id, status, ids],
    });
  }
  const found = await findRunByCalls(engine.db, { projectId, smithId: smith.id, threadId: undefined }, [
    { callId: call.id },
  ]);
  assert.equal(found?.id, begun.segment.run.id);
});
