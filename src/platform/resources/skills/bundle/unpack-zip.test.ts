import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lyingZip, zipOf } from '../../../../../test/support/skills.ts';
import { writeStoredZip } from '../../../knowledge/read/stored-zip.ts';
import { MAX_ENTRIES, MAX_FILES, MAX_UNPACKED_BYTES } from './limits.ts';
import { unpackZip } from './unpack-zip.ts';

async function assertRefused(archive: Buffer, code: string, message: RegExp): Promise<void> {
  await assert.rejects(unpackZip(archive), (error: { code?: string; message?: string }) => {
    assert.equal(error.code, code, String(error));
    assert.match(String(error.message), message);
    return true;
  });
}

describe('an archive', () => {
  test('gives its files, without folders and what macOS adds', async () => {
    const archive = await zipOf({ 'a/b.txt': 'one', '__MACOSX/a/._b.txt': 'x', 'a/.DS_Store': 'x', c: '' });
    const files = await unpackZip(archive);
    assert.deepEqual(
      files.map(({ path, bytes }) => [path, bytes]),
      [
        ['a/b.txt', 3],
        ['c', 0],
      ],
    );
  });

  for (const path of ['../a', 'a/../../b', '/etc/passwd', 'C:/a', 'a\\b', 'a//b', './a', 'a/\u0000b', 'a\u0007']) {
    test(`with the path ${JSON.stringify(path)} is refused`, async () => {
      await assertRefused(writeStoredZip([[path, Buffer.from('x')]]), 'invalid_bundle', /path|unpacked|characters/);
    });
  }

  test('with links, devices, two files of one path, or a file where a folder is, is refused', async () => {
    await assertRefused(await zipOf({ link: '/etc/passwd' }, { mode: 0o120777 }), 'invalid_bundle', /link/);
    await assertRefused(await zipOf({ pipe: '' }, { mode: 0o010644 }), 'invalid_bundle', /link or a device/);
    const twice = writeStoredZip([
      ['a', Buffer.from('1')],
      ['a', Buffer.from('2')],
    ]);
    await assertRefused(twice, 'invalid_bundle', /one path/);
    await assertRefused(await zipOf({ a: '1', 'a/b': '2' }), 'invalid_bundle', /one path/);
  });

  test('that is none, or is cut short, is refused', async () => {
    const archive = await zipOf({ a: 'x'.repeat(1_000) });
    await assertRefused(Buffer.from('no zip'), 'invalid_bundle', /unpacked/);
    await assertRefused(Buffer.alloc(0), 'invalid_bundle', /unpacked/);
    await assertRefused(archive.subarray(0, archive.length - 30), 'invalid_bundle', /unpacked/);
  });

  test('has as many files as are allowed, and not one more', async () => {
    const many = (count: number) =>
      writeStoredZip(Array.from({ length: count }, (_, n): [string, Buffer] => [`f${n}`, Buffer.from('x')]));
    assert.equal((await unpackZip(many(MAX_FILES))).length, MAX_FILES);
    await assertRefused(many(MAX_FILES + 1), 'payload_too_large', /500 files/);
    await assertRefused(many(MAX_ENTRIES + 1), 'payload_too_large', /2000 entries/);
  });

  test('that says it has one byte more than is allowed is refused unopened, and one that lies about it where it exceeds its word', async () => {
    await assertRefused(lyingZip(1_000_000, MAX_UNPACKED_BYTES + 1), 'payload_too_large', /unpacked/);
    for (const bytes of [MAX_UNPACKED_BYTES, 100]) {
      await assertRefused(lyingZip(1_000_000, bytes), 'invalid_bundle', /unpacked/);
    }
  });
});
