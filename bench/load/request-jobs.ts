/** Requests whose answers are awaited whole. */
import { summarize } from '../statistics.ts';
import { Connection, prepareRequest } from './connection.ts';
import { FailureLog } from './failure-log.ts';
import type { HttpRequest, Measurement, SaturationJob, SequenceJob } from './jobs.ts';

export async function runSequence({ host, port, requests, warmUpRounds, rounds }: SequenceJob): Promise<Measurement> {
  const connection = new Connection(host, port);
  const failures = new FailureLog();
  const steps = Object.entries(requests).map(([name, request]) => ({
    name,
    exchange: createExchange(connection, request, host, port),
    latencies: [] as number[],
  }));
  let startedAt = performance.now();
  for (let round = -warmUpRounds; round < rounds; round++) {
    if (round === 0) startedAt = performance.now();
    for (const { name, exchange, latencies } of steps) {
      const sentAt = performance.now();
      const failure = await exchange();
      if (failure !== undefined) failures.add(`${name}: ${failure}`);
      else if (round >= 0) latencies.push(performance.now() - sentAt);
    }
  }
  const seconds = (performance.now() - startedAt) / 1000;
  connection.close();
  failures.refuseTotalLoss(steps.every(({ latencies }) => latencies.length > 0));
  return {
    summaries: Object.fromEntries(steps.map(({ name, latencies }) => [name, summarize(latencies)])),
    completed: steps.reduce((sum, { latencies }) => sum + latencies.length, 0),
    failed: failures.count,
    failures: failures.examples,
    seconds,
    figures: {},
  };
}

export async function runSaturation(job: SaturationJob): Promise<Measurement> {
  const failures = new FailureLog();
  const latencies: number[] = [];
  const windows = new Map<string, number>();
  const startedAt = performance.now();
  const measureFrom = startedAt + job.warmUpMs;
  const measureTo = measureFrom + job.durationMs;
  const loop = async (request: HttpRequest) => {
    const connection = new Connection(job.host, job.port);
    const exchange = createExchange(connection, request, job.host, job.port);
    for (let sentAt = performance.now(); sentAt < measureTo; sentAt = performance.now()) {
      const failure = await exchange();
      const endedAt = performance.now();
      if (failure !== undefined) failures.add(failure);
      // What ends inside the window counts, whenever it began: work cut off at both ends evens out.
      else if (endedAt >= measureFrom && endedAt < measureTo) {
        latencies.push(endedAt - sentAt);
        if (job.windowMs === undefined) continue;
        const window = windowName(Math.floor((endedAt - measureFrom) / job.windowMs));
        windows.set(window, (windows.get(window) ?? 0) + 1);
      }
    }
    connection.close();
  };
  await Promise.all(job.requests.map(loop));
  failures.refuseTotalLoss(latencies.length > 0);
  return {
    summaries: { latency: summarize(latencies) },
    completed: latencies.length,
    failed: failures.count,
    failures: failures.examples,
    seconds: job.durationMs / 1000,
    figures: Object.fromEntries(windows),
  };
}

function windowName(index: number): string {
  return `window ${index}`;
}

/** Sends the request and resolves with what was wrong with the answer, if anything. */
function createExchange(connection: Connection, request: HttpRequest, host: string, port: number) {
  const nextBytes = prepareRequest(request, host, port);
  const { carry } = request;
  const member = carry === undefined ? undefined : new RegExp(`"${carry.member}":"([^"]+)"`);
  let carried = carry?.first;
  return async (): Promise<string | undefined> => {
    const pieces: Buffer[] = [];
    try {
      const status = await connection.send(nextBytes(carried), (piece) => pieces.push(piece));
      const body = Buffer.concat(pieces).toString('latin1');
      const asExpected =
        status >= 200 && status < 300 && (request.expect === undefined || body.includes(request.expect));
      carried = member?.exec(body)?.[1] ?? carried;
      return asExpected ? undefined : `${request.method} ${request.path} answered ${status}: ${body.slice(0, 300)}`;
    } catch (error) {
      return `${request.method} ${request.path}: ${error instanceof Error ? error.message : String(error)}`;
    }
  };
}
