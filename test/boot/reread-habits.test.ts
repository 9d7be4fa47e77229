/** The habits of `domains epp-server` change while it runs: SIGHUP to a real process. */
import assert from 'node:assert/strict';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openRawClient, testTls } from '../support/epp.ts';
import { launch, makeFolder, openGivenStore, waitFor } from './server-process.ts';

const READY_MS = 90_000;

test('SIGHUP has the file of habits read again; one that is wrong is refused with a line, and all stays', async (t) => {
  const folder = await makeFolder(t);
  const file = join(folder, 'habits.yaml');
  const pidFile = join(folder, 'registry.pid');
  await writeFile(file, 'terms: { create_seconds: 0 }\n');
  const { certificateFile, keyFile } = testTls;
  const server = launch(
    [
      ...['domains', 'epp-server', '--habits', file, '--pid-file', pidFile, '--port', '0'],
      ...['--key', keyFile, '--cert', certificateFile, '--registrar', 'demo:secret-1'],
    ],
    folder,
    { ...(await openGivenStore(t)), IRONCRAFT_DATA_DIR: join(folder, '.registry') },
  );
  t.after(async () => {
    server.child.kill('SIGKILL');
    await server.ended;
  });
  const port = await waitFor('the registry', READY_MS, async () => {
    if (server.child.exitCode !== null) throw new Error(server.stderr());
    return /served at epps:\S+:(\d+)/.exec(server.stdout())?.[1];
  });
  const pid = Number(await readFile(pidFile, 'utf8'));
  const greeting = async () => {
    const client = openRawClient(Number(port));
    const text = (await client.next()) ?? '';
    client.socket.destroy();
    return text;
  };
  const isSaid = (text: () => string, what: RegExp) =>
    waitFor(String(what), READY_MS, async () => (what.test(text()) ? true : undefined));
  assert.match(await greeting(), /contact-1\.0/);

  await writeFile(file, 'protocol: { contacts: sometimes }\n');
  process.kill(pid, 'SIGHUP');
  await isSaid(server.stderr, /^The habits stay as they were: .*habits\.yaml: protocol\.contacts/m);
  assert.match(await greeting(), /contact-1\.0/);
  await writeFile(file, 'sells: { registered: { demo: [sold.museum] } }\n');
  process.kill(pid, 'SIGHUP');
  await isSaid(server.stderr, /^The habits stay as they were: sells\.registered: sold\.museum/m);

  await writeFile(file, 'protocol: { contacts: none }\n');
  process.kill(pid, 'SIGHUP');
  await isSaid(server.stdout, /^The habits were read again\.$/m);
  assert.doesNotMatch(await greeting(), /contact-1\.0/);

  server.child.kill('SIGTERM');
  assert.deepEqual(await server.ended, { code: 0, signal: null });
  await assert.rejects(access(pidFile), 'it goes with the process');
});
