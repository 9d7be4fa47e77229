/**
 * The domain service: /check and zone reads a second beside the bare HTTP framework that answers the same bytes, and orders
 * a second, each a registration that is paid from the wallet.
 */
import Type from 'typebox';
import { Parse } from 'typebox/value';
import { startBare } from '../bare/start-bare.ts';
import type { Figure, Findings } from '../figure.ts';
import { generateLoad, type LoadResult } from '../load/generate-load.ts';
import type { HttpRequest } from '../load/jobs.ts';
import { type CpuUsage, watchCpu } from '../process-usage.ts';
import { type BenchContext, CLIENTS } from './bench-context.ts';
import { getSummary } from './measure-runs.ts';
import { describeLoad, remarkFailures } from './remarks.ts';

const BASE = '/api/v1';
const NAME = 'ironcraft-bench.com';
const PRICE = 11.9;
/** A zone of an ordinary size. */
const RECORDS = 12;

const Account = Type.Object({ token: Type.Object({ token: Type.String() }) });

interface Place {
  readonly host: string;
  readonly port: number;
  readonly pid: number;
}

export async function measureDomains({ server, quick, say, served }: BenchContext): Promise<Findings> {
  const place = { host: server.host, port: server.domainsPort, pid: server.pid };
  const account = Parse(Account, await server.callDomains('', 'POST', '/accounts', { email: 'bench@example.com' }));
  const { token } = account.token;
  await setUpZone(server, token);
  const headers = { authorization: `Bearer ${token}` };
  const check: HttpRequest = { method: 'GET', path: `${BASE}/check?q=${NAME}`, headers: {}, expect: '"results"' };
  const zone: HttpRequest = { method: 'GET', path: `${BASE}/domains/${NAME}/zone`, headers, expect: '"records"' };
  const bare = await startBare(
    JSON.stringify(await server.callDomains(token, 'GET', `/check?q=${NAME}`)),
    JSON.stringify(await server.callDomains(token, 'GET', `/domains/${NAME}/zone`)),
  );
  served.defer(() => bare.stop());
  const [warmUpMs, durationMs] = quick ? [300, 1_000] : [2_000, 8_000];
  const saturate = async (what: string, { host, port, pid }: Place, request: HttpRequest) => {
    say(`domains: ${what}`);
    const requests = Array.from({ length: CLIENTS }, () => request);
    const job = { kind: 'saturation', host, port, requests, warmUpMs, durationMs } as const;
    return { what, ...(await watchCpu(pid, () => generateLoad(job))) };
  };
  const plain = (path: string): HttpRequest => ({ method: 'GET', path, headers: {} });
  const taken = [
    await saturate('/check, bare framework', bare, plain('/check')),
    await saturate('/check', place, check),
    await saturate('zone read, bare framework', bare, plain('/zone')),
    await saturate('zone read', place, zone),
  ];
  const order: HttpRequest = {
    method: 'POST',
    path: `${BASE}/domains`,
    headers,
    body: JSON.stringify({ domain: 'n{uuid}.com', confirm_price: PRICE }),
    expect: '"order_id"',
  };
  const orders = await saturate('orders', place, order);
  return {
    figures: [...taken.map(figureOf), { ...figureOf(orders), unit: 'orders/s' }, ...latencyOf(orders)],
    remarks: [...taken, orders].flatMap(({ what, result, usage }) => [
      ...describeLoad(`Domains, ${what}`, result, usage),
      ...remarkFailures(what, result),
    ]),
    details: Object.fromEntries([...taken, orders].map(({ what, ...rest }) => [what, rest])),
  };
}

interface Taken {
  readonly what: string;
  readonly result: LoadResult;
  readonly usage: CpuUsage;
}

function figureOf({ what, result }: Taken): Figure {
  return { name: `domains: ${what}, ${CLIENTS} clients`, value: result.completed / result.seconds, unit: 'requests/s' };
}

function latencyOf({ what, result }: Taken): Figure[] {
  const { p50, p99 } = getSummary(result, 'latency');
  return [
    { name: `domains: ${what}, ${CLIENTS} clients, p50`, value: p50, unit: 'ms' },
    { name: `domains: ${what}, ${CLIENTS} clients, p99`, value: p99, unit: 'ms' },
  ];
}

async function setUpZone(server: BenchContext['server'], token: string): Promise<void> {
  await server.callDomains(token, 'POST', '/domains', { domain: NAME, confirm_price: PRICE });
  for (let number = 1; number <= RECORDS; number += 1) {
    const record = { subdomain: `host-${number}`, type: 'A', value: `192.0.2.${number}` };
    await server.callDomains(token, 'POST', `/domains/${NAME}/zone`, record);
  }
}
