/** With the clock of the test, and a channel that opens its account when told. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCountedClock } from '../../../../test/support/counted-clock.ts';
import { runWithClock } from '../../../kernel/clock/clock.ts';
import type { Statement } from '../../../kernel/db/database.ts';
import type { Channel } from '../channel.ts';
import { type AttachmentDependencies, createAttachments } from './attachments.ts';
import type { WaitingChat } from './queue-store.ts';

const EXTEND_EVERY_MS = 5_000;
const chat = {
  project_id: 'proj_1',
  id: 'chat_1',
  deployment_id: 'dep_1',
  smith_id: 'smt_1',
  messages: [{ id: 'ie_1', message: { attachments: [{ id: '1', filename: 'a.txt' }] } }],
} as unknown as WaitingChat;

test('the claim of a conversation has a timer only while its files are fetched', async () => {
  const clock = createCountedClock();
  const account = Promise.withResolvers<undefined>();
  const statements: string[] = [];
  const deps = {
    db: {
      async query({ text }: Statement) {
        statements.push(text);
        return { rows: [], rowCount: 0 };
      },
    },
    files: { limitBytes: 1 },
    now: () => clock.now(),
    logger: { warn: () => undefined },
  } as unknown as AttachmentDependencies;
  const channel = { openAccount: () => account.promise } as unknown as Channel;
  const attachments = runWithClock(clock, () => createAttachments(deps));
  assert.equal(clock.countTimers(), 0);
  const fetched = attachments.fetch(channel, chat);
  assert.equal(clock.countTimers(), 1);
  clock.advance(2 * EXTEND_EVERY_MS);
  assert.equal(statements.length, 2);
  account.resolve(undefined);
  await fetched;
  assert.equal(clock.countTimers(), 0);
  await attachments.stop();
});
