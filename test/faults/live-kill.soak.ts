/**
 * Replicas that are killed with -9, one after the other, once the beginning of an answer is shown: whoever goes on in the end puts the
 * answer in its place.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { eventually, FAKE_MODEL } from '../support/turns.ts';
import { startChannelKinds } from './channel-kinds.ts';
import { NEEDS_SERVER, openFleet, patiently } from './fleet.ts';
import { killBetweenTrials, letCalmPass } from './trials.ts';

/** A turn that is interrupted a third time without a step between is given up. */
const KILLS = 2;
const BEGINNING = 'The first half';
const WHOLE = 'The first half and the second.';

test(`half an answer becomes the answer, though who showed it is killed, and who went on: ${KILLS} kills`, {
  skip: NEEDS_SERVER,
}, async (t) => {
  const upstream = await startOpenAiUpstream();
  const { kinds, variables } = await startChannelKinds();
  t.after(async () => {
    await upstream.close();
    for (const { close } of kinds) await close();
  });
  const showing = kinds.flatMap(({ live, ...kind }) => (live === undefined ? [] : [{ ...kind, live }]));
  assert.deepEqual(
    showing.map(({ kind }) => kind),
    ['telegram', 'discord', 'slack'],
  );
  const half = { type: 'answer', deltas: [BEGINNING, '.'], fault: { afterChunks: 1, type: 'hang' } } as const;
  const whole = { type: 'answer', deltas: [WHOLE] } as const;
  const answers = [...Array.from({ length: KILLS }, () => half), whole];
  upstream.respondWith(answers.flatMap((answer) => showing.map(() => answer)));
  const fleet = await openFleet(t, { store: 'server', only: 'platform', variables });
  const db = fleet.db ?? assert.fail('the fleet has no database of its own');
  let alive = await fleet.start();
  const project = fleet.project(alive);
  const key = { api_key: 'sk-test', base_url: upstream.url };
  await patiently(() => project.put('/v1/tenant/model_keys/openai-compatible', key));
  const agent = await patiently(() => project.post('/v1/agents', { name: 'Help', model: FAKE_MODEL }));
  await patiently(() => project.post(`/v1/agents/${agent.body.id}/versions`, {}));
  for (const { kind, connect, live } of showing) {
    await connect(project, agent.body.id, alive.url);
    const status = await (await live.compose(1, 'Say it'))(alive.url);
    assert.ok(status >= 200 && status < 300, `${kind} got ${status}`);
  }
  for (const { kind, live } of showing) {
    const isShown = () => (live.standing(1).join() === BEGINNING ? true : undefined);
    await eventually(isShown, `the beginning is shown on ${kind}`);
  }
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const hasBegun = () => (upstream.requests.length >= kill * showing.length ? true : undefined);
    await eventually(hasBegun, `replica ${kill} goes on with each answer`);
    await killBetweenTrials(fleet, [alive]);
    for (const { kind, live } of showing) assert.deepEqual(live.standing(1), [BEGINNING], kind);
    alive = await fleet.start();
  }
  for (const { kind, live } of showing) {
    const isWhole = async () => {
      await letCalmPass(db);
      return live.standing(1).join() === WHOLE ? true : undefined;
    };
    await eventually(isWhole, `the answer stands on ${kind}`);
  }
  assert.deepEqual(
    showing.map(({ live }) => live.standing(1)),
    showing.map(() => [WHOLE]),
  );
});
