/** The protocol's own conformance suite, in parts: the gate runs one part of each kind, the soak the others. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startHeaderProxy } from './header-proxy.ts';
import { runConformance } from './mcp-conformance.ts';
import { startConformanceDriver } from './mcp-conformance-driver.ts';
import { publishMcp } from './mcp-deployment.ts';
import { startPlatform } from './platform.ts';

/** Scenarios that take an account and end before a tool is called: what the smith's user is told, or why there is none. */
const REFUSED: Readonly<Record<string, string>> = {
  'auth/iss-normalized': 'invalid_state',
  'auth/iss-supported-missing': 'invalid_state',
  'auth/iss-unexpected': 'invalid_state',
  'auth/iss-wrong-issuer': 'invalid_state',
  'auth/metadata-issuer-mismatch': 'discovery_failed',
  'auth/resource-mismatch': 'discovery_failed',
  // Its server lets nobody list its tools, whatever they may do.
  'auth/scope-retry-limit': 'auth_required',
};

/** Declares a test for each revision, with the platform as the client: all scenarios that the revision has, so many. */
export async function checkClient(revisions: readonly (readonly [revision: string, count: number])[]): Promise<void> {
  const driver = await startConformanceDriver();
  after(() => driver.close());
  for (const [revision, count] of revisions) {
    test(`the platform passes the ${count} scenarios of a client of the protocol of ${revision}`, async () => {
      const { command, outcomes, errors } = driver;
      outcomes.clear();
      const args = ['client', '--command', command, '--suite', 'all', '--spec-version', revision];
      const { scenarios, problems, said } = await runConformance([...args, '--timeout', '300000']);
      assert.deepEqual([problems, errors], [[], []], said);
      assert.equal(scenarios.length, count, scenarios.join('\n'));
      for (const [name, outcome] of outcomes) assert.equal(outcome, REFUSED[name] ?? 'called', name);
      assert.equal(outcomes.size, scenarios.filter((name) => name.startsWith('auth/')).length);
    });
  }
}

/** Declares a test for each scenario, with an MCP deployment as the server. */
export async function checkServer(scenarios: readonly (readonly [name: string, revision: string])[]): Promise<void> {
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
  for (const [name, revision] of scenarios) {
    test(`an MCP deployment passes the scenario ${name} of the protocol of ${revision}`, async () => {
      const args = ['server', '--url', url, '--scenario', name, '--spec-version', revision];
      const { passed, problems, said } = await runConformance(args);
      assert.deepEqual(problems, [], said);
      assert.ok(passed > 0, said);
    });
  }
}
