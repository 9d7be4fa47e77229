/**
 * The soak: whether the product is still as strong as it was. Runs one part after the other, each to its end, all with one fresh
 * seed. `npm run soak -- [--seed N] [--only files,secrets]`. Needs the PostgreSQL server of IRONCRAFT_TEST_DATABASE_URL. The
 * exit code is 1 when a part found something; each that did is listed with the command that repeats it.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { tellUsage, UsageError } from '../runner/usage-error.ts';

interface Part {
  readonly name: string;
  /** For node; relative to the repository. */
  readonly args: readonly string[];
}

const PARTS: readonly Part[] = [
  { name: 'files', args: ['test/runner/run-tests.ts', '--ring', 'soak'] },
  { name: 'secrets', args: ['test/secrets/run.ts', '--keep-going'] },
  { name: 'fuzz', args: ['test/fuzz/run-fuzz.ts', '--minutes', '15'] },
];
const MAX_SEED = 2 ** 31;

interface PartResult {
  readonly part: Part;
  readonly minutes: number;
  readonly passed: boolean;
}

function readSettings(): { readonly seed: string; readonly parts: readonly Part[] } {
  const names = PARTS.map(({ name }) => name);
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: process.env.IRONCRAFT_TEST_SEED ?? String(randomInt(MAX_SEED)) },
      only: { type: 'string', default: names.join(',') },
    },
  });
  const wanted = values.only.split(',');
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new UsageError(`--only takes ${names.join(', ')}, not ${unknown}`);
  if ((process.env.IRONCRAFT_TEST_DATABASE_URL ?? '') === '') {
    throw new UsageError('set IRONCRAFT_TEST_DATABASE_URL: the soak tests both stores');
  }
  return { seed: values.seed, parts: PARTS.filter(({ name }) => wanted.includes(name)) };
}

async function runPart(part: Part, seed: string): Promise<PartResult> {
  console.log(`\n=== ${part.name} ===`);
  const startMs = performance.now();
  const child = spawn(process.execPath, part.args, {
    stdio: 'inherit',
    env: { ...process.env, IRONCRAFT_TEST_SEED: seed },
  });
  const [code] = await once(child, 'exit');
  return { part, minutes: (performance.now() - startMs) / 60_000, passed: code === 0 };
}

function describeResult({ part, minutes, passed }: PartResult, seed: string): string {
  const line = `${passed ? '✔' : '✖'} ${part.name.padEnd(15)}${minutes.toFixed(1).padStart(6)} min`;
  return passed ? line : `${line}   repeat: npm run soak -- --seed ${seed} --only ${part.name}`;
}

async function runSoak(): Promise<number> {
  const { seed, parts } = readSettings();
  console.log(`Seed ${seed}`);
  const results: PartResult[] = [];
  for (const part of parts) results.push(await runPart(part, seed));
  console.log(`\nThe soak with seed ${seed}:`);
  for (const result of results) console.log(describeResult(result, seed));
  return results.every(({ passed }) => passed) ? 0 : 1;
}

try {
  process.exitCode = await runSoak();
} catch (error) {
  process.exitCode = tellUsage(error);
}
