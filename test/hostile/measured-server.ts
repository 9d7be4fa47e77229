/**
 * A platform server in a process of its own that tells how long its main thread works at a time: the longest time on a
 * processor between two ticks of a timer. Time without a processor, which is the machine's doing, does not count.
 */
import { startPlatform } from '../support/platform.ts';

/** `reset` begins anew, `report` answers with what was since. */
export type MeasuredRequest = 'reset' | 'report';

export interface MeasuredStart {
  readonly url: string;
  readonly token: string;
}

export interface MeasuredReport {
  readonly longestMs: number;
}

const TICK_MS = 5;

const platform = await startPlatform();
const project = await platform.createProject();

let longestMs = 0;
let before = process.threadCpuUsage();

function measure(): void {
  const { user, system } = process.threadCpuUsage(before);
  before = process.threadCpuUsage();
  longestMs = Math.max(longestMs, (user + system) / 1_000);
}

const timer = setInterval(measure, TICK_MS);
process.on('message', (request: MeasuredRequest) => {
  measure();
  const report: MeasuredReport = { longestMs };
  longestMs = 0;
  if (request === 'report') process.send?.(report);
});
process.once('disconnect', () => {
  clearInterval(timer);
  void platform.close();
});
process.send?.({ url: platform.url, token: project.token } satisfies MeasuredStart);
