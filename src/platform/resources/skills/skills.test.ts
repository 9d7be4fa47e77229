import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import {
  type Answer,
  type Client,
  PROJECT_STORAGE_BYTES,
  startPlatform,
  type TestPlatform,
  type TestProject,
} from '../../../../test/support/platform.ts';
import { bundleForm, postZip, skillText, zipOf } from '../../../../test/support/skills.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { reconcileStorage } from '../../maintenance/reconcile-storage.ts';
import { sweepOrphanedBlobs } from '../../maintenance/sweep-orphaned-blobs.ts';
import { MAX_FILES } from './bundle/limits.ts';
import { unpackZip } from './bundle/unpack-zip.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

const NUMBERS = {
  'SKILL.md': skillText('add-numbers', 'Adds numbers.', 'license: MIT\nmetadata:\n  author: somebody\n'),
  'references/sums.md': 'One and one is two.',
  'scripts/add.py': 'print(1 + 1)',
  'assets/logo.png': randomBytes(3_000),
};

async function createNumbers(project: Client, name = 'add-numbers'): Promise<string> {
  const answer = await project.post('/v1/skills', bundleForm({ 'SKILL.md': skillText(name) }));
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
}

async function download(project: Client, path: string, headers = {}): Promise<Buffer> {
  const response = await project.open('GET', path, undefined, headers);
  assert.ok(response.ok, `${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

async function eventsOf(project: Client): Promise<[string, object][]> {
  const { body } = await project.get('/v1/events?limit=100');
  return body.data
    .filter(({ type }: { type: string }) => type.startsWith('skill.'))
    .map(({ type, data }: { type: string; data: object }) => [type, data]);
}

async function usedBytes(project: TestProject): Promise<number> {
  return (await project.get('/v1/tenant/storage')).body.used_bytes;
}

describe('a bundle', () => {
  test('of loose files is a skill, whose first version shows and gives back each file', async () => {
    const project = await platform.createProject();
    const made = await project.post('/v1/skills', bundleForm(NUMBERS));
    assert.equal(made.status, 201, made.text);
    const { id, created_at, updated_at, ...skill } = made.body;
    assert.deepEqual(skill, {
      object: 'skill',
      name: 'add-numbers',
      description: 'Adds numbers.',
      default_version: 1,
      latest_version: 1,
    });
    assert.ok(Date.parse(created_at) > 0 && Date.parse(updated_at) > 0);
    const { body: version } = await project.get(`/v1/skills/${id}/versions/1`);
    assert.deepEqual(
      [version.skill_id, version.version, version.license, version.compatibility, version.metadata],
      [id, 1, 'MIT', null, { author: 'somebody' }],
    );
    assert.deepEqual(
      [version.references, version.scripts, version.assets, version.referenced_by],
      [['references/sums.md'], ['scripts/add.py'], ['assets/logo.png'], []],
    );
    for (const [path, content] of Object.entries(NUMBERS)) {
      const bytes = Buffer.from(content);
      const file = version.files.find((one: { path: string }) => one.path === path);
      assert.deepEqual([file.size, file.sha256], [bytes.length, createHash('sha256').update(bytes).digest('hex')]);
      const url = `/v1/skills/${id}/versions/1/content?path=${encodeURIComponent(path)}`;
      assert.deepEqual(await download(project, url), bytes, path);
      assert.deepEqual(await download(project, url, { range: 'bytes=2-6' }), bytes.subarray(2, 7), path);
    }
    assert.equal(
      version.bytes,
      Object.values(NUMBERS).reduce((sum, content) => sum + Buffer.from(content).length, 0),
    );
    const missing = await project.get(`/v1/skills/${id}/versions/1/content?path=nothing`);
    assertRefusal(missing, 404, 'not_found', 'path');
  });

  test('makes the same archive however it came: loose, in a folder, as a part, or as the body', async () => {
    const archives = new Set<string>();
    const inFolder = Object.fromEntries(Object.entries(NUMBERS).map(([path, content]) => [`numbers/${path}`, content]));
    const archive = await zipOf({ ...inFolder, '__MACOSX/numbers/._SKILL.md': 'x' });
    const form = (name: string) => {
      const made = new FormData();
      made.set(name, new Blob([archive]), 'numbers.zip');
      return made;
    };
    const answers: ((project: Client) => Promise<Answer>)[] = [
      (project) => project.post('/v1/skills', bundleForm(Object.fromEntries(Object.entries(NUMBERS).reverse()))),
      (project) => project.post('/v1/skills', bundleForm(inFolder)),
      (project) => project.post('/v1/skills', form('files')),
      (project) => project.post('/v1/skills', form('file')),
      (project) => postZip(platform.url, project, archive),
    ];
    for (const send of answers) {
      const project = await platform.createProject();
      const made = await send(project);
      assert.equal(made.status, 201, made.text);
      const url = `/v1/skills/${made.body.id}/versions/1/content`;
      const content = await download(project, url);
      archives.add(content.toString('base64'));
      const files = await unpackZip(content);
      assert.deepEqual(
        files.map(({ path }) => path),
        Object.keys(NUMBERS).sort(),
      );
      const first = await project.open('GET', url);
      assert.equal(first.headers.get('content-type'), 'application/zip');
      const again = await project.open('GET', url, undefined, { 'if-none-match': first.headers.get('etag') ?? '' });
      assert.equal(again.status, 304);
      await first.arrayBuffer();
      assert.deepEqual(await download(project, url, { range: 'bytes=10-19' }), content.subarray(10, 20));
    }
    assert.equal(archives.size, 1);
  });

  test('that is none is refused, and leaves nothing', async () => {
    const project = await platform.createProject();
    const good = skillText('a');
    const bundles: [string, FormData][] = [
      ['no SKILL.md', bundleForm({ 'README.md': good })],
      ['two folders', bundleForm({ 'a/SKILL.md': good, 'b/x': '1' })],
      ['a way out', bundleForm({ 'SKILL.md': good, '../x': '1' })],
      ['an absolute path', bundleForm({ 'SKILL.md': good, '/x': '1' })],
      ['a path twice', bundleForm({ 'SKILL.md': good, a: '1', 'a/b': '2' })],
      ['no YAML', bundleForm({ 'SKILL.md': 'text' })],
      ['no zip', bundleForm({ 'skill.zip': 'text' })],
    ];
    for (const [what, form] of bundles) {
      assertRefusal(await project.post('/v1/skills', form), 422, 'invalid_bundle', 'files');
      assert.equal(await usedBytes(project), 0, what);
    }
    assertRefusal(await project.post('/v1/skills', new FormData()), 422, 'invalid_request', 'files');
    assertRefusal(await project.post('/v1/skills', {}), 422, 'invalid_request', 'Content-Type');
    const { rows } = await platform.db.query({
      text: 'select from unclaimed_blobs where project_id = $1',
      values: [project.projectId],
    });
    assert.equal(rows.length, 0);
  });

  test('has as many files as are allowed, and not one more', async () => {
    const project = await platform.createProject();
    const filesOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, 'x']));
    const most = bundleForm({ 'SKILL.md': skillText('most'), ...filesOf(MAX_FILES - 1) });
    const made = await project.post('/v1/skills', most);
    assert.equal(made.status, 201, made.text);
    const more = bundleForm({ 'SKILL.md': skillText('more'), ...filesOf(MAX_FILES) });
    assertRefusal(await project.post('/v1/skills', more), 413, 'payload_too_large', 'files');
  });
});

describe('a skill', () => {
  test('has a name of its own in its project', async () => {
    const [project, other] = [await platform.createProject(), await platform.createProject()];
    await createNumbers(project);
    const again = await project.post('/v1/skills', bundleForm({ 'SKILL.md': skillText('add-numbers') }));
    assertRefusal(again, 409, 'skill_exists', 'files');
    await createNumbers(other);
  });

  test('has versions that never change, whose numbers are not given twice', async () => {
    const project = await platform.createProject();
    const id = await createNumbers(project);
    const add = (description: string, fields = {}) =>
      project.post(
        `/v1/skills/${id}/versions`,
        bundleForm({ 'SKILL.md': skillText('add-numbers', description) }, fields),
      );
    const second = await add('Second.');
    assert.deepEqual([second.status, second.body.version, second.body.description], [201, 2, 'Second.']);
    assert.equal((await project.get(`/v1/skills/${id}`)).body.description, 'Adds numbers.');
    assert.equal((await project.delete(`/v1/skills/${id}/versions/2`)).status, 204);
    assert.equal((await add('Third.', { default: 'true' })).body.version, 3);
    const { body } = await project.get(`/v1/skills/${id}`);
    assert.deepEqual([body.default_version, body.latest_version, body.description], [3, 3, 'Third.']);
    const listed = await project.get(`/v1/skills/${id}/versions`);
    assert.deepEqual(
      listed.body.data.map(({ version }: { version: number }) => version),
      [3, 1],
    );
    const renamed = bundleForm({ 'SKILL.md': skillText('another') });
    assertRefusal(await project.post(`/v1/skills/${id}/versions`, renamed), 422, 'invalid_bundle', 'files');
    assertRefusal(await project.delete(`/v1/skills/${id}/versions/3`), 409, 'skill_in_use', null);
    for (const default_version of [1, '3']) {
      const moved = await project.post(`/v1/skills/${id}`, { default_version });
      assert.deepEqual([moved.status, moved.body.default_version], [200, Number(default_version)]);
    }
    for (const default_version of [2, '99']) {
      const refused = await project.post(`/v1/skills/${id}`, { default_version });
      assertRefusal(refused, 404, 'not_found', 'default_version');
    }
    for (const default_version of [0, '01', 'x', 1.5, 2 ** 31, null]) {
      const refused = await project.post(`/v1/skills/${id}`, { default_version });
      assertRefusal(refused, 422, 'invalid_request', 'default_version');
    }
    assert.equal((await project.delete(`/v1/skills/${id}`)).status, 204);
    assertRefusal(await project.get(`/v1/skills/${id}/versions/1`), 404, 'not_found', null);
    assert.deepEqual((await eventsOf(project)).reverse(), [
      ['skill.created', { skill_id: id, name: 'add-numbers' }],
      ['skill.version_created', { skill_id: id, version: 2 }],
      ['skill.version_deleted', { skill_id: id, version: 2 }],
      ['skill.version_created', { skill_id: id, version: 3 }],
      ['skill.updated', { skill_id: id, default_version: 3 }],
      ['skill.updated', { skill_id: id, default_version: 1 }],
      ['skill.updated', { skill_id: id, default_version: 3 }],
      ['skill.deleted', { skill_id: id }],
    ]);
  });

  test('ten versions uploaded at once have ten numbers', async () => {
    const project = await platform.createProject();
    const id = await createNumbers(project);
    const form = () => bundleForm({ 'SKILL.md': skillText('add-numbers') });
    const made = await Promise.all(Array.from({ length: 10 }, () => project.post(`/v1/skills/${id}/versions`, form())));
    assert.deepEqual(
      made.map(({ body }) => body.version).sort((a, b) => a - b),
      [2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    );
  });
});

describe('the archive of a version', () => {
  test('counts in the project’s storage, and is removed with it', async () => {
    const project = await platform.createProject();
    const id = await createNumbers(project);
    const first = await usedBytes(project);
    const content = await download(project, `/v1/skills/${id}/versions/1/content`);
    assert.equal(first, content.length);
    await project.post(`/v1/skills/${id}/versions`, bundleForm({ 'SKILL.md': skillText('add-numbers') }));
    assert.equal(await usedBytes(project), 2 * first);
    const { rows } = await platform.db.query<{ archive_id: string }>({
      text: 'select archive_id from skill_versions where project_id = $1',
      values: [project.projectId],
    });
    const keys = rows.map(({ archive_id }) => `${project.projectId}/${archive_id}`);
    const logger = openTestLogger();
    const deps = { db: platform.db, blobs: platform.blobs, logger };
    const signal = new AbortController().signal;
    // Neither sweep takes what a version stands for.
    await sweepOrphanedBlobs(deps, signal, new Date(Date.now() + 7_200_000));
    await reconcileStorage(deps, signal);
    for (const key of keys) assert.ok(await platform.blobs.exists(key));
    assert.equal(await usedBytes(project), 2 * first);
    assert.equal((await project.delete(`/v1/skills/${id}`)).status, 204);
    assert.equal(await usedBytes(project), 0);
    for (const key of keys) {
      while (await platform.blobs.exists(key)) await new Promise((resolve) => setImmediate(resolve));
    }
  });

  test('is refused where the project has no room for it', async () => {
    const project = await platform.createProject();
    await platform.db.query({
      text: 'insert into project_storage (project_id, used_bytes) values ($1, $2)',
      values: [project.projectId, PROJECT_STORAGE_BYTES - 100],
    });
    const refused = await project.post('/v1/skills', bundleForm({ 'SKILL.md': skillText('a') }));
    assertRefusal(refused, 413, 'payload_too_large', 'file');
  });
});
