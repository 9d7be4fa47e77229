import type { LoadResult } from '../load/generate-load.ts';
import type { CpuUsage } from '../process-usage.ts';

/** One line on how busy both ends and the machine were, so that a reader can tell whose limit was met. */
export function describeLoad(what: string, { generator }: LoadResult, usage: CpuUsage): string[] {
  const { used, waited, machine } = usage;
  const own =
    used === undefined || waited === undefined
      ? ''
      : `server at ${percent(used)} of a core and waiting for one ${percent(waited)} of the time, `;
  const delay = `event-loop delay p99 ${generator.loop_delay_p99.toFixed(1)} ms`;
  return [`${what}: ${own}load generator at ${percent(generator.cpu)} (${delay}), machine ${percent(machine)} busy.`];
}

export function remarkFailures(what: string, ...results: readonly LoadResult[]): string[] {
  const failed = results.reduce((sum, result) => sum + result.failed, 0);
  if (failed === 0) return [];
  return [`**${what}: ${failed} failed**, for example: ${results.flatMap(({ failures }) => failures)[0] ?? ''}`];
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
