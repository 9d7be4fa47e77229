import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { recorder } from '../support/test-log.ts';
import { searchLogs } from './search-logs.ts';
import { secretsOfBody, secretsOfHeaders, secretsOfUrl } from './secrets-of-exchange.ts';

const SECRET = 'c2VjcmV0-4711-of-nobody';

async function makeFolder(t: { after(work: () => Promise<void>): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'logs-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

test('a secret is found in the middle of a line, in each way of writing it', async (t) => {
  const folder = await makeFolder(t);
  const lines = [
    'nothing of the kind',
    `upstream said: x${SECRET}x`,
    `Basic ${Buffer.from(`client:${SECRET}`).toString('base64')}`,
    Buffer.from(SECRET).toString('hex'),
    `c2VjcmV0-4711-of-nobod`,
  ];
  await writeFile(join(folder, '1.log'), lines.join('\n'));
  await writeFile(join(folder, '2.secrets'), `${JSON.stringify(['client_secret', SECRET])}\n["half a li`);
  const { secrets, logs, findings } = await searchLogs(folder);
  assert.deepEqual({ secrets, logs }, { secrets: 1, logs: 1 });
  assert.deepEqual(
    findings.map(({ line }) => line),
    [2, 3, 4],
  );
  assert.equal(findings[0]?.text, 'upstream said: x<<client_secret>>x');
});

test('secrets are known by their names, in headers, addresses, JSON and forms', () => {
  const found = (secrets: ReadonlyMap<string, string>) => [...secrets.keys()];
  const basic = Buffer.from(`client:${SECRET}`).toString('base64');
  assert.deepEqual(found(secretsOfHeaders({ authorization: `Basic ${basic}`, 'user-agent': SECRET })), [SECRET]);
  assert.deepEqual(found(secretsOfHeaders({ cookie: `sid=${SECRET}` })), [SECRET]);
  assert.deepEqual(found(secretsOfUrl(`/oauth/callback?code=${SECRET}&iss=${SECRET}1`)), [SECRET]);
  assert.deepEqual(found(secretsOfUrl(`/bot4711:${SECRET}/getMe`)), [`4711:${SECRET}`]);
  const body = { items: [{ refresh_token: SECRET, id: `${SECRET}2` }], next_page_token: `${SECRET}3` };
  assert.deepEqual(found(secretsOfBody(JSON.stringify(body), 'application/json', '/')), [SECRET]);
  const form = `code_verifier=${SECRET}&grant_type=authorization_code`;
  assert.deepEqual(found(secretsOfBody(form, 'application/x-www-form-urlencoded', '/')), [SECRET]);
  const value = JSON.stringify({ value: SECRET });
  assert.deepEqual(found(secretsOfBody(value, 'application/json', '/v1/tenant/sandbox_secrets/A')), [SECRET]);
  assert.deepEqual(found(secretsOfBody(value, 'application/json', '/v1/records')), []);
});

test('a process that the recorder is loaded into notes what its servers are sent and send', async (t) => {
  const folder = await makeFolder(t);
  const server = fork(join(import.meta.dirname, 'exchange.ts'), {
    execArgv: [`--import=${recorder}`],
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, TEST_LOG_FOLDER: folder },
  });
  const [code] = await once(server, 'exit');
  assert.equal(code, 0);
  const [file] = (await readdir(folder)).filter((name) => name.endsWith('.secrets'));
  const noted = (await readFile(join(folder, file ?? ''), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(noted, [
    ['authorization: bearer', 'sent-in-a-header-1'],
    ['client_secret', 'sent-in-a-body-0002'],
    ['access_token', 'given-in-an-answer-3'],
  ]);
});
