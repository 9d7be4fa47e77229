/**
 * The template that a new embedded store starts from was built from the migrations as they stand, and may be older than the last ones. The
 * soak compares everything that it holds with what the migrations make.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { storeTemplate } from '../../src/command-line/migrations.ts';
import { connectEmbedded } from '../../src/kernel/db/connect-embedded.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { readMigrations } from '../../src/kernel/db/migrate.ts';

const migrations = fileURLToPath(new URL('../../migrations/', import.meta.url));

let folder = '';
let db: Database;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ironcraft-store-template-'));
  // What a start that was cut off while it unpacked the template leaves behind.
  await mkdir(join(folder, 'data.partial-1'));
  await writeFile(join(folder, 'data.partial-1', 'PG_VERSION'), '18');
  db = await connectEmbedded({ folder, template: storeTemplate });
});
after(() => rm(folder, { recursive: true, force: true }));

for (const service of ['platform', 'domains']) {
  test(`the template holds the first migrations of the ${service} service as they stand`, async () => {
    const { rows } = await db.query<{ name: string; checksum: string }>({
      text: 'select name, checksum from schema_migrations where service = $1 order by name',
      values: [service],
    });
    assert.ok(rows.length > 0, 'the template holds migrations');
    const files = await readMigrations(join(migrations, service));
    const expected = files.slice(0, rows.length).map(({ name, checksum }) => ({ name, checksum }));
    assert.deepEqual(rows, expected, 'run npm run build:store-template');
  });
}

test('a start that was cut off while it unpacked the template leaves nothing, and the next one starts anew', async () => {
  await db.ping();
  await db.close();
  assert.deepEqual((await readdir(folder)).sort(), ['data', 'lock', 'owner.json']);
});
