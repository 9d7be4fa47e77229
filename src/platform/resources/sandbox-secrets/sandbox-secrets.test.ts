import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startLately } from '../../../../test/support/lately.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { MAX_NAME_LENGTH, MAX_SECRETS, MAX_VALUE_BYTES } from './limits.ts';

const isLately = startLately();

const platform = await startPlatform();
after(() => platform.close());

const SECRETS = '/v1/tenant/sandbox_secrets';
const VALUE = 'hunter2-7c1f';

test('a secret is set, listed by name, replaced and deleted, and never shown', async () => {
  const project = await platform.createProject();
  const set = await project.put(`${SECRETS}/API_KEY`, { value: VALUE });
  assert.deepEqual([set.status, set.body], [200, { name: 'API_KEY', configured: true }]);
  assert.equal((await project.put(`${SECRETS}/API_KEY`, { value: 'another' })).status, 200);
  assert.equal((await project.put(`${SECRETS}/_b2`, { value: VALUE })).status, 200);
  const list = await project.get(SECRETS);
  assert.deepEqual(Object.keys(list.body), ['data']);
  const rows = list.body.data.map(({ updated_at, ...row }: Record<string, unknown>) => {
    assert.ok(isLately(String(updated_at)));
    return row;
  });
  assert.deepEqual(rows, [{ name: 'API_KEY' }, { name: '_b2' }]);

  const gone = await project.delete(`${SECRETS}/API_KEY`);
  assert.deepEqual([gone.status, gone.text], [204, '']);
  assert.equal((await project.delete(`${SECRETS}/API_KEY`)).body.error.code, 'not_found');
  const events = (await project.get('/v1/events?type=sandbox_secret')).body.data;
  assert.deepEqual(events.map(({ type, data }: { type: string; data: unknown }) => [type, data]).reverse(), [
    ['sandbox_secret.updated', { name: 'API_KEY' }],
    ['sandbox_secret.updated', { name: 'API_KEY' }],
    ['sandbox_secret.updated', { name: '_b2' }],
    ['sandbox_secret.deleted', { name: 'API_KEY' }],
  ]);
  const stored = await platform.db.query<{ row: string }>({
    text: 'select row_to_json(s)::text as row from sandbox_secrets s where project_id = $1',
    values: [project.projectId],
  });
  for (const text of [set.text, list.text, JSON.stringify(events), JSON.stringify(stored.rows)]) {
    assert.ok(!text.includes(VALUE) && !text.includes('another'), text);
  }
});

test('an empty value, or none, is secret_required; one that no variable can hold is refused', async () => {
  const project = await platform.createProject();
  const cases: readonly (readonly [Record<string, unknown>, string])[] = [
    [{}, 'secret_required'],
    [{ value: '' }, 'secret_required'],
    [{ value: 'a\0b' }, 'invalid_request'],
    [{ value: 'x'.repeat(MAX_VALUE_BYTES + 1) }, 'invalid_request'],
    [{ value: 'é'.repeat(MAX_VALUE_BYTES / 2 + 1) }, 'invalid_request'],
    [{ value: VALUE, other: 1 }, 'invalid_request'],
  ];
  for (const [body, code] of cases) {
    const answer = await project.put(`${SECRETS}/API_KEY`, body);
    assert.deepEqual([answer.status, answer.body.error.code], [422, code], answer.text);
  }
  assert.equal((await project.put(`${SECRETS}/API_KEY`, { value: 'x'.repeat(MAX_VALUE_BYTES) })).status, 200);
});

test('a name that is no variable, or that decides what runs, is invalid_name', async () => {
  const project = await platform.createProject();
  const names = [
    ...['1A', 'A-B', 'A.B', 'A=B', 'É', 'A%00', 'A%0A', 'A%20B', `A${'x'.repeat(MAX_NAME_LENGTH)}`],
    ...[
      'LD_PRELOAD',
      'LD_LIBRARY_PATH',
      'LD_AUDIT',
      'GLIBC_TUNABLES',
      'GCONV_PATH',
      'MALLOC_CHECK_',
      'PATH',
      'HOME',
      'IFS',
    ],
    ...[
      'BASH_ENV',
      'ENV',
      'SHELLOPTS',
      'PS4',
      'PROMPT_COMMAND',
      'NODE_OPTIONS',
      'NODE_PATH',
      'PYTHONPATH',
      'PYTHONSTARTUP',
    ],
    ...[
      'PERL5OPT',
      'PERL5LIB',
      'RUBYOPT',
      'JAVA_TOOL_OPTIONS',
      'GIT_SSH_COMMAND',
      'GIT_CONFIG_COUNT',
      'TAR_OPTIONS',
      'PAGER',
    ],
    ...['OPENSSL_CONF', 'IRONCRAFT_MASTER_KEY'],
  ];
  for (const name of names) {
    const answer = await project.put(`${SECRETS}/${name}`, { value: VALUE });
    assert.deepEqual([answer.status, answer.body.error.code], [422, 'invalid_name'], `${name}: ${answer.text}`);
  }
  for (const name of ['A', '_', 'GITHUB_TOKEN', 'http_proxy', 'x'.repeat(MAX_NAME_LENGTH)]) {
    assert.equal((await project.put(`${SECRETS}/${name}`, { value: VALUE })).status, 200, name);
  }
});

test('a project has so many secrets and no more; those that it has may still be replaced', async () => {
  const project = await platform.createProject();
  for (let n = 1; n <= MAX_SECRETS; n += 1) {
    assert.equal((await project.put(`${SECRETS}/S${n}`, { value: VALUE })).status, 200);
  }
  const beyond = await project.put(`${SECRETS}/ONE_MORE`, { value: VALUE });
  assert.deepEqual([beyond.status, beyond.body.error.code], [422, 'invalid_request']);
  assert.match(beyond.body.error.message, new RegExp(String(MAX_SECRETS)));
  assert.equal((await project.put(`${SECRETS}/S1`, { value: 'new' })).status, 200);
});

test('a smith token reaches no secret, and another project sees none of them', async () => {
  const project = await platform.createProject();
  await project.put(`${SECRETS}/API_KEY`, { value: VALUE });
  const smithId = await project.createSmith();
  const smith = project.as(await project.smithToken(smithId, ['runs:read', 'runs:write']));
  for (const answer of [
    await smith.get(SECRETS),
    await smith.put(`${SECRETS}/A`, { value: VALUE }),
    await smith.delete(`${SECRETS}/API_KEY`),
  ]) {
    assert.deepEqual([answer.status, answer.body.error.code], [403, 'admin_required']);
  }
  const stranger = await platform.createProject();
  assert.deepEqual((await stranger.get(SECRETS)).body, { data: [] });
  assert.equal((await stranger.delete(`${SECRETS}/API_KEY`)).status, 404);
});
