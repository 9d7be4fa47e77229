#!/usr/bin/env -S MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072 node --max-semi-space-size=16
/**
 * The program. It keeps its compiled modules in Node's cache, from which a start loads them in half the time. The cache can be deleted at
 * any time; Node tells versions of itself and of the sources apart, and where the folder cannot be written nothing is kept.
 * `NODE_COMPILE_CACHE` names another folder, `NODE_DISABLE_COMPILE_CACHE=1` goes without.
 *
 * In JavaScript, because what strips types, 4 MB of text and a WebAssembly module, is loaded for whatever comes before the cache, and stays:
 * with everything behind the cache it is loaded by the first start alone.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/ironcraft/compiled/', import.meta.url)));
const { runCommandLine } = await import('./command-line/run-command-line.ts');
await runCommandLine(process.argv.slice(2));
