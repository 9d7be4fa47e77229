import { runSeed } from './seed.ts';

/** For a command of its own: prints the seed at the start, and the command that repeats the run when it fails. */
export function announceSeed(command: string): void {
  process.stderr.write(`seed ${runSeed}\n`);
  process.once('exit', () => {
    if (process.exitCode === undefined || process.exitCode === 0) return;
    process.stderr.write(`To repeat this run: IRONCRAFT_TEST_SEED=${runSeed} ${command}\n`);
  });
}
