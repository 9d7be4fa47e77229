/** The protocol's own conformance suite, with the platform as the client. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startConformanceDriver } from '../../../test/support/mcp-conformance-driver.ts';

const manifest = import.meta.resolve('@modelcontextprotocol/conformance/package.json');
const suite = fileURLToPath(new URL('./dist/index.js', manifest));
const relay = fileURLToPath(new URL('../../../test/support/mcp-conformance-relay.ts', import.meta.url));
const driver = await startConformanceDriver();
after(() => driver.close());

const scenarios: readonly [name: string, revision: string][] = [
  ['initialize', '2025-11-25'],
  ['tools_call', '2025-11-25'],
  ['sse-retry', '2025-11-25'],
  ['elicitation-sep1034-client-defaults', '2025-11-25'],
  ['tools_call', '2026-07-28'],
  ['request-metadata', '2026-07-28'],
  ['sep-2322-client-request-state', '2026-07-28'],
  ['http-standard-headers', '2026-07-28'],
  ['http-custom-headers', '2026-07-28'],
  ['http-invalid-tool-headers', '2026-07-28'],
  ['json-schema-ref-no-deref', '2026-07-28'],
  ['json-schema-2020-12-preservation', '2026-07-28'],
];

for (const [name, revision] of scenarios) {
  test(`${name}, ${revision}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ironcraft-mcp-conformance-'));
    const command = `"${process.execPath}" --no-warnings "${relay}" ${driver.url}`;
    const args = ['client', '--command', command, '--scenario', name, '--spec-version', revision];
    try {
      const said = await run([suite, ...args, '--timeout', '60000', '-o', folder]);
      assert.match(said, /OVERALL: PASSED/, said);
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
