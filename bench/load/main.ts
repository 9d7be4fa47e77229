/** The load generator's process: takes one job over IPC, answers with its measurement and ends. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Parse } from 'typebox/value';
import { runComparison } from './comparison-job.ts';
import { type GeneratorLoad, LoadJob, type LoadReply, type Measurement } from './jobs.ts';
import { runSaturation, runSequence } from './request-jobs.ts';
import { runFirstByte, runStreams } from './stream-jobs.ts';

const SAMPLING_MS = 5;

process.once('message', (message: unknown) => {
  void answer(message).then((reply) => process.send?.(reply, () => process.disconnect()));
});

async function answer(message: unknown): Promise<LoadReply> {
  const loopDelay = monitorEventLoopDelay({ resolution: SAMPLING_MS });
  try {
    const job = Parse(LoadJob, message);
    loopDelay.enable();
    const cpuBefore = process.cpuUsage();
    const startedAt = performance.now();
    const measurement = await runJob(job);
    const { user, system } = process.cpuUsage(cpuBefore);
    const cpu = (user + system) / 1000 / (performance.now() - startedAt);
    return { ok: true, measurement, generator: { ...readDelay(loopDelay), cpu } };
  } catch (error) {
    return { ok: false, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  } finally {
    loopDelay.disable();
  }
}

function runJob(job: LoadJob): Promise<Measurement> {
  switch (job.kind) {
    case 'sequence':
      return runSequence(job);
    case 'saturation':
      return runSaturation(job);
    case 'first-byte':
      return runFirstByte(job);
    case 'streams':
      return runStreams(job);
    case 'comparison':
      return runComparison(job);
  }
}

/** The histogram holds whole intervals, in nanoseconds. */
function readDelay(histogram: ReturnType<typeof monitorEventLoopDelay>): Omit<GeneratorLoad, 'cpu'> {
  const beyond = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - SAMPLING_MS);
  return {
    loop_delay_p50: beyond(histogram.percentile(50)),
    loop_delay_p99: beyond(histogram.percentile(99)),
    loop_delay_max: beyond(histogram.max),
  };
}
