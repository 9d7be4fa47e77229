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

const LONG = 'Write 600 words at 20 words per second';
/** A look is made once a second; a busy machine may be late. The turn itself takes thirty seconds. */
const CUT_WITHIN_MS = 15_000;

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
  const startedMs = performance.now();
  await assert.rejects(async () => {
    for await (const _ of frames);
  });
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < CUT_WITHIN_MS, `cut off after ${tookMs} ms`);
}

test('a token that is revoked: its stream is cut off, and nobody else’s', async () => {
  const { smith, runId, events, tokenId } = await openStreams();
  const others = openFrames(await smith.events(runId));
  await framesUntil(others, isType('message.delta'));
  assert.equal((await smith.project.delete(`/v1/tenant/tokens/${tokenId}`)).status, 204);
  await assertCutOff(events);
  await framesUntil(others, isType('message.delta'));
  await smith.cancel(runId);
  await framesUntil(others, isType('run.cancelled'));
});

test('a token that expires', async () => {
  const { smith, runId, events } = await openStreams(60);
  clock.advance(61_000);
  await assertCutOff(events);
  await smith.cancel(runId);
});

test('a chat completion, where its smith is archived', async () => {
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

test('a project that is deleted: its turns are cancelled, and whoever reads them is told or cut off', async () => {
  const { smith, runId, events } = await openStreams();
  const path = `/v1/organization/projects/${smith.project.projectId}`;
  assert.equal((await platform.organization.delete(path)).status, 204);
  const startedMs = performance.now();
  const [ended] = await Promise.allSettled([framesUntil(events, isType('run.cancelled'))]);
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < CUT_WITHIN_MS, `${ended.status} after ${tookMs} ms`);
  await eventually(async () => {
    const { rows } = await platform.db.query({ text: 'select status from runs where id = $1', values: [runId] });
    return rows[0]?.status === 'cancelled' || undefined;
  }, 'the run is cancelled');
});
