import type { Figure, Findings } from '../figure.ts';
import { runRequest } from '../ironcraft.ts';
import { generateLoad } from '../load/generate-load.ts';
import { watchCpu } from '../process-usage.ts';
import type { BenchContext } from './bench-context.ts';
import { getSummary } from './measure-runs.ts';
import { describeLoad, remarkFailures } from './remarks.ts';

const WORDS_PER_SECOND = 50;
const STARTS_PER_SECOND = 100;

/** Many paced streams at once: how late each word comes against its stream's own clock. */
export async function measureStreams(context: BenchContext): Promise<Findings> {
  const { quick } = context;
  const some = await streamAtOnce(context, quick ? 100 : 500, { atMost: 20 });
  const many = await streamAtOnce(context, quick ? 200 : 1000, { atMost: 50 });
  return {
    figures: [...some.figures, ...many.figures],
    remarks: [...some.remarks, ...many.remarks],
    details: [some.details, many.details],
  };
}

async function streamAtOnce(
  { server, smiths, quick, say }: BenchContext,
  count: number,
  bar: NonNullable<Figure['bar']>,
) {
  const name = `${count} streams of ${WORDS_PER_SECOND} words/s`;
  const smithIds = await smiths.take(count);
  const openSeconds = quick ? 3 : 16;
  // Long enough that all are open together for that time, whatever the last one's start.
  const wordsPerStream = WORDS_PER_SECOND * Math.ceil(openSeconds + count / STARTS_PER_SECOND + 1);
  const message = `Write ${wordsPerStream} words at ${WORDS_PER_SECOND} words per second`;
  say(name);
  const { result, usage } = await watchCpu(server.pid, () =>
    generateLoad({
      kind: 'streams',
      host: server.host,
      port: server.port,
      requests: smithIds.map((id) => runRequest(server, id, message, true)),
      deltaEvent: 'message.delta',
      startEveryMs: 1000 / STARTS_PER_SECOND,
      wordsPerStream,
      wordsPerSecond: WORDS_PER_SECOND,
    }),
  );
  const lag = getSummary(result, 'lag');
  const firstFrame = getSummary(result, 'first_frame');
  const open = `${result.completed} whole streams, all open together for ${result.seconds.toFixed(1)} s`;
  return {
    figures: [
      { name: `${name}, lag p50`, value: lag.p50, unit: 'ms' },
      { name: `${name}, lag p99`, value: lag.p99, unit: 'ms', bar },
      { name: `${name}, lag max`, value: lag.max, unit: 'ms' },
      { name: `${name}, first frame, on a new connection, p99`, value: firstFrame.p99, unit: 'ms' },
    ] satisfies Figure[],
    remarks: [...describeLoad(`${name}: ${open}`, result, usage), ...remarkFailures(name, result)],
    details: { streams: count, ...result, cpu: usage },
  };
}
