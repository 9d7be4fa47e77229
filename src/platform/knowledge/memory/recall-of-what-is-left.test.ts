/** What 0055_recall_of_what_is_left.sql makes of passages that were kept before deletions removed them. */
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import { migrate } from '../../../kernel/db/migrate.ts';
import { mintId } from '../../../kernel/ids/ids.ts';

const REMOVES = '0055_recall_of_what_is_left.sql';
const FOLDER = 'migrations/platform';

describeOnEachStore('passages that were kept beyond what they tell', { sources: [] }, (current) => {
  it('are gone, and what is left of a turn is to be made again', async () => {
    const { db } = current();
    const earlier = await mkdtemp(join(tmpdir(), 'migrations-'));
    for (const file of await readdir(FOLDER)) {
      if (file < REMOVES) await copyFile(join(FOLDER, file), join(earlier, file));
    }
    await migrate(db, { service: 'platform', folder: earlier });
    await rm(earlier, { recursive: true });
    const add = (table: string, row: Record<string, unknown>) =>
      db.query({
        text: `insert into ${table} (project_id, ${Object.keys(row)}) values ('prj', ${Object.keys(row).map((_, at) => `$${at + 1}`)})`,
        values: Object.values(row),
      });
    await db.query({
      text: `insert into organizations (id, name) values ('org', '')`,
      values: [],
    });
    await db.query({
      text: `insert into projects (id, organization_id, name) values ('prj', 'org', '')`,
      values: [],
    });
    await add('smiths', { id: 'smt' });
    const [kept, hidden, purged] = [mintId('cnv'), mintId('cnv'), mintId('cnv')];
    await add('conversations', { smith_id: 'smt', id: kept });
    await add('conversations', { smith_id: 'smt', id: hidden, deleted_at: new Date() });
    for (const id of [kept, hidden, 'free', 'copy']) {
      await add('threads', { smith_id: 'smt', id, turns: 3, recalled_turn: 3 });
    }
    for (const [thread_id, turn] of [
      ['free', 1],
      ['copy', 3],
      [kept, 3],
    ]) {
      const run = { channel: 'api', status: 'completed', input: '[]', config: '{}' };
      await add('runs', { id: mintId('run'), smith_id: 'smt', thread_id, turn, ...run });
    }
    for (const turn of [1, 2, 3]) {
      for (const thread_id of [kept, hidden, purged, 'free', 'copy']) {
        await add('recall_passages', { smith_id: 'smt', thread_id, turn, position: 0, text: '', embedding: '[1]' });
      }
      const removed = turn === 2 ? '{"role":"user","parts":[]}' : null;
      const message = { position: 0, role: 'user', content: '[]', tokens: 0, removed };
      await add('messages', { smith_id: 'smt', thread_id: kept, turn, ...message });
    }

    const { applied } = await migrate(db, { service: 'platform', folder: FOLDER });
    assert.equal(applied[0], REMOVES);
    const { rows: passages } = await db.query<{ passage: string }>({
      text: `select thread_id || ' ' || turn as passage from recall_passages`,
      values: [],
    });
    assert.deepEqual(
      passages.map(({ passage }) => passage).toSorted(),
      ['copy 3', 'free 1', 'free 2', 'free 3', `${kept} 1`, `${kept} 3`].toSorted(),
    );
    const { rows: marks } = await db.query<{ mark: string }>({
      text: `select id || ' ' || recalled_turn as mark from threads`,
      values: [],
    });
    assert.deepEqual(
      marks.map(({ mark }) => mark).toSorted(),
      ['copy 3', 'free 3', `${kept} 1`, `${hidden} 3`].toSorted(),
    );
  });
});
