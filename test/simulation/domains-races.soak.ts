/**
 * Two replicas at work on the same orders at once, after a third has crashed at some effect of each of them. Which of the effects that wait is next,
 * of both replicas, a seed chooses: IRONCRAFT_SIMULATION_RACE=17 repeats the race of this number, under the same IRONCRAFT_TEST_SEED.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, type Random } from '../faults/seeded-random.ts';
import { runSeed, seedFor } from '../support/seed.ts';
import { race } from './domains-race.ts';

const RACES = 60;

const chosen = process.env.IRONCRAFT_SIMULATION_RACE;
const numbers = chosen === undefined ? Array.from({ length: RACES }, (_, place) => place + 1) : [Number(chosen)];

for (const number of numbers) {
  test(`race ${number} of two replicas leaves everything charged once and carried out once`, async () => {
    const random: Random = createRandom(seedFor(`race ${number}`));
    const { problems, order } = await race(random);
    const repeat = `IRONCRAFT_TEST_SEED=${runSeed} IRONCRAFT_SIMULATION_RACE=${number}`;
    assert.ok(problems.length === 0, `${repeat}\n${problems.join('\n')}\n${order.join('\n')}`);
  });
}
