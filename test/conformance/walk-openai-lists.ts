/**
 * Walks through the lists of the OpenAI dialect with the official client, while objects go: each goes on where it stood, and
 * meets whatever stays exactly once.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import OpenAI, { UnprocessableEntityError } from 'openai';
import { CursorPage, type PagePromise } from 'openai/pagination';
import { sweepTombstones } from '../../src/platform/maintenance/sweep-tombstones.ts';
import { type Client, startPlatform, type TestProject } from '../support/platform.ts';
import { bundleForm, skillText, uploadSkill } from '../support/skills.ts';
import { eventually } from '../support/turns.ts';
import { assertRefusal } from './assert-refusal.ts';
import { type Share, takeTurns } from './take-turns.ts';
import { missingId, uploadFile } from './world.ts';

export async function testWalks(share: Share): Promise<void> {
  const platform = await startPlatform();
  after(() => platform.close());

  const COUNT = 5;
  const LIMIT = 2;

  interface Query {
    readonly limit?: number;
    readonly order?: 'asc' | 'desc';
    readonly after?: string;
    readonly before?: string;
  }

  type Page = CursorPage<{ id: string }>;

  /** A list with objects in it. */
  interface Subject {
    readonly project: TestProject;
    readonly path: string;
    /** Oldest first. */
    readonly ids: readonly string[];
    page(query: Query): PagePromise<Page, { id: string }>;
    /** One that stays whatever is tried is left alone. */
    remove(id: string): Promise<unknown>;
  }

  function clientOf({ token }: Client): OpenAI {
    return new OpenAI({ apiKey: token, baseURL: `${platform.url}/v1`, maxRetries: 0 });
  }

  async function times(count: number, make: () => Promise<string>): Promise<string[]> {
    const made: string[] = [];
    while (made.length < count) made.push(await make());
    return made;
  }

  /** A store whose files were added against the order of their ids. */
  async function fillStore(count: number) {
    const project = await platform.createProject();
    const client = clientOf(project);
    const { id } = await client.vectorStores.create({});
    const ids = (await times(count, () => uploadFile(project))).reverse();
    return {
      project,
      client,
      id,
      ids,
      remove: (file: string) => client.vectorStores.files.delete(file, { vector_store_id: id }),
    };
  }

  const subjects: Readonly<Record<string, (count: number) => Promise<Subject>>> = {
    async files(count) {
      const project = await platform.createProject();
      const client = clientOf(project);
      const ids = await times(count, () => uploadFile(project));
      const remove = (id: string) => client.files.delete(id);
      return { project, path: '/v1/files', ids, page: (query) => client.files.list(query), remove };
    },
    async conversations(count) {
      const project = await platform.createProject();
      const client = clientOf(project);
      const smith = await project.createSmith();
      const made = () => client.conversations.create({}, { headers: { 'ic-smith-id': smith } });
      return {
        project,
        path: '/v1/conversations',
        ids: await times(count, async () => (await made()).id),
        page: (query) => client.getAPIList('/conversations', CursorPage<{ id: string }>, { query: { ...query } }),
        remove: (id) => client.conversations.delete(id),
      };
    },
    async skills(count) {
      const project = await platform.createProject();
      const client = clientOf(project);
      const ids = await times(count, () => uploadSkill(project));
      const remove = (id: string) => client.skills.delete(id);
      return { project, path: '/v1/skills', ids, page: (query) => client.skills.list(query), remove };
    },
    async 'versions of a skill'(count) {
      const project = await platform.createProject();
      const client = clientOf(project);
      const form = () => bundleForm({ 'SKILL.md': skillText('versioned') });
      const skill = (await project.post('/v1/skills', form())).body.id as string;
      const path = `/v1/skills/${skill}/versions`;
      const later = await times(count - 1, async () => (await project.post(path, form())).body.id);
      return {
        project,
        path,
        ids: [`${skill}@1`, ...later],
        page: (query) => client.skills.versions.list(skill, query),
        async remove(id) {
          const version = id.slice(id.indexOf('@') + 1);
          if (version !== '1') await client.skills.versions.delete(version, { skill_id: skill });
        },
      };
    },
    async 'vector stores'(count) {
      const project = await platform.createProject();
      const client = clientOf(project);
      const ids = await times(count, async () => (await client.vectorStores.create({})).id);
      const remove = (id: string) => client.vectorStores.delete(id);
      return { project, path: '/v1/vector_stores', ids, page: (query) => client.vectorStores.list(query), remove };
    },
    async 'files of a vector store'(count) {
      const { project, client, id, ids, remove } = await fillStore(count);
      for (const file_id of ids) await client.vectorStores.files.create(id, { file_id });
      const path = `/v1/vector_stores/${id}/files`;
      return { project, path, ids, page: (query) => client.vectorStores.files.list(id, query), remove };
    },
    async 'files of a batch'(count) {
      const { project, client, id, ids, remove } = await fillStore(count + 1);
      const [alone, ...file_ids] = ids;
      await client.vectorStores.files.create(id, { file_id: alone ?? '' });
      const batch = await client.vectorStores.fileBatches.create(id, { file_ids });
      return {
        project,
        path: `/v1/vector_stores/${id}/file_batches/${batch.id}/files`,
        ids: file_ids,
        page: (query) => client.vectorStores.fileBatches.listFiles(batch.id, { vector_store_id: id, ...query }),
        remove,
      };
    },
  };

  const inOrder = (ids: readonly string[], order: string) => (order === 'asc' ? [...ids] : ids.toReversed());
  const idsOf = (page: { readonly data: readonly { id: string }[] }) => page.data.map(({ id }) => id);

  const ORDERS = ['asc', 'desc'] as const;
  for (const [index, [name, open]] of Object.entries(subjects).entries()) {
    describe(name, () => {
      for (const order of takeTurns(share, ORDERS, index, 1)) {
        test(`a walk that deletes what it meets comes to the end: ${order}`, async () => {
          const { ids, page, remove } = await open(COUNT);
          const met: string[] = [];
          for await (const { id } of page({ limit: LIMIT, order })) {
            met.push(id);
            await remove(id);
          }
          assert.deepEqual(met, inOrder(ids, order));
        });

        test(`a walk behind objects that go meets what stays once: ${order}`, async () => {
          const { ids, page, remove } = await open(COUNT);
          const met: string[] = [];
          for (let next: Page | undefined = await page({ limit: LIMIT, order }); next; ) {
            met.push(...idsOf(next));
            await remove(met.at(-1) ?? '');
            next = next.hasNextPage() ? await next.getNextPage() : undefined;
          }
          assert.deepEqual(met, inOrder(ids, order));
        });
      }

      for (const order of takeTurns(share, ORDERS, index + 1, 1)) {
        test(`a walk ahead of objects that go meets what stays once: ${order}`, async () => {
          const { ids, page, remove } = await open(COUNT);
          const expected = inOrder(ids, order);
          const met = expected.slice(-1);
          for (let more = true; more; ) {
            const [before = ''] = met;
            await remove(before);
            const found = await page({ limit: LIMIT, order, before });
            met.unshift(...idsOf(found));
            more = found.has_more;
          }
          assert.deepEqual(met, expected);
        });
      }

      test('what is gone is a place of its own list alone: elsewhere it is as what never was', async () => {
        const { path, project, ids, page, remove } = await open(3);
        const gone = ids[1] ?? '';
        await remove(gone);
        for (const member of ['after', 'before']) {
          const missing = missingId(gone.slice(0, gone.indexOf('_')));
          const refused = await project.get(`${path}?${member}=${missing}`);
          assertRefusal(refused, 422, 'invalid_cursor', member);
          const abroad = await open(1);
          const answers = [await abroad.project.get(`${abroad.path}?${member}=${gone}`)];
          for (const other of ['/v1/files', '/v1/conversations', '/v1/skills', '/v1/vector_stores']) {
            // The file itself is there still when it is taken out of a store.
            if (other !== path && !gone.startsWith('file_'))
              answers.push(await project.get(`${other}?${member}=${gone}`));
          }
          for (const answer of answers) assert.deepEqual([answer.status, answer.text], [422, refused.text]);
          await assert.rejects(Promise.resolve(page({ [member]: `${gone}0` })), UnprocessableEntityError);
          assert.equal((await page({ [member]: gone })).data.length, 1);
        }
      });
    });
  }

  test('a client deletes every file of a long list', async () => {
    const { project, page, remove } = (await subjects.files?.(0)) ?? assert.fail();
    await times(25, () => uploadFile(project));
    let met = 0;
    for await (const { id } of page({})) {
      met += 1;
      await remove(id);
    }
    assert.deepEqual([met, (await page({})).data], [25, []]);
  });

  test('a deleted conversation is a place after its rows are gone, too, and so is one whose smith was archived', async () => {
    const project = await platform.createProject();
    const [one, two] = [await project.createSmith(), await project.createSmith()];
    const create = async (smith: string) =>
      (await project.post('/v1/conversations', {}, { 'ic-smith-id': smith })).body.id;
    const [stays, archived, gone, last] = [await create(one), await create(two), await create(one), await create(one)];
    assert.equal((await project.delete(`/v1/conversations/${gone}`)).status, 200);
    await eventually(async () => {
      const { rowCount } = await platform.db.query({
        text: 'select from conversations where project_id = $1 and id = $2',
        values: [project.projectId, gone],
      });
      return rowCount === 0 ? true : undefined;
    }, 'the conversation is purged');
    assert.deepEqual(idsOf((await project.get(`/v1/conversations?limit=1&after=${gone}`)).body), [archived]);
    assert.deepEqual(idsOf((await project.get(`/v1/conversations?order=asc&after=${gone}`)).body), [last]);
    assert.equal((await project.delete(`/v1/smiths/${two}`)).status, 204);
    assert.deepEqual(idsOf((await project.get(`/v1/conversations?after=${archived}`)).body), [stays]);
    assert.deepEqual(idsOf((await project.get(`/v1/conversations?before=${archived}`)).body), [last]);
  });

  test('a smith walks behind what it lost itself, and not behind what another smith or the tenant lost', async () => {
    const project = await platform.createProject();
    const scopes = [
      'files:read',
      'files:write',
      'vector_stores:read',
      'vector_stores:write',
      'conversations:read',
      'conversations:write',
    ];
    const clientOfSmith = async () => project.as(await project.smithToken(await project.createSmith(), scopes));
    const [mine, other] = [await clientOfSmith(), await clientOfSmith()];
    const create: Readonly<Record<string, (caller: Client) => Promise<string>>> = {
      '/v1/files': uploadFile,
      '/v1/vector_stores': async (caller) => (await caller.post('/v1/vector_stores', {})).body.id,
      '/v1/conversations': async (caller) => (await caller.post('/v1/conversations', {})).body.id,
    };
    for (const [path, make] of Object.entries(create)) {
      const first = await make(mine);
      const gone = await make(mine);
      assert.equal((await mine.delete(`${path}/${gone}`)).status, 200);
      for (const caller of [mine, project]) {
        assert.deepEqual(idsOf((await caller.get(`${path}?after=${gone}`)).body), [first], path);
      }
      const missing = await other.get(`${path}?after=${missingId(gone.slice(0, gone.indexOf('_')))}`);
      const refused = await other.get(`${path}?after=${gone}`);
      assert.deepEqual([refused.status, refused.text], [422, missing.text]);
    }
    const ofTenant = await uploadFile(project);
    await project.delete(`/v1/files/${ofTenant}`);
    assertRefusal(await mine.get(`/v1/files?after=${ofTenant}`), 422, 'invalid_cursor', 'after');
  });

  test('an expired file is a place before it is swept', async () => {
    const project = await platform.createProject();
    const [first, expired] = await times(2, () => uploadFile(project));
    await platform.db.query({
      text: `update files set expires_at = now() - interval '1 second' where project_id = $1 and id = $2`,
      values: [project.projectId, expired],
    });
    assert.deepEqual(idsOf((await project.get(`/v1/files?after=${expired}`)).body), [first]);
    assert.deepEqual(idsOf((await project.get(`/v1/files?before=${expired}`)).body), []);
  });

  test('a file that only a conversation showed is no place once it is gone', async () => {
    const project = await platform.createProject();
    const hidden = await uploadFile(project);
    await platform.db.query({
      text: 'update files set listed = false where project_id = $1 and id = $2',
      values: [project.projectId, hidden],
    });
    assertRefusal(await project.get(`/v1/files?after=${hidden}`), 422, 'invalid_cursor', 'after');
    assert.equal((await project.delete(`/v1/files/${hidden}`)).status, 200);
    assertRefusal(await project.get(`/v1/files?after=${hidden}`), 422, 'invalid_cursor', 'after');
  });

  test('a file that is deleted, or added anew by another batch, keeps its place in the lists that it left', async () => {
    const { project, client, id, ids, remove } = await fillStore(4);
    const [one = '', two = '', three = '', four = ''] = ids;
    const first = await client.vectorStores.fileBatches.createAndPoll(id, { file_ids: [one, two, three] });
    const path = `/v1/vector_stores/${id}`;
    const behind = async (list: string, file: string) =>
      idsOf((await project.get(`${path}${list}?after=${file}`)).body);
    await remove(two);
    await client.vectorStores.fileBatches.createAndPoll(id, { file_ids: [four, two] });
    assert.deepEqual(await behind(`/file_batches/${first.id}/files`, two), [one]);
    assert.deepEqual(await behind('/files', two), [four, three, one], 'it stands where it was added last');
    await client.files.delete(three);
    assert.deepEqual(await behind('/files', three), [one]);
    await remove(two);
    assert.deepEqual(await behind('/files', two), [four, one]);
    assert.deepEqual(await behind(`/file_batches/${first.id}/files`, two), [one]);
  });

  test('places are known for 30 days', async () => {
    for (const name of ['files', 'files of a vector store']) {
      const { project, path, ids, remove } = (await subjects[name]?.(3)) ?? assert.fail();
      const gone = ids[1] ?? '';
      await remove(gone);
      const age = async (days: number) => {
        for (const table of ['tombstones', 'vector_store_file_tombstones']) {
          await platform.db.query({
            text: `update ${table} set removed_at = now() - make_interval(days => $2, mins => 1) where project_id = $1`,
            values: [project.projectId, days],
          });
        }
        await sweepTombstones(platform.db, new AbortController().signal);
      };
      await age(29);
      assert.deepEqual(idsOf((await project.get(`${path}?after=${gone}`)).body), [ids[0]]);
      await age(30);
      assertRefusal(await project.get(`${path}?after=${gone}`), 422, 'invalid_cursor', 'after');
    }
  });
}
