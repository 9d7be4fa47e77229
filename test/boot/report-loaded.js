/**
 * Preloaded into a server: at SIGUSR2 it writes what its main thread has loaded so far into the file that LOADED_FILE names. In JavaScript,
 * because a preloaded file of TypeScript would load what strips types.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const { LOADED_FILE } = process.env;
if (isMainThread && LOADED_FILE !== undefined) {
  const packages = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(resolved.url)?.[1];
      if (name !== undefined) packages.add(name);
      return resolved;
    },
  });
  process.on('SIGUSR2', () => {
    const ofNode = process.moduleLoadList.filter((name) => name.startsWith('NativeModule '));
    writeFileSync(`${LOADED_FILE}.part`, JSON.stringify({ packages: [...packages], ofNode }));
    renameSync(`${LOADED_FILE}.part`, LOADED_FILE);
  });
}
