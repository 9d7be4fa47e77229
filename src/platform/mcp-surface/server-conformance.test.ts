/** The protocol's own conformance suite, with an MCP deployment as the server. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startHeaderProxy } from '../../../test/support/header-proxy.ts';
import { publishMcp } from '../../../test/support/mcp-deployment.ts';
import { startPlatform } from '../../../test/support/platform.ts';

const manifest = import.meta.resolve('@modelcontextprotocol/conformance/package.json');
const suite = fileURLToPath(new URL('./dist/index.js', manifest));
const platform = await startPlatform();
const project = await platform.createProject();
const { path } = await publishMcp(project, { type: 'smith', id: await project.createSmith() });
const proxy = await startHeaderProxy(platform.url, { authorization: `Bearer ${project.token}` });
// The suite tries names that are not of this machine where the server is.
const url = proxy.url.replace('127.0.0.1', 'localhost') + path;
after(async () => {
  proxy.close();
  await platform.close();
});

const scenarios: readonly [name: string, revision: string][] = [
  ['server-initialize', '2025-11-25'],
  ['server-session-lifecycle', '2025-11-25'],
  ['ping', '2025-11-25'],
  ['tools-list', '2025-11-25'],
  ['tools-list', '2026-07-28'],
  ['http-header-validation', '2026-07-28'],
  ['dns-rebinding-protection', '2026-07-28'],
];

for (const [name, revision] of scenarios) {
  test(`${name}, ${revision}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ironcraft-mcp-conformance-'));
    const args = ['server', '--url', url, '--scenario', name, '--spec-version', revision];
    try {
      const said = await run([suite, ...args, '-o', folder]);
      assert.match(said, /Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/, said);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** What the program says, however it ends. */
function run(args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [...args], { maxBuffer: 64 * 1_048_576 }, (_, stdout, stderr) => {
      resolve(`${stdout}${stderr}`.slice(-8_000));
    });
  });
}
