/**
 * Runs tests while all that they and the servers they start log, at the level `trace`, goes to a folder, and so does each secret that
 * their HTTP servers are sent and send; then searches the logs for the secrets. `npm run test:secrets -- [what test:all takes]`.
 * The exit code is 1 when a secret was found, or when there was not enough to look through for that to mean anything.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { announceSeed } from '../support/announce-seed.ts';
import { recorder } from '../support/test-log.ts';
import { searchLogs } from './search-logs.ts';

/** Findings that are told one by one. */
const TOLD = 50;

announceSeed(['npm run test:secrets --', ...process.argv.slice(2)].join(' '));
const folder = process.env.TEST_LOG_FOLDER ?? (await mkdtemp(join(tmpdir(), 'ironcraft-logs-')));
const runner = fileURLToPath(new URL('../runner/run-tests.ts', import.meta.url));
const tests = spawn(process.execPath, [runner, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: {
    ...process.env,
    TEST_LOG_FOLDER: folder,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${recorder}`,
  },
});
await once(tests, 'exit');

const { secrets, logs, bytes, findings } = await searchLogs(folder);
console.log(
  `\n${secrets} secrets, looked for in ${logs} logs of ${Math.round(bytes / 1_024)} KiB: ${findings.length} found.`,
);
for (const { log, line, secret, text } of findings.slice(0, TOLD)) {
  console.log(`  ${log}:${line} ${secret}: ${text.slice(0, 500)}`);
}
if (findings.length === 0) await rm(folder, { recursive: true });
else console.log(`The logs are in ${folder}.`);
if (secrets === 0 || bytes === 0) console.log('There was nothing to look for, or nothing to look through.');
process.exitCode = tests.exitCode !== 0 || findings.length > 0 || secrets === 0 || bytes === 0 ? 1 : 0;
