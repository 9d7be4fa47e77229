/** The protocol's own conformance suite, with the platform as the client: all scenarios that each revision has. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { runConformance } from '../../../test/support/mcp-conformance.ts';
import { startConformanceDriver } from '../../../test/support/mcp-conformance-driver.ts';

const driver = await startConformanceDriver();
after(() => driver.close());

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

const revisions = [
  ['2025-03-26', 2],
  ['2025-11-25', 19],
  ['2026-07-28', 33],
] as const;

for (const [revision, count] of revisions) {
  test(`${revision}: ${count} scenarios`, async () => {
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
