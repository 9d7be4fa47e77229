/** One command that starts two processes on one PostgreSQL server, for the tests of the gate and of the soak. */
import { readdirSync, readFileSync } from 'node:fs';
import { type Cleanup, type Fleet, openFleet, preload } from '../faults/fleet.ts';
import { eventually } from '../support/turns.ts';
import type { ServerProcess } from './server-process.ts';

export async function startTwoProcesses(t: Cleanup): Promise<{ fleet: Fleet; server: ServerProcess }> {
  const variables = { IRONCRAFT_PROCESSES: '2', ...preload(new URL('./linger-at-exit.js', import.meta.url)) };
  const fleet = await openFleet(t, { store: 'server', only: 'platform', variables });
  return { fleet, server: await fleet.start() };
}

/** Processes of Node that this one has started. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [, parent] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8')) ?? [];
      return Number(parent) === pid ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

/** There are two again, none of which is one of those, and the server is ready. */
export async function untilReplaced(server: ServerProcess, ended: readonly number[]): Promise<void> {
  await eventually(async () => {
    const now = childrenOf(server.pid);
    return now.length === 2 && !now.some((pid) => ended.includes(pid)) && (await isReady(server)) ? now : undefined;
  }, 'they are replaced');
}

async function isReady({ url }: ServerProcess): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`).catch(() => undefined);
  return answer?.status === 200;
}
