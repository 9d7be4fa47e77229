/** `npm run bench`: measures this machine, prints the table, writes bench/results/latest.json. See README.md. */
import { join } from 'node:path';
import { createDatabase } from './database.ts';
import type { Findings } from './figure.ts';
import { startIroncraft } from './ironcraft.ts';
import { describeMachine } from './machine.ts';
import type { BenchContext } from './measures/bench-context.ts';
import { measureAsk } from './measures/measure-ask.ts';
import { measureChannels } from './measures/measure-channels.ts';
import { measureDailyLook } from './measures/measure-daily-look.ts';
import { measureDeliveries } from './measures/measure-deliveries.ts';
import { measureDomains } from './measures/measure-domains.ts';
import { measureEmbedded } from './measures/measure-embedded.ts';
import { measureFirstByte } from './measures/measure-first-byte.ts';
import { measureGateway } from './measures/measure-gateway.ts';
import { measureHosted } from './measures/measure-hosted.ts';
import { measureIdle } from './measures/measure-idle.ts';
import { measureIngest } from './measures/measure-ingest.ts';
import { measureLists } from './measures/measure-lists.ts';
import { measureMcp } from './measures/measure-mcp.ts';
import { measureMemory } from './measures/measure-memory.ts';
import { measureMoney } from './measures/measure-money.ts';
import { measureOAuth } from './measures/measure-oauth.ts';
import { measurePeer } from './measures/measure-peer.ts';
import { measureRuns } from './measures/measure-runs.ts';
import { measureSandbox } from './measures/measure-sandbox.ts';
import { measureSchedules } from './measures/measure-schedules.ts';
import { measureSearch } from './measures/measure-search.ts';
import { measureStreams } from './measures/measure-streams.ts';
import { type BenchOptions, type MeasureName, readOptions, USAGE } from './options.ts';
import { SmithPool } from './provision.ts';
import { renderMarkdown, writeJson } from './report.ts';

const RESULTS = join(import.meta.dirname, 'results/latest.json');

/** Figures of the server itself, in the order in which they are taken: memory after the load, great tables last. */
const SERVER_MEASURES = new Map<MeasureName, (context: BenchContext) => Findings | Promise<Findings>>([
  ['runs', measureRuns],
  ['first-byte', measureFirstByte],
  ['hosted', measureHosted],
  ['streams', measureStreams],
  ['memory', measureMemory],
  ['gateway', measureGateway],
  ['mcp', measureMcp],
  ['ask', measureAsk],
  ['oauth', measureOAuth],
  ['channels', measureChannels],
  ['sandbox', measureSandbox],
  ['ingest', measureIngest],
  ['lists', measureLists],
  ['search', measureSearch],
  ['domains', measureDomains],
  ['daily-look', measureDailyLook],
  ['deliveries', measureDeliveries],
  ['money', measureMoney],
  ['schedules', measureSchedules],
  ['idle', measureIdle],
  ['embedded', measureEmbedded],
]);

async function measureAll(options: BenchOptions, cleanUp: AsyncDisposableStack): Promise<number> {
  const findings = new Map<MeasureName, Findings>();
  const errors = new Map<MeasureName, string>();
  const attempt = async (name: MeasureName, measure: () => Findings | Promise<Findings>) => {
    try {
      findings.set(name, await measure());
    } catch (error) {
      errors.set(name, error instanceof Error ? error.message : String(error));
      say(`${name} failed: ${error instanceof Error ? error.stack : String(error)}`);
    }
  };
  const machine = await describeMachine();
  const chosen = [...SERVER_MEASURES].filter(([name]) => options.measures.has(name));
  let store = 'no store';
  if (chosen.length > 0) {
    await using served = cleanUp.use(new AsyncDisposableStack());
    const context = await prepareServer(options, served);
    store = context.database?.description ?? 'embedded store';
    for (const [name, measure] of chosen) await attempt(name, () => measure(context));
  }
  // Last, with our own server stopped: neither takes the other's cores.
  if (options.measures.has('peer')) {
    const findRunsPerSecond = (name: MeasureName) =>
      findings.get(name)?.figures.find(({ unit }) => unit === 'runs/s')?.value;
    const ours = { runsPerSecond: findRunsPerSecond('runs'), callsPerSecond: findRunsPerSecond('mcp') };
    await using served = cleanUp.use(new AsyncDisposableStack());
    await attempt('peer', () => measurePeer({ quick: options.quick, say, ours, served }));
  }
  const report = { machine, store, quick: options.quick, findings, errors };
  await writeJson(RESULTS, report);
  process.stdout.write(renderMarkdown(report));
  return errors.size === 0 ? 0 : 1;
}

/** Starts what the measures need; `served` stops it again. */
async function prepareServer(options: BenchOptions, served: AsyncDisposableStack): Promise<BenchContext> {
  const { databaseUrl, profileDir, quick, minutes, withPeers } = options;
  const database = databaseUrl === undefined ? undefined : await createDatabase(databaseUrl);
  if (database !== undefined) served.defer(() => database.drop());
  say('starting the server');
  const server = await startIroncraft({ databaseUrl: database?.url, profileDir });
  served.defer(() => server.stop());
  return { server, smiths: new SmithPool(server), database, quick, minutes, profileDir, withPeers, served, say };
}

/** Leaves nothing behind, also when it is interrupted. */
async function runOnce(options: BenchOptions): Promise<number> {
  await using cleanUp = new AsyncDisposableStack();
  let leaving = false;
  const leave = () => {
    // Npm passes on what the terminal has sent already.
    if (leaving) return;
    leaving = true;
    void cleanUp.disposeAsync().finally(() => process.exit(130));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, leave);
  return await measureAll(options, cleanUp);
}

function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}

try {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === undefined) process.stdout.write(USAGE);
  else process.exitCode = await runOnce(options);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
