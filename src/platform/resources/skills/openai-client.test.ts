/** What the official client does with skills, against this server. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI, { ConflictError, NotFoundError, toFile } from 'openai';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { skillText, zipOf } from '../../../../test/support/skills.ts';
import { unpackZip } from './bundle/unpack-zip.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

async function connect(): Promise<OpenAI> {
  const { token } = await platform.createProject();
  return new OpenAI({ apiKey: token, baseURL: `${platform.url}/v1`, maxRetries: 0 });
}

const fileAt = (path: string, content: string) => toFile(Buffer.from(content), path);

test('uploads a folder, adds versions, moves the default one, downloads and deletes', async () => {
  const client = await connect();
  const files = [
    await fileAt('numbers/SKILL.md', skillText('add-numbers')),
    await fileAt('numbers/references/sums.md', 'Two.'),
  ];
  const skill = await client.skills.create({ files });
  assert.deepEqual([skill.object, skill.name, Number(skill.default_version)], ['skill', 'add-numbers', 1]);
  await assert.rejects(client.skills.create({ files }), ConflictError);
  const archive = await toFile(await zipOf({ 'SKILL.md': skillText('add-numbers', 'Second.') }), 'numbers.zip');
  const second = await client.skills.versions.create(skill.id, { files: archive });
  assert.deepEqual([Number(second.version), second.description], [2, 'Second.']);
  const updated = await client.skills.update(skill.id, { default_version: '2' });
  assert.deepEqual([Number(updated.default_version), updated.description], [2, 'Second.']);
  const third = await client.skills.versions.create(skill.id, { files, default: true });
  assert.equal(Number((await client.skills.retrieve(skill.id)).default_version), Number(third.version));
  const versions: number[] = [];
  for await (const { version } of client.skills.versions.list(skill.id, { limit: 1 })) versions.push(Number(version));
  assert.deepEqual(versions, [3, 2, 1]);
  const shown = await client.skills.versions.retrieve('1', { skill_id: skill.id });
  assert.equal(shown.description, 'Adds numbers.');
  const content = await client.skills.versions.content.retrieve('1', { skill_id: skill.id });
  const unpacked = await unpackZip(Buffer.from(await content.arrayBuffer()));
  assert.deepEqual(
    unpacked.map(({ path }) => path),
    ['SKILL.md', 'references/sums.md'],
  );
  await client.skills.versions.delete('2', { skill_id: skill.id });
  await assert.rejects(client.skills.versions.delete('3', { skill_id: skill.id }), ConflictError);
  await client.skills.delete(skill.id);
  await assert.rejects(client.skills.retrieve(skill.id), NotFoundError);
});

test('creates a skill from a zip archive, and reads one file of it', async () => {
  const client = await connect();
  const content = { 'SKILL.md': skillText('zipped'), 'scripts/add.sh': 'echo $((1 + 2))\n' };
  const skill = await client.skills.create({ files: await toFile(await zipOf(content), 'zipped.zip') });
  assert.deepEqual([skill.name, skill.latest_version], ['zipped', skill.default_version]);
  const one = await client.skills.versions.content.retrieve(
    '1',
    { skill_id: skill.id },
    { query: { path: 'scripts/add.sh' } },
  );
  assert.equal(await one.text(), content['scripts/add.sh']);
});

test('lists every skill once, page by page, and what is after the last one is empty', async () => {
  const { token } = await platform.createProject();
  const pages: { readonly after: string | null; readonly ids: readonly string[] }[] = [];
  const client = new OpenAI({
    apiKey: token,
    baseURL: `${platform.url}/v1`,
    maxRetries: 0,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (init?.method?.toUpperCase() !== 'GET') return response;
      const { data } = (await response.clone().json()) as { data: { id: string }[] };
      pages.push({ after: new URL(String(url)).searchParams.get('after'), ids: data.map(({ id }) => id) });
      return response;
    },
  });
  const made: string[] = [];
  for (let n = 0; n < 4; n += 1) {
    made.push((await client.skills.create({ files: [await fileAt('SKILL.md', skillText(`skill-${n}`))] })).id);
  }
  const met: string[] = [];
  for await (const { id } of client.skills.list({ limit: 2, order: 'asc' })) met.push(id);
  assert.deepEqual(met, made);
  const [one, two, three, four] = made;
  assert.deepEqual(pages, [
    { after: null, ids: [one, two] },
    { after: two, ids: [three, four] },
  ]);
  // Clients that do not look at `has_more` go on until a page is empty.
  const beyond = await client.skills.list({ limit: 2, order: 'asc', after: four ?? '' });
  assert.deepEqual([beyond.data, beyond.has_more], [[], false]);
});
