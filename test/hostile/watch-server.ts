/** Watches a server process from outside, while a test does its worst to it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Gap, ProbeMessage, ProbeOptions, ProbeReport } from './health-probe.ts';

export interface ServerWatch {
  /** What the probe has seen from its start to this call. */
  stop(): Promise<ProbeReport>;
}

export async function watchServer(options: ProbeOptions, onGap?: (gap: Gap) => void): Promise<ServerWatch> {
  const probe = fork(fileURLToPath(new URL('health-probe.ts', import.meta.url)), { stdio: 'inherit' });
  const started = Promise.withResolvers<void>();
  const reported = Promise.withResolvers<ProbeReport>();
  probe.on('message', (message: ProbeMessage) => {
    if (message.kind === 'started') started.resolve();
    else if (message.kind === 'report') reported.resolve(message.report);
    else onGap?.(message.gap);
  });
  const gone = once(probe, 'exit').then(() => {
    throw new Error('the health probe ended');
  });
  gone.catch(() => undefined);
  probe.send(options);
  await Promise.race([started.promise, gone]);
  return {
    async stop() {
      probe.send('stop');
      return Promise.race([reported.promise, gone]);
    },
  };
}

/** Resident memory of one process, without its children. */
export function residentBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  if (kilobytes === undefined) throw new Error(`process ${pid} has no resident memory`);
  return Number(kilobytes) * 1024;
}

export function describeGap({ atMs, gapMs, queuedMs, ranMs, controlMs, ownMs }: Gap): string {
  const ms = (value: number): string => `${Math.round(value)} ms`;
  return `${ms(ownMs)} of its own (gap ${ms(gapMs)} at ${Math.round(atMs / 1000)} s, ran ${ms(ranMs)}, waited for a processor ${ms(queuedMs)}, control ${ms(controlMs)})`;
}
