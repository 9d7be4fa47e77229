/**
 * What all code of a process shares besides memory. Files that run one after the other in one process must leave it as they
 * found it; a file that cannot is one of those that run alone.
 */
const GLOBALS = ['fetch', 'Date', 'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'console'] as const;
const EVENTS = ['uncaughtException', 'unhandledRejection', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export type ProcessState = ReadonlyMap<string, unknown>;

export function readProcessState(): ProcessState {
  const state = new Map<string, unknown>([
    ['the working folder', process.cwd()],
    ['performance.now', performance.now],
    ['Math.random', Math.random],
    ['the standard output', process.stdout.write],
  ]);
  for (const name of GLOBALS) state.set(`the global ${name}`, globalThis[name]);
  for (const event of EVENTS) state.set(`the listeners of ${event}`, process.listenerCount(event));
  for (const [name, value] of Object.entries(process.env)) state.set(`the environment’s ${name}`, value);
  return state;
}

/** What differs, by name. */
export function compareProcessState(before: ProcessState, after: ProcessState): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name));
}
