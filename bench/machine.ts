import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, type as osType, release, totalmem } from 'node:os';
import { sampleMachine } from './process-usage.ts';

/** What the figures hold for: they say nothing about another machine. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memory_gb: number;
  readonly os: string;
  readonly node: string;
  readonly commit: string;
  readonly date: string;
  /** Share of all cores that other work took just before the measurement. */
  readonly busy_before: number;
}

export async function describeMachine(): Promise<Machine> {
  return {
    busy_before: await sampleMachine(SAMPLE_MS),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memory_gb: Math.round(totalmem() / 2 ** 30),
    os: `${readDistribution()}, kernel ${release()}`,
    node: process.version,
    commit: readCommit(),
    date: new Date().toISOString(),
  };
}

const SAMPLE_MS = 2000;

function readDistribution(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? osType();
  } catch {
    return osType();
  }
}

/** With a plus sign when files differ from the commit. */
function readCommit(): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    return (
      git('rev-parse', '--short', 'HEAD') +
      (git('status', '--porcelain', '--', '../src', '../migrations') === '' ? '' : '+')
    );
  } catch {
    return 'not a git checkout';
  }
}
