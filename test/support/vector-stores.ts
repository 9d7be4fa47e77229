/** Vector stores over HTTP, with the reader, the embedder and the search that the server runs with. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { startPlatform, type TestPlatform, type TestProject } from './platform.ts';
import { eventually } from './turns.ts';

export const PLANETS = 'Jupiter is the largest planet. Saturn has rings. Mercury is the planet closest to the sun.';
export const BREAD = 'Sourdough bread needs flour, water, salt and patience. The oven must be very hot.';

/** Declares the hooks that start the server, in the suite that is being declared. */
export function useVectorStores() {
  let platform: TestPlatform;
  before(async () => {
    platform = await startPlatform();
  });
  after(() => platform.close());
  const clientOf = (token: string) => new OpenAI({ apiKey: token, baseURL: `${platform.url}/v1`, maxRetries: 0 });
  return {
    get platform() {
      return platform;
    },
    clientOf,
    /** A project, a client of it and a store in it. */
    async openStore(body: OpenAI.VectorStoreCreateParams = {}) {
      const project = await platform.createProject();
      const client = clientOf(project.token);
      const { id } = await client.vectorStores.create(body);
      return { project, client, id, path: `/v1/vector_stores/${id}` };
    },
  };
}

export async function upload(client: OpenAI, text: string, name = 'notes.txt'): Promise<string> {
  return (await client.files.create({ file: await toFile(Buffer.from(text), name), purpose: 'assistants' })).id;
}

export async function settled(project: TestProject, path: string) {
  return eventually(async () => {
    const { body } = await project.get(path);
    return body.status === 'in_progress' ? undefined : body;
  }, `${path} is settled`);
}

/** Declares what may come at once, so many rounds of each. */
export function testVectorStoreRaces(stores: ReturnType<typeof useVectorStores>, rounds: number): void {
  test('deleting a file takes it out of every store, and fails it where it was being indexed', async () => {
    const { client, project, id, path } = await stores.openStore();
    const other = await client.vectorStores.create({});
    const done = await client.vectorStores.files.uploadAndPoll(id, await toFile(Buffer.from(PLANETS), 'a.txt'));
    await client.vectorStores.files.createAndPoll(other.id, { file_id: done.id });
    await client.files.delete(done.id);
    for (const store of [id, other.id]) {
      const body = (await project.get(`/v1/vector_stores/${store}`)).body;
      assert.deepEqual([body.file_counts.total, body.usage_bytes], [0, 0]);
      assert.equal((await project.get(`/v1/vector_stores/${store}/files/${done.id}`)).status, 404);
    }
    // A race by nature: the deletion meets the file before, while or after it is indexed.
    for (let round = 0; round < rounds; round += 1) {
      const fileId = await upload(client, `${PLANETS} `.repeat(40));
      await project.post(`${path}/files`, { file_id: fileId });
      await client.files.delete(fileId);
      const { status, body } = await project.get(`${path}/files/${fileId}`);
      if (status === 404) continue;
      assert.deepEqual(
        [body.status, body.last_error],
        ['failed', { code: 'invalid_file', message: 'The file was deleted before it was indexed.' }],
      );
    }
    await eventually(async () => {
      const { rows } = await stores.platform.db.query<{ count: number }>({
        text: 'select count(*) as count from vector_store_chunks where project_id = $1',
        values: [project.projectId],
      });
      return rows[0]?.count === 0 ? true : undefined;
    }, 'no chunk is left');
    assert.equal((await project.get(path)).body.status, 'completed');
  });

  test('a store that is deleted while it is searched answers as found, or as gone', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { client, project, id, path } = await stores.openStore();
      await client.vectorStores.files.uploadAndPoll(id, await toFile(Buffer.from(PLANETS), 'a.txt'));
      const search = () => project.post(`${path}/search`, { query: 'planet' });
      const [first, second, deletion, ...others] = await Promise.all([
        search(),
        search(),
        project.delete(path),
        ...Array.from({ length: 4 }, search),
      ]);
      const searches = [first, second, ...others];
      assert.equal(deletion.status, 200);
      for (const { status, body, text } of searches) {
        if (status === 200) assert.equal(body.data.length, 1, text);
        else assert.deepEqual([status, body.error.code], [404, 'not_found'], text);
      }
    }
  });

  test('adding files while their store or they themselves are deleted adds them or not at all', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { client, project, path } = await stores.openStore();
      const files = await Promise.all(Array.from({ length: 6 }, (_, at) => upload(client, `${BREAD} ${at}`)));
      const answers = await Promise.all([
        ...files.map((file_id) => project.post(`${path}/files`, { file_id })),
        ...files.slice(0, 3).map((fileId) => project.delete(`/v1/files/${fileId}`)),
        round % 2 === 0 ? project.get(path) : project.delete(path),
      ]);
      for (const { status, text } of answers) assert.ok([200, 404].includes(status), text);
      if (round % 2 === 1) continue;
      const store = await settled(project, path);
      const { rows } = await stores.platform.db.query<{ count: number }>({
        text: 'select count(*) as count from vector_store_files where project_id = $1',
        values: [project.projectId],
      });
      assert.equal(store.file_counts.total, rows[0]?.count);
    }
  });
}
