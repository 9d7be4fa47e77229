/** The protocol's own conformance suite, as a program of its own. */
import { execFile } from 'node:child_process';
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const manifest = import.meta.resolve('@modelcontextprotocol/conformance/package.json');
const program = fileURLToPath(new URL('./dist/index.js', manifest));

interface Check {
  readonly id: string;
  readonly description: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

export interface ConformanceRun {
  /** What the program printed last, for messages of tests. */
  readonly said: string;
  /** Those that ran, in the order of their names. */
  readonly scenarios: readonly string[];
  readonly passed: number;
  /** What did not pass, and what the suite warns of: a line each, after its scenario. */
  readonly problems: readonly string[];
}

/** Runs it to its end, however that is. `onOutput`: told of what it prints, as it does. */
export async function runConformance(
  args: readonly string[],
  onOutput: (text: string) => void = () => {},
): Promise<ConformanceRun> {
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-mcp-conformance-'));
  try {
    const said = await run([program, ...args, '-o', folder], onOutput);
    const checks: { readonly scenario: string; readonly check: Check }[] = [];
    for await (const file of glob('**/checks.json', { cwd: folder })) {
      const scenario = relative('.', dirname(file)).replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
      const found = JSON.parse(await readFile(join(folder, file), 'utf8')) as Check[];
      checks.push(...found.map((check) => ({ scenario, check })));
    }
    return {
      said,
      scenarios: [...new Set(checks.map(({ scenario }) => scenario))].sort(),
      passed: checks.filter(({ check }) => check.status === 'SUCCESS').length,
      problems: checks
        .filter(({ check }) => check.status === 'FAILURE' || check.status === 'WARNING')
        .map(({ scenario, check: { id, description, errorMessage } }) =>
          [scenario, id, errorMessage ?? description].join(': '),
        ),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(args: readonly string[], onOutput: (text: string) => void): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...args], { maxBuffer: 64 * 1_048_576 }, (_, stdout, stderr) => {
      resolve(`${stdout}${stderr}`.slice(-8_000));
    });
    child.stdout?.on('data', (text: unknown) => onOutput(String(text)));
  });
}
