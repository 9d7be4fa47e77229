/** The same request by several ways, one way after another in every round, so that what disturbs the machine hits all. */
import { summarize } from '../statistics.ts';
import { Connection, prepareRequest } from './connection.ts';
import { FailureLog } from './failure-log.ts';
import { FrameReader } from './frames.ts';
import type { ComparisonJob, Measurement } from './jobs.ts';

/** Milliseconds since the request was sent. */
interface Times {
  readonly first: number;
  readonly end: number;
}

const COMPARED = ['first', 'end'] as const;

export async function runComparison(job: ComparisonJob): Promise<Measurement> {
  const failures = new FailureLog();
  const names = Object.keys(job.targets);
  const ways = new Map(names.map((name) => [name, openWay(job, name)]));
  const rounds: Map<string, Times>[] = [];
  let startedAt = performance.now();
  for (let round = -job.warmUpRounds; round < job.rounds; round++) {
    if (round === 0) startedAt = performance.now();
    const times = new Map<string, Times>();
    for (const name of rotate(names, round)) {
      const result = await ways.get(name)?.exchange();
      if (typeof result === 'string') failures.add(`${name}: ${result}`);
      else if (result !== undefined) times.set(name, result);
    }
    // Of a round with a failure nothing counts: what remains would have no pair.
    if (round >= 0 && times.size === names.length) rounds.push(times);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  for (const { close } of ways.values()) close();
  failures.refuseTotalLoss(rounds.length > 0);
  return {
    summaries: summarizeRounds(rounds, names, job.base),
    completed: rounds.length,
    failed: failures.count,
    failures: failures.examples,
    seconds,
    figures: {},
  };
}

/**
 * Summaries `NAME end` and `NAME first` of each way, and for all but `base` `NAME end added` and `NAME first added`: of
 * the differences to `base` within each round. A disturbance that lasts longer than a round takes itself away.
 */
export function summarizeRounds(rounds: readonly Map<string, Times>[], names: readonly string[], base: string) {
  const read = (name: string, what: keyof Times) => rounds.map((times) => times.get(name)?.[what] ?? Number.NaN);
  const entries = names.flatMap((name) =>
    COMPARED.flatMap((what) => {
      const times = read(name, what);
      const baseTimes = read(base, what);
      const added = times.map((time, round) => time - (baseTimes[round] ?? Number.NaN));
      const own = [`${name} ${what}`, summarize(times)] as const;
      return name === base ? [own] : [own, [`${name} ${what} added`, summarize(added)] as const];
    }),
  );
  return Object.fromEntries(entries);
}

/** Each name takes each place equally often: what follows a slow answer may find the machine busy. */
export function rotate(names: readonly string[], round: number): string[] {
  const first = ((round % names.length) + names.length) % names.length;
  return [...names.slice(first), ...names.slice(0, first)];
}

const SOME_TEXT = /"content":"[^"]/;

function openWay({ targets }: ComparisonJob, name: string) {
  const target = targets[name];
  if (target === undefined) throw new Error(`no target ${name}`);
  const { host, port, request } = target;
  const connection = new Connection(host, port);
  const nextBytes = prepareRequest(request, host, port);
  const exchange = async (): Promise<Times | string> => {
    const pieces: Buffer[] = [];
    let first = 0;
    const frames = new FrameReader((frame) => {
      if (first === 0 && SOME_TEXT.test(frame)) first = performance.now();
    });
    try {
      // A server may have closed the connection: opening it again is not part of the figure.
      await connection.open();
      const sentAt = performance.now();
      const status = await connection.send(nextBytes(), (piece) => {
        pieces.push(piece);
        if (first === 0) frames.feed(piece);
      });
      const endedAt = performance.now();
      const body = Buffer.concat(pieces).toString('latin1');
      const isFine = status >= 200 && status < 300;
      if (!isFine || !body.includes(request.expect ?? '')) return `answered ${status}: ${body.slice(0, 300)}`;
      return { first: (first === 0 ? endedAt : first) - sentAt, end: endedAt - sentAt };
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
  return { exchange, close: () => connection.close() };
}
