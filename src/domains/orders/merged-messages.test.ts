/** What 0054_unreadable_messages.sql makes of messages that a registry had queued several times. */
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { describeOnEachStore } from '../../../test/support/database.ts';
import { migrate } from '../../kernel/db/migrate.ts';

const MERGES = '0054_unreadable_messages.sql';
const FOLDER = 'migrations/domains';
const QUEUED = new Date('2026-03-01T12:00:00Z');

describeOnEachStore('messages that were kept before they were merged', { sources: [] }, (current) => {
  it('are one where only their ids differ', async () => {
    const { db } = current();
    const before = await mkdtemp(join(tmpdir(), 'migrations-'));
    for (const file of await readdir(FOLDER)) if (file < MERGES) await copyFile(join(FOLDER, file), join(before, file));
    await migrate(db, { service: 'domains', folder: before });
    await rm(before, { recursive: true });
    const later = new Date(QUEUED.getTime() + 1_000);
    const kept = [
      ['com', '1', QUEUED, 'a.com', 'moved'],
      ['com', '2', QUEUED, 'a.com', 'moved'],
      ['com', '3', QUEUED, 'a.com', 'locked'],
      ['com', '4', QUEUED, 'b.com', 'moved'],
      ['com', '5', later, 'a.com', 'moved'],
      ['net', '6', QUEUED, 'a.com', 'moved'],
      ['com', '7', QUEUED, 'a.com', 'moved'],
      ['com', '8', QUEUED, '', 'a word about nothing'],
      ['com', '9', QUEUED, '', 'a word about nothing'],
    ];
    for (const values of kept) {
      await db.query({
        text: `insert into domains.unknown_messages (registry, message_id, queued_at, received_at, name, text)
          values ($1, $2, $3, $3, $4, $5)`,
        values,
      });
    }
    const { applied } = await migrate(db, { service: 'domains', folder: FOLDER });
    assert.equal(applied[0], MERGES);
    const { rows } = await db.query<{ message_id: string; further_ids: string[] }>({
      text: 'select message_id, further_ids from domains.unknown_messages order by number',
      values: [],
    });
    assert.deepEqual(
      rows.map(({ message_id, further_ids }) => [message_id, ...further_ids]),
      [['1', '2', '7'], ['3'], ['4'], ['5'], ['6'], ['8', '9']],
    );
  });
});
