import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createSecretKey, randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { loadMasterKeys } from './load-master-keys.ts';
import { VaultError } from './vault.ts';

const onPosix = { skip: process.platform === 'win32' };

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'ironcraft-vault-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('configured keys are used and no file is made', async (t) => {
  const dataDir = makeFolder(t);
  const masterKeys = [createSecretKey(randomBytes(32))];
  assert.equal(await loadMasterKeys({ masterKeys, dataDir }), masterKeys);
  assert.deepEqual(readdirSync(dataDir), []);
});

test('the first boot makes a key file that only its owner reads, the second reads it', async (t) => {
  const dataDir = join(makeFolder(t), 'made', 'too');
  const [first] = await loadMasterKeys({ masterKeys: [], dataDir });
  const [second] = await loadMasterKeys({ masterKeys: [], dataDir });
  assert.ok(first !== undefined && second !== undefined && first.equals(second));
  assert.deepEqual(readdirSync(dataDir), ['master.key']);
  if (process.platform !== 'win32') assert.equal(statSync(join(dataDir, 'master.key')).mode & 0o777, 0o600);
});

test('processes that start at once share one key', async (t) => {
  const dataDir = makeFolder(t);
  const module = new URL('./load-master-keys.ts', import.meta.url).href;
  // Each child waits for the same instant, so that the makings overlap.
  const script = `
    const { loadMasterKeys } = await import(${JSON.stringify(module)});
    while (Date.now() < ${Date.now() + 1500});
    const keys = await loadMasterKeys({ masterKeys: [], dataDir: ${JSON.stringify(dataDir)} });
    console.log(keys[0].export().toString('hex'));`;
  const run = promisify(execFile);
  const children = [1, 2, 3].map(() => run(process.execPath, ['--input-type=module', '-e', script]));
  const printed = new Set((await Promise.all(children)).map(({ stdout }) => stdout.trim()));
  assert.equal(printed.size, 1);
});

test('starts that overlap by any amount share one key, and leave nothing but its file', async (t) => {
  const root = makeFolder(t);
  for (let round = 0; round < 10; round++) {
    const dataDir = join(root, String(round));
    const loading: ReturnType<typeof loadMasterKeys>[] = [];
    for (let i = 0; i < 20; i++) {
      loading.push(loadMasterKeys({ masterKeys: [], dataDir }));
      for (let turns = 0; turns < round; turns++) await setImmediate();
    }
    const seen = new Set((await Promise.all(loading)).map((keys) => keys[0]?.export().toString('hex')));
    assert.equal(seen.size, 1);
    assert.deepEqual(readdirSync(dataDir), ['master.key']);
  }
});

test('a file with several lines gives several keys, in order', async (t) => {
  const dataDir = makeFolder(t);
  const keys = [randomBytes(32), randomBytes(32)];
  writeFileSync(join(dataDir, 'master.key'), `${keys.map((key) => key.toString('hex')).join('\n')}\n`, { mode: 0o600 });
  const loaded = await loadMasterKeys({ masterKeys: [], dataDir });
  assert.deepEqual(
    loaded.map((key) => key.export()),
    keys,
  );
});

test('a file that others may read is refused with the mend', onPosix, async (t) => {
  const dataDir = makeFolder(t);
  await loadMasterKeys({ masterKeys: [], dataDir });
  chmodSync(join(dataDir, 'master.key'), 0o640);
  await assert.rejects(
    loadMasterKeys({ masterKeys: [], dataDir }),
    (error) => error instanceof VaultError && /mode 0640/.test(error.message) && /chmod 600/.test(error.message),
  );
});

for (const content of ['', 'c2hvcnQ=\n', 'not a key']) {
  test(`a key file with "${content.trim()}" is refused without being replaced`, async (t) => {
    const dataDir = makeFolder(t);
    writeFileSync(join(dataDir, 'master.key'), content, { mode: 0o600 });
    await assert.rejects(
      loadMasterKeys({ masterKeys: [], dataDir }),
      (error) => error instanceof VaultError && error.code === 'key_file',
    );
  });
}
