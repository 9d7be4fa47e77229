/**
 * The command line without a process of its own, which costs a second each time. What a verb finds around it is swapped while
 * it runs (the environment, the working folder), so one runs at a time; `serve` needs a real process.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { runProgram } from '../../src/command-line/program.ts';
import { holdEngine } from '../support/embedded-engine.ts';
import type { runVerb, Variables } from './server-process.ts';

interface Output {
  stdout: string;
  stderr: string;
}

/** What node:test writes meanwhile is no part of a verb's output. */
const running = new AsyncLocalStorage<Output>();

export async function runVerbInProcess(
  args: readonly string[],
  folder: string,
  variables: Variables = {},
): ReturnType<typeof runVerb> {
  const output: Output = { stdout: '', stderr: '' };
  const { env } = process;
  const cwd = process.cwd();
  const restore = [captureInto(output, 'stdout'), captureInto(output, 'stderr')];
  process.env = { PATH: env.PATH, HOME: env.HOME, TMPDIR: env.TMPDIR, ...variables };
  process.chdir(folder);
  await holdEngine();
  try {
    const code = await running.run(output, () => runProgram(args));
    return { code, ...output };
  } finally {
    process.chdir(cwd);
    process.env = env;
    for (const undo of restore) undo();
  }
}

function captureInto(output: Output, name: 'stdout' | 'stderr'): () => void {
  const stream = process[name];
  const write = stream.write;
  stream.write = ((...args: Parameters<typeof write>) => {
    if (running.getStore() !== output) return Reflect.apply(write, stream, args);
    output[name] += String(args[0]);
    return true;
  }) as typeof write;
  return () => {
    stream.write = write;
  };
}
