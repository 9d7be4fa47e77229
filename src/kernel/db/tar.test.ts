import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readTar, type TarEntry, writeTar } from './tar.ts';

const entries: readonly TarEntry[] = [
  { path: 'base', content: undefined },
  { path: 'base/empty', content: new Uint8Array() },
  { path: 'base/1', content: Buffer.from('x'.repeat(512)) },
  { path: 'base/2', content: Buffer.from('y'.repeat(513)) },
  { path: 'l'.repeat(100), content: Buffer.from([0, 255]) },
];

function seen(tar: Uint8Array): [string, string | undefined][] {
  return [...readTar(tar)].map(({ path, content }) => [path, content && Buffer.from(content).toString('latin1')]);
}

describe('a tar', () => {
  it('gives back what was put in', () => {
    const expected = entries.map(({ path, content }) => [path, content && Buffer.from(content).toString('latin1')]);
    assert.deepEqual(seen(writeTar(entries)), expected);
    assert.deepEqual(writeTar(entries), writeTar(entries));
  });

  it('refuses a longer name than the format has room for, anything but folders and files, and what is cut off', () => {
    assert.throws(() => writeTar([{ path: 'l'.repeat(101), content: undefined }]), /too long/);
    const link = writeTar([{ path: 'link', content: new Uint8Array() }]);
    link.write('2', 156);
    assert.throws(() => seen(link), /link is neither/);
    const whole = writeTar(entries);
    for (let length = 0; length < whole.length - 512; length += 256) {
      assert.throws(() => seen(whole.subarray(0, length)), /cut off/);
    }
  });
});
