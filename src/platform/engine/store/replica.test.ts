import assert from 'node:assert/strict';
import { beforeEach, it } from 'node:test';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import { replicasKeepEnding } from './replica.ts';

describeOnEachStore('whether replicas keep ending', {}, (current) => {
  async function addReplica(
    id: string,
    silentSeconds: number,
    { leaving = false, explained = false, resting = false } = {},
  ): Promise<void> {
    await current().db.query({
      text: `insert into replicas (id, heartbeat_at, leaving, explained, resting)
             values ($1, now() - make_interval(secs => $2), $3, $4, $5)`,
      values: [id, silentSeconds, leaving, explained, resting],
    });
  }

  beforeEach(async () => {
    await current().db.query({ text: 'delete from replicas', values: [] });
  });

  it('they do once two have fallen silent within a minute', async () => {
    await addReplica('rep_1', 10);
    assert.equal(await replicasKeepEnding(current().db), false);
    await addReplica('rep_2', 50);
    assert.equal(await replicasKeepEnding(current().db), true);
  });

  for (const [what, silentSeconds, state] of [
    ['that live', 1, {}],
    ['whose end was earlier', 70, {}],
    ['that stopped in order', 10, { leaving: true }],
    ['that a turn ended', 10, { explained: true }],
    ['that were killed while they rested', 10, { resting: true }],
  ] as const) {
    it(`those ${what} do not count`, async () => {
      await addReplica('rep_1', 10);
      await addReplica('rep_2', silentSeconds, state);
      await addReplica('rep_3', silentSeconds, state);
      assert.equal(await replicasKeepEnding(current().db), false);
    });
  }
});
