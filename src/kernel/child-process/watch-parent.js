/**
 * A thread of a child process that ends it when its parent is gone. The end of the pipe says so too, but a child that
 * computes without a pause would not see it, and go on for ever. In JavaScript, because a thread that strips types first loads
 * what strips them, for 70 ms of a processor.
 */
import { workerData } from 'node:worker_threads';

const LOOK_INTERVAL_MS = 1_000;

setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL');
}, LOOK_INTERVAL_MS);
