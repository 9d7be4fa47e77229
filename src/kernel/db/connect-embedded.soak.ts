import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { createRandom } from '../../../test/faults/seeded-random.ts';
import { seedFor } from '../../../test/support/seed.ts';
import { connectEmbedded } from './connect-embedded.ts';

const source = new URL('./connect-embedded.ts', import.meta.url).href;
const ROUNDS = 10;

test('the embedded store keeps what was committed when its process is killed while it writes', async () => {
  const random = createRandom(seedFor('connect-embedded'));
  const folder = await mkdtemp(join(tmpdir(), 'embedded-'));
  const program = `
    const { connectEmbedded } = await import(${JSON.stringify(source)});
    const db = await connectEmbedded({ folder: ${JSON.stringify(folder)} });
    await db.query({ text: 'create table if not exists entry (id int primary key)', values: [] });
    const { rows } = await db.query({ text: 'select coalesce(max(id), 0) as last from entry', values: [] });
    for (let id = rows[0].last + 1; ; id += 1) {
      await db.transaction(async (tx) => tx.query({ text: 'insert into entry values ($1)', values: [id] }));
      process.stdout.write(id + '\\n');
    }`;
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const writer = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const lines = createInterface({ input: writer.stdout })[Symbol.asyncIterator]();
      let last = 0;
      for (let left = random.integer(1, 80); left > 0; left -= 1) last = Number((await lines.next()).value);
      const exited = once(writer, 'exit');
      writer.kill('SIGKILL');
      await exited;
      const db = await connectEmbedded({ folder });
      const { rows } = await db.query<{ ids: number[] }>({
        text: 'select array_agg(id order by id) as ids from entry',
        values: [],
      });
      const ids = rows[0]?.ids ?? [];
      assert.ok(ids.length >= last, `${last} were committed and ${ids.length} are left`);
      assert.deepEqual(
        ids,
        Array.from({ length: ids.length }, (_, index) => index + 1),
      );
      await db.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
