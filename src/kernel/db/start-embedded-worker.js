/**
 * Starts the thread of embedded-worker.ts with the program's cache of compiled modules, which a thread does not have by itself. In
 * JavaScript, because a thread that strips types first loads what strips them, for 30 ms of a processor and memory that stays.
 */
import { enableCompileCache, flushCompileCache } from 'node:module';
import { workerData } from 'node:worker_threads';

if (workerData.compiledFolder !== undefined) enableCompileCache(workerData.compiledFolder);
await import('./embedded-worker.ts');
// The thread may end without a chance to.
flushCompileCache();
