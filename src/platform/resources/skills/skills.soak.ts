/** Bundles as large as they may be, and larger. */
import { after, before, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { bundleForm, postZip, skillText } from '../../../../test/support/skills.ts';
import { MAX_PACKED_BYTES, MAX_UNPACKED_BYTES } from './bundle/limits.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

test('a bundle is refused when it is one byte larger than is allowed, packed or unpacked', async () => {
  const project = await platform.createProject();
  const manifest = skillText('large');
  const data = Buffer.alloc(MAX_UNPACKED_BYTES - manifest.length + 1);
  const loose = bundleForm({ 'SKILL.md': manifest, data });
  assertRefusal(await project.post('/v1/skills', loose), 413, 'payload_too_large', 'files');
  const packed = Buffer.alloc(MAX_PACKED_BYTES + 1);
  assertRefusal(await postZip(platform.url, project, packed), 413, 'payload_too_large', 'files');
});
