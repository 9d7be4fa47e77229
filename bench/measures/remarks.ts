import type { LoadResult } from '../load/generate-load.ts';

/** One line on how busy both ends were, so that a reader can tell whose limit was met. */
export function describeGenerator(what: string, { generator }: LoadResult, serverCpu: number | undefined): string[] {
  const server = serverCpu === undefined ? '' : `server at ${percent(serverCpu)} of a core, `;
  const delay = `event-loop delay p99 ${generator.loop_delay_p99.toFixed(1)} ms`;
  return [`${what}: ${server}load generator at ${percent(generator.cpu)} (${delay}).`];
}

export function remarkFailures(what: string, ...results: readonly LoadResult[]): string[] {
  const failed = results.reduce((sum, result) => sum + result.failed, 0);
  if (failed === 0) return [];
  return [`**${what}: ${failed} failed**, for example: ${results.flatMap(({ failures }) => failures)[0] ?? ''}`];
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
