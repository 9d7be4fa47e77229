/** The protocol's own conformance suite, with an MCP deployment as the server. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startHeaderProxy } from '../../../test/support/header-proxy.ts';
import { runConformance } from '../../../test/support/mcp-conformance.ts';
import { publishMcp } from '../../../test/support/mcp-deployment.ts';
import { startPlatform } from '../../../test/support/platform.ts';

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
    const args = ['server', '--url', url, '--scenario', name, '--spec-version', revision];
    const { passed, problems, said } = await runConformance(args);
    assert.deepEqual(problems, [], said);
    assert.ok(passed > 0, said);
  });
}
