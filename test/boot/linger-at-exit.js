/**
 * Preloaded into a server of several processes: each serving process closes its connection to the first process before it exits, and
 * exits some 200 ms times its number later. The system does the same to a process that has much memory to release.
 */
import cluster from 'node:cluster';
import { closeSync } from 'node:fs';

const PAUSE_MS = 200;

if (cluster.isWorker) {
  process.on('exit', () => {
    closeSync(process.channel.fd);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS * cluster.worker.id);
  });
}
