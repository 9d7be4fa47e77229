/** Whether the embedded store keeps its pace under load, beside PostgreSQL where there is one. */
import { createDatabase } from '../database.ts';
import type { Figure, Findings } from '../figure.ts';
import { startIroncraft } from '../ironcraft.ts';
import { type CpuUsage, watchCpu } from '../process-usage.ts';
import { startUpstream, type Upstream } from '../upstream/start-upstream.ts';
import { type BenchContext, CLIENTS } from './bench-context.ts';
import { type CompletionLoad, loadCompletions } from './load-completions.ts';
import { describeLoad, remarkFailures } from './remarks.ts';

/** Of the load's time, at its beginning and at its end. */
const PARTS = 12;
const KEPT_PACE = 0.9;
const SHARE_OF_POSTGRESQL = 0.7;

interface Half {
  readonly store: 'embedded' | 'PostgreSQL';
  readonly load: CompletionLoad;
  readonly usage: CpuUsage;
}

export async function measureEmbedded(context: BenchContext): Promise<Findings> {
  await using served = context.served.use(new AsyncDisposableStack());
  const upstream = await startUpstream(served);
  const halves = [await measureHalf(context, upstream, 'embedded')];
  if (context.database !== undefined) halves.push(await measureHalf(context, upstream, 'PostgreSQL'));
  return {
    figures: halves.flatMap((half) => describeHalf(half, halves)),
    remarks: [
      ...halves.flatMap(({ store, load, usage }) => describeLoad(`completions on ${store}`, load, usage)),
      ...remarkFailures('embedded', ...halves.map(({ load }) => load)),
    ],
    details: halves,
  };
}

/** On a server and a store of its own: what ran before would be part of what is measured. */
async function measureHalf(context: BenchContext, upstream: Upstream, store: Half['store']): Promise<Half> {
  const { database, quick, minutes, profileDir, say } = context;
  await using served = context.served.use(new AsyncDisposableStack());
  say(`embedded: ${CLIENTS} clients, ${store}`);
  const own = store === 'PostgreSQL' && database ? await createDatabase(database.url, '_embedded') : undefined;
  if (own !== undefined) served.defer(() => own.drop());
  const server = await startIroncraft({ databaseUrl: own?.url, profileDir });
  served.defer(() => server.stop());
  const durationMs = quick ? 6_000 : minutes * 60_000;
  const { result, usage } = await watchCpu(server.pid, () =>
    loadCompletions(server, upstream, { warmUpMs: 3_000, durationMs, windowMs: durationMs / PARTS }),
  );
  return { store, load: result, usage };
}

function describeHalf({ store, load, usage }: Half, halves: readonly Half[]): Figure[] {
  const rate = averageRate(load);
  const other = halves.find((half) => half.store === 'PostgreSQL');
  const [first = 0, last = 0] = [load.rates.at(0), load.rates.at(-1)];
  const name = `completions on ${store}, ${CLIENTS} clients`;
  const isJudged = store === 'embedded';
  return [
    {
      name,
      value: rate,
      unit: 'requests/s',
      ...(isJudged && other !== undefined && { bar: { atLeast: SHARE_OF_POSTGRESQL * averageRate(other.load) } }),
    },
    {
      name: `${name}: the last twelfth of the time beside the first`,
      value: last / first,
      unit: '×',
      ...(isJudged && { bar: { atLeast: KEPT_PACE } }),
    },
    ...(usage.used === undefined
      ? []
      : [
          {
            name: `${name}: processor time of the server for each`,
            value: (usage.used * 1_000) / rate,
            unit: 'ms' as const,
          },
        ]),
  ];
}

function averageRate({ completed, seconds }: CompletionLoad): number {
  return completed / seconds;
}
