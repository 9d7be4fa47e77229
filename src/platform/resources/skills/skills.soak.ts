/** Bundles of exactly the largest size. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { bundleForm, postZip, skillText, zipOfSize } from '../../../../test/support/skills.ts';
import { MAX_PACKED_BYTES, MAX_UNPACKED_BYTES } from './bundle/limits.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

test('a bundle of loose files is as large as is allowed, and not one byte larger', async () => {
  const project = await platform.createProject();
  const manifest = skillText('large');
  const rest = MAX_UNPACKED_BYTES - manifest.length;
  const loose = (bytes: number) => bundleForm({ 'SKILL.md': manifest, data: Buffer.alloc(bytes) });
  assert.equal((await project.post('/v1/skills', loose(rest))).status, 201);
  assertRefusal(await project.post('/v1/skills', loose(rest + 1)), 413, 'payload_too_large', 'files');
});

test('an archive is as large as is allowed, and not one byte larger', async () => {
  const project = await platform.createProject();
  const taken = await postZip(platform.url, project, await zipOfSize(MAX_PACKED_BYTES, 'packed'));
  assert.equal(taken.status, 201, taken.text);
  const over = await zipOfSize(MAX_PACKED_BYTES + 1, 'packed');
  assertRefusal(await postZip(platform.url, project, over), 413, 'payload_too_large', 'files');
});
