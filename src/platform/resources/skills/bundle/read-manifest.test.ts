import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longTexts } from '../../../../../test/support/long-yaml.ts';
import { readManifest } from './read-manifest.ts';

const manifest = (yaml: string, rest = '\nText') => readManifest(Buffer.from(`---\n${yaml}\n---${rest}`));

function assertRefused(read: () => unknown, message: RegExp): void {
  assert.throws(read, (error: { code?: string; message?: string }) => {
    assert.equal(error.code, 'invalid_bundle', String(error));
    assert.match(String(error.message), message);
    return true;
  });
}

test('the members of the format are read, others are not', () => {
  const yaml = [
    'name: add-numbers',
    'description: >',
    '  Adds',
    '  numbers.',
    'license: MIT',
    'compatibility: Needs nothing',
    'allowed-tools: Bash(git:*) Read',
    'metadata:',
    '  version: 1.0',
    '  author: "somebody"',
  ].join('\n');
  assert.deepEqual(manifest(yaml), {
    name: 'add-numbers',
    description: 'Adds numbers.',
    license: 'MIT',
    compatibility: 'Needs nothing',
    metadata: { version: '1.0', author: 'somebody' },
  });
  const windows = readManifest(Buffer.from('\ufeff---\r\nname: a\r\ndescription: b\r\n---\r\n'));
  assert.deepEqual([windows.name, windows.description, windows.license, windows.metadata], ['a', 'b', null, null]);
});

test('lengths are taken up to their limits', () => {
  const with_ = (name: string, description: string, more = '') =>
    manifest(`name: ${name}\ndescription: ${description}\n${more}`);
  assert.equal(with_('a'.repeat(64), 'b'.repeat(1_024)).description.length, 1_024);
  assertRefused(() => with_('a'.repeat(65), 'b'), /64/);
  assertRefused(() => with_('a', 'b'.repeat(1_025)), /1024/);
  assert.equal(with_('a', 'b', `compatibility: ${'c'.repeat(500)}`).compatibility?.length, 500);
  assertRefused(() => with_('a', 'b', `compatibility: ${'c'.repeat(501)}`), /500/);
  assert.equal(with_('a', 'b', `license: ${'c'.repeat(1_024)}`).license?.length, 1_024);
  assertRefused(() => with_('a', 'b', `license: ${'c'.repeat(1_025)}`), /1024/);
  const members = (count: number) => `metadata:\n${Array.from({ length: count }, (_, n) => `  k${n}: v`).join('\n')}`;
  assert.equal(Object.keys(with_('a', 'b', members(64)).metadata ?? {}).length, 64);
  assertRefused(() => with_('a', 'b', members(65)), /64 members/);
});

test('what lacks a name or a description, or is no front matter, is refused', () => {
  for (const name of ['Add', '-a', 'a-', 'a--b', 'a b', 'ä', '']) {
    assertRefused(() => manifest(`name: ${name}\ndescription: b`), /`name`/);
  }
  assertRefused(() => manifest('name: a'), /`description`/);
  assertRefused(() => manifest('name: [a]\ndescription: b'), /text/);
  assertRefused(() => manifest('name: a\ndescription: b\nmetadata: [1]'), /metadata/);
  assertRefused(() => manifest('name: a\ndescription: b\nmetadata: {a: {b: c}}'), /metadata/);
  assertRefused(() => manifest('- name'), /no members/);
  for (const text of ['', 'no front matter', '---\nname: a\ndescription: b\n', ` ---\nname: a\n---`]) {
    assertRefused(() => readManifest(Buffer.from(text)), /begin with YAML/);
  }
  assertRefused(() => manifest(`name: a\ndescription: b\n# ${'x'.repeat(17_000)}`), /16384/);
});

test('aliases, anchors, merges, tags and members named twice are refused', () => {
  const bomb = Array.from({ length: 9 }, (_, n) => `a${n}: &a${n} [${`*a${n - 1},`.repeat(n === 0 ? 0 : 3)}x]`);
  for (const yaml of [
    'name: &n a\ndescription: b',
    'name: a\ndescription: &d b\nlicense: *d',
    bomb.join('\n'),
    'name: a\nname: b\ndescription: c',
    'metadata: &m {a: b}\n<<: *m',
  ]) {
    assertRefused(() => manifest(yaml), /YAML/);
  }
  assert.equal(manifest('name: a\ndescription: b\n__proto__: {name: c}').name, 'a');
});

/** Whether it is a manifest; what is none is refused as such. */
function isRead(yaml: string): boolean {
  try {
    manifest(yaml);
    return true;
  } catch (error) {
    assert.equal(Object(error).code, 'invalid_bundle', String(error));
    return false;
  }
}

test('a text of the largest size is refused as no manifest, whatever it repeats', () => {
  for (const yaml of longTexts) assert.equal(isRead(yaml), false, yaml.slice(0, 10));
});
