/** What a blocking budget, credits and the trace add to a run whose model has a price, beside a server with none of them. */
import { createDatabase } from '../database.ts';
import type { Findings } from '../figure.ts';
import { type Ironcraft, startIroncraft } from '../ironcraft.ts';
import { generateLoad } from '../load/generate-load.ts';
import { SmithPool } from '../provision.ts';
import { registerUpstream, startUpstream, type Upstream } from '../upstream/start-upstream.ts';
import { type BenchContext, SHORT_MESSAGE } from './bench-context.ts';
import { getSummary } from './measure-runs.ts';
import { remarkFailures } from './remarks.ts';

const ADDED_P50_MS = 0.3;
/** It has a list price. */
const PRICED = { provider: 'openai', model: 'gpt-4o-mini' };
const PLENTY_CENTS = 100_000_000;
const PLENTY_DOLLARS = 1_000_000;

export async function measureMoney(context: BenchContext): Promise<Findings> {
  const { server, database, quick, say } = context;
  if (database === undefined) {
    return { figures: [], remarks: ['Budgets and credits are measured on PostgreSQL.'], details: {} };
  }
  say('money: a second server, with credits and a budget');
  await using served = context.served.use(new AsyncDisposableStack());
  const upstream = await startUpstream(served);
  const second = await createDatabase(database.url, '_money');
  served.defer(() => second.drop());
  const metered = await startIroncraft({
    databaseUrl: second.url,
    profileDir: undefined,
    variables: { IRONCRAFT_BILLING: 'credits' },
  });
  served.defer(() => metered.stop());
  await metered.runVerb('billing', 'adjust', '--cents', String(PLENTY_CENTS), '--note', 'benchmark');
  const budget = { scope: 'tenant', limit: PLENTY_DOLLARS, action: 'block' };
  await metered.call(metered.credentials.tenant_token, 'POST', '/v1/budgets', budget);

  say('money: runs with and without');
  const plain = await describeTarget(server, upstream);
  const withMoney = await describeTarget(metered, upstream);
  const rounds = quick ? { warmUpRounds: 20, rounds: 100 } : { warmUpRounds: 300, rounds: 2000 };
  const result = await generateLoad({
    kind: 'comparison',
    targets: { plain, metered: withMoney },
    base: 'plain',
    ...rounds,
  });
  const added = getSummary(result, 'metered end added');
  return {
    figures: [
      {
        name: 'a budget, credits and the trace add to a run, p50',
        value: added.p50,
        unit: 'ms',
        bar: { atMost: ADDED_P50_MS },
      },
      { name: 'a budget, credits and the trace add to a run, p99', value: added.p99, unit: 'ms' },
    ],
    remarks: remarkFailures('money', result),
    details: result,
  };
}

async function describeTarget(server: Ironcraft, upstream: Upstream) {
  const model = await registerUpstream(server, upstream, PRICED.model, PRICED.provider);
  const [smithId = ''] = await new SmithPool(server, { name: 'Money', model }).take(1);
  const { host, port, credentials } = server;
  const request = {
    method: 'POST' as const,
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${credentials.tenant_token}`, 'ic-smith-id': smithId },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: SHORT_MESSAGE }] }),
    expect: '"finish_reason":"stop"',
  };
  return { host, port, request };
}
