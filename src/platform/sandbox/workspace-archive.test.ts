/** What a box leaves behind where it cannot be kept: whoever takes it is told, and nobody else. */
import assert from 'node:assert/strict';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { ByteReader, TAR_END, tarFileHeader, tarPadding } from './tar-stream.ts';
import { type TakeOptions, takeWorkspace } from './workspace-archive.ts';

/** `place` is when the store has a place for the archive, `closed` when the archive has been given up. */
function take(tar: (closed: Promise<void>) => AsyncIterable<Buffer>, place: (closed: Promise<void>) => Promise<void>) {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const files: TakeOptions['files'] = {
    async storeArchive(_projectId, _id, content) {
      (content as Readable).once('close', close);
      await place(closed);
      let bytes = 0;
      for await (const chunk of content) bytes += chunk.length;
      return { bytes };
    },
    storeOutput: () => assert.fail('there is no output'),
  };
  const own = { projectId: 'prj_1', archiveId: 'blob_1', known: {}, stored: () => undefined };
  return takeWorkspace(new ByteReader(tar(closed)), { ...own, files, maxBytes: 1_000_000 });
}

function fileOf(path: string, content: string): Buffer {
  return Buffer.concat([tarFileHeader(path, content.length), Buffer.from(content), tarPadding(content.length)]);
}

test('takeWorkspace refuses a workspace when it is found too large before there is a place for it', async () => {
  async function* tar() {
    yield Buffer.concat([fileOf('workspace/a', 'a'), tarFileHeader('workspace/big', 8_000_000_000)]);
  }
  await assert.rejects(
    take(tar, (closed) => closed),
    { name: 'WorkspaceError' },
  );
});

test('takeWorkspace fails with what the store says when no place can be made', async () => {
  async function* tar(closed: Promise<void>) {
    yield fileOf('workspace/a', 'a');
    await closed;
    yield Buffer.concat([fileOf('workspace/b', 'b'), TAR_END]);
  }
  const lost = new Error('the connection is lost');
  await assert.rejects(
    take(tar, async () => {
      throw lost;
    }),
    lost,
  );
});
