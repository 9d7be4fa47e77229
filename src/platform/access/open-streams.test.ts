/** What is streamed to a caller ends with its token, however that ends. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../../../test/support/platform.ts';
import { eventually, framesUntil, isType, makeSmith, openFrames, question } from '../../../test/support/turns.ts';
import { createManualClock } from '../../kernel/clock/clock.ts';

/** Tokens are signed by it, so it begins with the time that it is. */
const clock = createManualClock(new Date());
const platform = await startPlatform({ clock });
after(() => platform.close());

/** A look is made once a second, however late on a busy machine. The turn itself takes five minutes, after which its stream ends well. */
const LONG = 'Write 6000 words at 20 words per second';

/** A smith whose turn is read with a token of its own, and with one of the tenant. */
async function openStreams(ttlSeconds?: number) {
  const smith = await makeSmith(platform);
  const minted = await smith.project.post('/v1/tenant/tokens', {
    scope: 'smith',
    smith_id: smith.id,
    permissions: ['runs:read', 'runs:write'],
    ...(ttlSeconds !== undefined && { ttl_seconds: ttlSeconds }),
  });
  assert.equal(minted.status, 201, minted.text);
  const user = smith.project.as(minted.body.token);
  const runId = await smith.begin(LONG);
  const events = openFrames(await user.open('GET', `${smith.runs}/${runId}/events`));
  await framesUntil(events, isType('message.delta'));
  return { smith, user, runId, events, tokenId: minted.body.id as string };
}

async function assertCutOff(frames: AsyncGenerator<unknown>): Promise<void> {
  await assert.rejects(async () => {
    for await (const _ of frames);
  });
}

test('a stream is cut off when its token is revoked, and nobody else’s is', async () => {
  const { smith, runId, events, tokenId } = await openStreams();
  const others = openFrames(await smith.events(runId));
  await framesUntil(others, isType('message.delta'));
  assert.equal((await smith.project.delete(`/v1/tenant/tokens/${tokenId}`)).status, 204);
  await assertCutOff(events);
  await framesUntil(others, isType('message.delta'));
  await smith.cancel(runId);
  await framesUntil(others, isType('run.cancelled'));
});

test('a stream is cut off when its token expires', async () => {
  const { smith, runId, events } = await openStreams(60);
  clock.advance(61_000);
  await assertCutOff(events);
  await smith.cancel(runId);
});

test('a chat completion is cut off when its smith is archived', async () => {
  const { smith, user, runId } = await openStreams();
  await smith.cancel(runId);
  const body = { messages: question(LONG).input, stream: true };
  const answer = await user.open('POST', '/v1/chat/completions', body);
  assert.equal(answer.status, 200);
  const frames = openFrames(answer);
  assert.ok(!(await frames.next()).done);
  assert.equal((await smith.project.delete(`/v1/smiths/${smith.id}`)).status, 204);
  await assertCutOff(frames);
});

test('a reader is told of the cancellation or cut off when the project is deleted, and its turns are cancelled', async () => {
  const { smith, runId, events } = await openStreams();
  const path = `/v1/organization/projects/${smith.project.projectId}`;
  assert.equal((await platform.organization.delete(path)).status, 204);
  // Either is right, but not that the turn goes on to its end.
  await framesUntil(events, ({ event }) => {
    assert.notEqual(event, 'run.completed');
    return event === 'run.cancelled';
  }).catch((error) => assert.doesNotMatch(String(error), /run\.completed|the stream ended first/));
  await eventually(async () => {
    const { rows } = await platform.db.query({ text: 'select status from runs where id = $1', values: [runId] });
    return rows[0]?.status === 'cancelled' || undefined;
  }, 'the run is cancelled');
});
