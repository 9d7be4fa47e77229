/** Messages of which nobody knows whether they have arrived, at a provider that can say so. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../../../../test/support/platform.ts';
import {
  createTestChannel,
  openTestProvider,
  type ProviderMood,
  saveTestAccount,
  TEST_KIND,
  writes,
} from '../../../../test/support/test-channel.ts';
import { eventually } from '../../../../test/support/turns.ts';
import type { Database } from '../../../kernel/db/database.ts';

let db: Database | undefined;
const platform = await startPlatform({
  channels: [createTestChannel(() => db ?? assert.fail('the server has no database yet'), { findsSent: true })],
});
db = platform.db;
after(() => platform.close());

/** How often an answer came that the provider took without saying so. */
async function comesAfter(...lookUps: readonly ProviderMood[]): Promise<number> {
  const provider = await openTestProvider();
  after(() => provider.close());
  const project = await platform.createProject();
  const account = await saveTestAccount(platform.db, project.projectId, provider);
  const target = { type: 'smith', id: await project.createSmith() };
  await project.post('/v1/deployments', { kind: TEST_KIND, target, address: '17' });
  provider.expect('lost');
  provider.expectLookUps(...lookUps);
  await platform.platform.messaging.accept(account, [writes('17', 'Write 5 words')]);
  await eventually(async () => {
    const { rows } = await platform.db.query<{ state: string }>({
      text: 'select state from channel_answers where project_id = $1',
      values: [project.projectId],
    });
    return rows[0]?.state === 'sent' ? true : undefined;
  }, 'the answer is through');
  return provider.sent.length;
}

test('what has arrived is not sent again, though the provider must be asked more than once', async () => {
  const counts = await Promise.all([
    comesAfter(),
    comesAfter('broken'),
    comesAfter('busy'),
    comesAfter('garbage', 'silent'),
  ]);
  assert.deepEqual(counts, [1, 1, 1, 1]);
});

test('where the provider will not say it, it is sent once more', async () => {
  assert.equal(await comesAfter('refusing'), 2);
});
