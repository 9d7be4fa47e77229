/** What a box leaves behind where it cannot be kept: whoever takes it is told, and nobody else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { ByteReader, TAR_END, tarFileHeader, tarPadding } from './tar-stream.ts';
import { type TakeOptions, takeWorkspace } from './workspace-archive.ts';

/** As long as a database takes to make a place for it. */
const PLACE_MS = 10;

function take(tar: AsyncIterable<Buffer>, placed: () => void = () => undefined) {
  const files: TakeOptions['files'] = {
    async storeArchive(_projectId, _id, content) {
      await wait(PLACE_MS);
      placed();
      let bytes = 0;
      for await (const chunk of content) bytes += chunk.length;
      return { bytes };
    },
    storeOutput: () => assert.fail('there is no output'),
  };
  const own = { projectId: 'prj_1', archiveId: 'blob_1', known: {}, stored: () => undefined };
  return takeWorkspace(new ByteReader(tar), { ...own, files, maxBytes: 1_000_000 });
}

function fileOf(path: string, content: string): Buffer {
  return Buffer.concat([tarFileHeader(path, content.length), Buffer.from(content), tarPadding(content.length)]);
}

test('a workspace that is found too large before there is a place for it is refused', async () => {
  async function* tar() {
    yield Buffer.concat([fileOf('workspace/a', 'a'), tarFileHeader('workspace/big', 8_000_000_000)]);
  }
  await assert.rejects(take(tar()), { name: 'WorkspaceError' });
});

test('a workspace that no place can be made for fails with what the store says', async () => {
  async function* tar() {
    yield fileOf('workspace/a', 'a');
    await wait(3 * PLACE_MS);
    yield Buffer.concat([fileOf('workspace/b', 'b'), TAR_END]);
  }
  const lost = new Error('the connection is lost');
  const fail = () => {
    throw lost;
  };
  await assert.rejects(take(tar(), fail), lost);
});
