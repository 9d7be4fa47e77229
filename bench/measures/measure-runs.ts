/** Create-run-and-wait: the request answers when the turn has settled and is durable. */
import type { Findings } from '../figure.ts';
import { runRequest } from '../ironcraft.ts';
import { generateLoad, type LoadResult } from '../load/generate-load.ts';
import { watchCpu } from '../process-usage.ts';
import { type BenchContext, CLIENTS, SHORT_MESSAGE } from './bench-context.ts';
import { describeLoad, remarkFailures } from './remarks.ts';

const ALONE_P50_MS = 3;
const RUNS_PER_SECOND = 900;

export async function measureRuns({ server, smiths, database, quick, say }: BenchContext): Promise<Findings> {
  const requests = (await smiths.take(CLIENTS)).map((id) => runRequest(server, id, SHORT_MESSAGE, false));
  const { host, port } = server;
  const [first] = requests;
  if (first === undefined) throw new Error('no smith');

  say('create-run-and-wait, one client');
  const [warmUpRounds, rounds] = quick ? [20, 50] : [200, 500];
  const alone = await generateLoad({ kind: 'sequence', host, port, requests: { run: first }, warmUpRounds, rounds });

  say(`create-run-and-wait, ${CLIENTS} clients`);
  const [warmUpMs, durationMs] = quick ? [500, 2000] : [3000, 12_000];
  const { result: together, usage } = await watchCpu(server.pid, () =>
    generateLoad({ kind: 'saturation', host, port, requests, warmUpMs, durationMs }),
  );

  const runsPerSecond = together.completed / together.seconds;
  const run = getSummary(alone, 'run');
  const latency = getSummary(together, 'latency');
  return {
    figures: [
      { name: 'create-run-and-wait, 1 client, p50', value: run.p50, unit: 'ms', bar: { atMost: ALONE_P50_MS } },
      { name: 'create-run-and-wait, 1 client, p95', value: run.p95, unit: 'ms' },
      { name: 'create-run-and-wait, 1 client, p99', value: run.p99, unit: 'ms' },
      {
        name: `create-run-and-wait, ${CLIENTS} clients`,
        value: runsPerSecond,
        unit: 'runs/s',
        // The bar was set for a server store, where every commit reaches the disk of another process.
        ...(database !== undefined && { bar: { atLeast: RUNS_PER_SECOND } }),
      },
      { name: `create-run-and-wait, ${CLIENTS} clients, p50`, value: latency.p50, unit: 'ms' },
      { name: `create-run-and-wait, ${CLIENTS} clients, p99`, value: latency.p99, unit: 'ms' },
    ],
    remarks: [
      ...describeLoad(`${CLIENTS} clients`, together, usage),
      ...remarkFailures('create-run-and-wait', alone, together),
    ],
    details: { alone, together, cpu: usage },
  };
}

export function getSummary(result: LoadResult, name: string) {
  const summary = result.summaries[name];
  if (summary === undefined) throw new Error(`the load generator reported no ${name}`);
  return summary;
}
