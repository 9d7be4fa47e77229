/** `npm run check`: what finds faults without running the program, as many at once as there are cores. The exit code is 1 when one of them found any. */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The longest first. The compiler uses one thread: more of them check twice what they share. */
const CHECKS: readonly string[] = [
  'tsc --noEmit --checkers 1 --pretty',
  `biome check --error-on-warnings --colors=${process.stdout.isTTY ? 'force' : 'off'} .`,
  'knip',
  'knip --production --dependencies',
];

interface CheckResult {
  readonly passed: boolean;
  readonly output: string;
}

function run(command: string): Promise<CheckResult> {
  return new Promise((resolve) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.once('close', (code) => resolve({ passed: code === 0, output }));
  });
}

const waiting = [...CHECKS];

async function runNext(): Promise<void> {
  for (let command = waiting.shift(); command !== undefined; command = waiting.shift()) {
    const { passed, output } = await run(command);
    if (passed) continue;
    process.exitCode = 1;
    console.error(`${output.trimEnd()}\n✖ ${command}\n`);
  }
}

await Promise.all(Array.from({ length: availableParallelism() }, runNext));
