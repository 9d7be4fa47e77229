/**
 * Preloaded into a server of several processes: each that serves loses its connection to the first one as it ends, and then lives on
 * for a while, longer than the ones before, as the system has it with a process that has much memory to give back.
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
