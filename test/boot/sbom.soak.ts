/**
 * `npm run sbom`: the bill of materials, from the lock file alone. Development packages are in it, marked as such: with
 * `--omit=dev` npm leaves out whatever they share with the server (Ajv, undici, ws), which is worse.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

interface Bill {
  readonly bomFormat: string;
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly hashes?: readonly { readonly alg: string }[];
    readonly licenses?: readonly unknown[];
  }[];
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string }>>;
}

const root = resolve(import.meta.dirname, '../..');
/**
 * Manifests that name no licence in the form that npm reads. BSD-2-Clause and MIT by their LICENSE files; MIT, turning into Apache-2.0, by
 * that of its repository (a peer of tests alone).
 */
const LICENCE_IN_FILE = ['duck@0.1.12', 'png-js@2.0.0', '@modelcontextprotocol/server-everything@2026.8.31'];

test('the bill of materials names every package of the lock file, with hash and licence, without a network', async () => {
  // Nothing listens on port 9, so that a question to a registry would fail.
  const env = { ...process.env, npm_config_registry: 'http://127.0.0.1:9/', npm_config_offline: 'true' };
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], {
    cwd: root,
    env,
    maxBuffer: 16 * 1024 * 1024,
  });
  const bill = JSON.parse(stdout) as Bill;
  assert.equal(bill.bomFormat, 'CycloneDX');
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  const locked = Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(
      ([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`,
    );
  const named = bill.components.map(({ name, version }) => `${name}@${version}`);
  assert.deepEqual([...new Set(named)].sort(), [...new Set(locked)].sort());
  for (const { name, version, purl, hashes, licenses } of bill.components) {
    assert.match(purl, /^pkg:npm\//);
    assert.equal(hashes?.[0]?.alg, 'SHA-512', name);
    if (!LICENCE_IN_FILE.includes(`${name}@${version}`))
      assert.ok((licenses?.length ?? 0) > 0, `${name} has a licence`);
  }
});
