import { parseArgs } from 'node:util';

export const MEASURES = [
  'runs',
  'first-byte',
  'hosted',
  'streams',
  'memory',
  'gateway',
  'mcp',
  'ask',
  'oauth',
  'channels',
  'sandbox',
  'ingest',
  'lists',
  'search',
  'domains',
  'daily-look',
  'deliveries',
  'money',
  'schedules',
  'idle',
  'embedded',
  'peer',
] as const;
export type MeasureName = (typeof MEASURES)[number];

export interface BenchOptions {
  readonly measures: ReadonlySet<MeasureName>;
  readonly quick: boolean;
  /** A PostgreSQL server's URL: the benchmark makes a database of its own there. Undefined: the embedded store. */
  readonly databaseUrl: string | undefined;
  /** How long `embedded` and `idle` load their servers. */
  readonly minutes: number;
  /** Those that are compared with: LangGraph.js, in `gateway` Portkey's and in `channels` `chat`. */
  readonly withPeers: boolean;
  /** A folder for CPU profiles of the server. */
  readonly profileDir: string | undefined;
}

export const USAGE = `Usage: npm run bench -- [options]

Measures Ironcraft on this machine and prints a table; all figures go to bench/results/latest.json.

  --store embedded|postgres   default: postgres when a database URL is known, else embedded
  --database-url URL          a PostgreSQL server on which a database may be created and dropped;
                              default: IRONCRAFT_TEST_DATABASE_URL
  --only a,b                  of ${MEASURES.join(', ')}
  --no-peer                   do not install or measure LangGraph.js, Portkey’s gateway and chat
  --minutes N                 of load in embedded and idle; default 1. 60 shows what slows down over a million turns
  --quick                     seconds instead of minutes, for a smoke test; the figures mean little
  --profile DIR               write a CPU profile of the server to DIR when it stops
  --help
`;

/** Throws with a message for the command line. Undefined: help was asked for. */
export function readOptions(args: readonly string[], env: NodeJS.ProcessEnv): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: 'string' },
      'database-url': { type: 'string' },
      only: { type: 'string' },
      peer: { type: 'boolean', default: true },
      quick: { type: 'boolean', default: false },
      minutes: { type: 'string', default: '1' },
      profile: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
    allowNegative: true,
  });
  if (values.help) return undefined;
  const measures = new Set(values.only === undefined ? MEASURES : values.only.split(',').map(readMeasure));
  if (!values.peer) measures.delete('peer');
  return {
    measures,
    quick: values.quick,
    minutes: readMinutes(values.minutes),
    databaseUrl: chooseStore(values.store, values['database-url'] ?? env.IRONCRAFT_TEST_DATABASE_URL),
    withPeers: values.peer,
    profileDir: values.profile,
  };
}

function chooseStore(store: string | undefined, url: string | undefined): string | undefined {
  switch (store) {
    case undefined:
      return url;
    case 'embedded':
      return undefined;
    case 'postgres':
      if (url === undefined) throw new Error('--store postgres needs --database-url or IRONCRAFT_TEST_DATABASE_URL');
      return url;
    default:
      throw new Error(`--store ${store}: use embedded or postgres`);
  }
}

function readMeasure(name: string): MeasureName {
  const measure = MEASURES.find((each) => each === name.trim());
  if (measure === undefined) throw new Error(`--only ${name}: use some of ${MEASURES.join(', ')}`);
  return measure;
}

function readMinutes(text: string): number {
  const minutes = Number(text);
  if (!(minutes > 0)) throw new Error(`--minutes ${text}: give a number above 0`);
  return minutes;
}
