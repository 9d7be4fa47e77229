import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import Type from 'typebox';
import { Parse } from 'typebox/value';
import type { Findings } from '../figure.ts';
import type { Ironcraft } from '../ironcraft.ts';
import { generateLoad } from '../load/generate-load.ts';
import { summarize } from '../statistics.ts';
import { type BenchContext, CLIENTS } from './bench-context.ts';
import { getSummary } from './measure-runs.ts';
import { remarkFailures } from './remarks.ts';

const BACKLOG_ENDPOINTS = 20;
const PACE_MS = 50;
const BARS = { perSecond: 500, latencyMs: 50 };
const PATIENCE_MS = 300_000;

/** A backlog delivered to endpoints that answer at once; one event at a time; and the feed, read while others write it. */
export async function measureDeliveries({ server, smiths, quick, say }: BenchContext): Promise<Findings> {
  await using receiver = await openReceiver();
  const changed = await smiths.take(CLIENTS);
  const events = quick ? 50 : 1_000;

  say('deliveries: a backlog');
  const paused = await Promise.all(
    Array.from({ length: BACKLOG_ENDPOINTS }, () => register(server, receiver.url, { active: false })),
  );
  for (let n = 0; n < events; n += CLIENTS) await Promise.all(changed.map((id) => changeSmith(server, id)));
  const rounds = Math.ceil(events / CLIENTS) * CLIENTS;
  const startedMs = performance.now();
  await Promise.all(
    paused.map((id) => server.call(tokenOf(server), 'PATCH', `/v1/tenant/webhooks/${id}`, { active: true })),
  );
  await receiver.until(rounds * BACKLOG_ENDPOINTS);
  const perSecond = (rounds * BACKLOG_ENDPOINTS) / ((performance.now() - startedMs) / 1_000);
  for (const id of paused) await server.call(tokenOf(server), 'DELETE', `/v1/tenant/webhooks/${id}`, undefined);

  say('deliveries: one event at a time');
  await register(server, receiver.url, { active: true });
  const latencies: number[] = [];
  for (let n = 0; n < (quick ? 20 : 300); n += 1) {
    const arrival = receiver.next();
    const atMs = performance.now();
    await changeSmith(server, changed[n % changed.length] ?? '');
    latencies.push((await arrival) - atMs);
    await wait(PACE_MS);
  }
  const latency = summarize(latencies);

  say('deliveries: reading the feed while others write it');
  const alone = await readFeed(server, quick);
  const writing = new AbortController();
  const writers = changed.map(async (id) => {
    while (!writing.signal.aborted) await changeSmith(server, id);
  });
  const beside = await readFeed(server, quick).finally(() => writing.abort());
  await Promise.all(writers);
  return {
    figures: [
      {
        name: 'webhook deliveries, backlog of 20 endpoints',
        value: perSecond,
        unit: 'deliveries/s',
        bar: { atLeast: BARS.perSecond },
      },
      {
        name: 'webhook delivery, from the request that causes it, p50',
        value: latency.p50,
        unit: 'ms',
        bar: { atMost: BARS.latencyMs },
      },
      { name: 'webhook delivery, from the request that causes it, p99', value: latency.p99, unit: 'ms' },
      { name: 'feed read, p50', value: getSummary(alone, 'feed').p50, unit: 'ms' },
      { name: `feed read while ${CLIENTS} clients write, p50`, value: getSummary(beside, 'feed').p50, unit: 'ms' },
    ],
    remarks: [...remarkFailures('feed', alone), ...remarkFailures('feed beside writers', beside)],
    details: { latency, alone, beside, deliveries: rounds * BACKLOG_ENDPOINTS, perSecond },
  };
}

const tokenOf = (server: Ironcraft): string => server.credentials.tenant_token;

async function register(server: Ironcraft, url: string, { active }: { readonly active: boolean }): Promise<string> {
  const body = { url, events: ['smith.updated'] };
  const { id } = Parse(
    Type.Object({ id: Type.String() }),
    await server.call(tokenOf(server), 'POST', '/v1/tenant/webhooks', body),
  );
  if (!active) await server.call(tokenOf(server), 'PATCH', `/v1/tenant/webhooks/${id}`, { active });
  return id;
}

let changes = 0;

/** One event: `smith.updated`. */
async function changeSmith(server: Ironcraft, id: string): Promise<void> {
  changes += 1;
  await server.call(tokenOf(server), 'PATCH', `/v1/smiths/${id}`, { display_name: `number ${changes}` });
}

async function readFeed({ host, port, credentials }: Ironcraft, quick: boolean) {
  const headers = { authorization: `Bearer ${credentials.tenant_token}` };
  const feed = { method: 'GET' as const, path: '/v1/events', headers, expect: '"data":[{' };
  const rounds = quick ? 20 : 300;
  return generateLoad({ kind: 'sequence', host, port, requests: { feed }, warmUpRounds: rounds / 10, rounds });
}

/** Answers 200 at once, and counts. */
async function openReceiver() {
  let count = 0;
  let onNext: ((atMs: number) => void) | undefined;
  const server = createServer((request, response) => {
    count += 1;
    onNext?.(performance.now());
    onNext = undefined;
    request.resume();
    response.writeHead(200).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    next: () =>
      new Promise<number>((resolve) => {
        onNext = resolve;
      }),
    async until(total: number): Promise<void> {
      for (const deadline = performance.now() + PATIENCE_MS; count < total; await wait(2)) {
        if (performance.now() > deadline) throw new Error(`${count} of ${total} deliveries arrived`);
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
