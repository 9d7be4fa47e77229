/** What a server takes that waits: a minute after its start, and again a minute after a load. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type BenchDatabase, countTransactions, createDatabase } from '../database.ts';
import type { Figure, Findings } from '../figure.ts';
import { type Ironcraft, startIroncraft } from '../ironcraft.ts';
import { readThreads, subtractThreads, type ThreadTimes } from '../process-usage.ts';
import { startUpstream } from '../upstream/start-upstream.ts';
import type { BenchContext } from './bench-context.ts';
import { loadCompletions } from './load-completions.ts';

/** Of a core. */
const MOST_USED_PERCENT = 0.5;
const MOST_WAKE_UPS = 5;
/** A second. A statement outside of a transaction is one by itself. */
const MOST_TRANSACTIONS = 1;
const SHOWN_THREADS = 6;

interface Rest {
  readonly store: 'embedded' | 'PostgreSQL';
  readonly when: string;
  readonly seconds: number;
  readonly threads: readonly (ThreadTimes & { readonly id: number })[];
  /** Of the main thread. */
  readonly wakeUps: number;
  /** Undefined with the embedded store, which does not count them. */
  readonly transactions: number | undefined;
}

export async function measureIdle(context: BenchContext): Promise<Findings> {
  const rests = [
    ...(await measureStore(context, 'embedded')),
    ...(context.database === undefined ? [] : await measureStore(context, 'PostgreSQL')),
  ];
  return { figures: rests.flatMap(describeRest), remarks: rests.map(describeThreads), details: rests };
}

/** On a server of its own. */
async function measureStore(context: BenchContext, store: Rest['store']): Promise<Rest[]> {
  const { database, quick, minutes, profileDir, say } = context;
  await using served = context.served.use(new AsyncDisposableStack());
  const upstream = await startUpstream(served);
  const own = store === 'PostgreSQL' && database ? await createDatabase(database.url, '_idle') : undefined;
  if (own !== undefined) served.defer(() => own.drop());
  const server = await startIroncraft({ databaseUrl: own?.url, profileDir });
  served.defer(() => server.stop());
  const seconds = quick ? 5 : 60;
  const restAfter = async (what: string): Promise<Rest> => {
    const when = `${seconds} s after ${what}`;
    say(`idle: ${store}, ${when}`);
    await sleep(seconds * 1_000);
    return { store, when, ...(await watchRest(server, own, seconds)) };
  };
  const afterStart = await restAfter('the start');
  say(`idle: ${store}, under load`);
  const durationMs = quick ? 3_000 : minutes * 60_000;
  await loadCompletions(server, upstream, { warmUpMs: 0, durationMs, windowMs: durationMs });
  return [afterStart, await restAfter('a load')];
}

async function watchRest(server: Ironcraft, database: BenchDatabase | undefined, seconds: number) {
  const [before, countedBefore] = [readThreads(server.pid), await countTransactions(database)];
  await sleep(seconds * 1_000);
  const [after, countedAfter] = [readThreads(server.pid), await countTransactions(database)];
  const threads = [...subtractThreads(after, before)].map(([id, times]) => ({ id, ...times }));
  return {
    seconds,
    threads: threads.sort((one, other) => other.usedMs - one.usedMs),
    wakeUps: threads.find(({ id }) => id === server.pid)?.wakeUps ?? 0,
    transactions: countedAfter === undefined ? undefined : countedAfter - (countedBefore ?? 0),
  };
}

function describeRest({ store, when, seconds, threads, wakeUps, transactions }: Rest): Figure[] {
  const name = `idle server, ${store}, ${when}`;
  const usedMs = threads.reduce((sum, thread) => sum + thread.usedMs, 0);
  return [
    { name: `${name}: of a core`, value: usedMs / seconds / 10, unit: '%', bar: { atMost: MOST_USED_PERCENT } },
    { name: `${name}: wake-ups a second`, value: wakeUps / seconds, unit: '', bar: { atMost: MOST_WAKE_UPS } },
    ...(transactions === undefined
      ? []
      : [
          {
            name: `${name}: transactions a second`,
            value: transactions / seconds,
            unit: '' as const,
            bar: { atMost: MOST_TRANSACTIONS },
          },
        ]),
  ];
}

function describeThreads({ store, when, seconds, threads }: Rest): string {
  const shown = threads
    .slice(0, SHOWN_THREADS)
    .map(
      ({ name, usedMs, wakeUps }) =>
        `${name} ${(usedMs / seconds / 10).toFixed(2)} % (${(wakeUps / seconds).toFixed(1)}/s)`,
    );
  return `Idle, ${store}, ${when}, by thread (wake-ups): ${shown.join(', ')}.`;
}
