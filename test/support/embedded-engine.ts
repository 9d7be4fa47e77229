import { compileEngine } from '../../src/kernel/db/embedded-folder.ts';

let engine: ReturnType<typeof compileEngine> | undefined;

/**
 * PGlite, compiled once for the process. While it is held V8 has every store use it that the process opens, also those that the
 * program itself opens in a folder: each of them costs half.
 */
export function holdEngine(): ReturnType<typeof compileEngine> {
  engine ??= compileEngine();
  return engine;
}
