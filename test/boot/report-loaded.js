/**
 * Preloaded into a server: writes what its main thread has loaded by the end into the file that LOADED_FILE names. In JavaScript, because
 * a preloaded file of TypeScript would load what strips types.
 */
import { writeFileSync } from 'node:fs';
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
  process.on('exit', () => {
    const ofNode = process.moduleLoadList.filter((name) => name.startsWith('NativeModule '));
    writeFileSync(LOADED_FILE, JSON.stringify({ packages: [...packages], ofNode }));
  });
}
