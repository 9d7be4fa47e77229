/**
 * The command line without a process of its own, which costs a second each time. What a verb finds around it is swapped while
 * it runs (the environment, the working folder), so one runs at a time; a `serve` that starts needs a real process.
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
  const restore = [captureInto(output, 'stdout'), captureInto(output, 'stderr'), ...LISTENED.map(keepListeners)];
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

/** What a process that is to serve listens to from its first moment to its end. */
const LISTENED = ['SIGTERM', 'SIGINT', 'uncaughtException', 'unhandledRejection'] as const;

/** Gives what takes away the listeners that come from now on. */
function keepListeners(event: string): () => void {
  const before = process.rawListeners(event);
  return () => {
    for (const listener of process.rawListeners(event)) {
      if (!before.includes(listener)) process.off(event, listener as () => void);
    }
  };
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
