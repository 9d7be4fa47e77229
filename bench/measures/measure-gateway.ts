/** What a chat completion costs beyond the provider's own time, beside a gateway that keeps nothing of it. */
import type { Figure, Findings } from '../figure.ts';
import { generateLoad, type LoadResult } from '../load/generate-load.ts';
import type { HttpRequest } from '../load/jobs.ts';
import { type CpuUsage, watchCpu } from '../process-usage.ts';
import { SmithPool } from '../provision.ts';
import { ANSWER, PACED_MODEL, readText, SMALL_MODEL, TOKENS_PER_SECOND } from '../upstream/completion.ts';
import { registerUpstream, startUpstream, type Upstream } from '../upstream/start-upstream.ts';
import type { BenchContext } from './bench-context.ts';
import { getSummary } from './measure-runs.ts';
import { describeLoad, remarkFailures } from './remarks.ts';
import { type Portkey, startPortkey } from './start-portkey.ts';

const CLIENTS = 64;
const DIRECT = 'direct';
const OURS = 'Ironcraft';
const PEER = 'Portkey';

/** One way to the upstream. */
interface Way {
  readonly name: typeof DIRECT | typeof OURS | typeof PEER;
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  /** For one of the clients, from 0. */
  readonly request: (client: number, model: string, stream: boolean) => HttpRequest;
}

export async function measureGateway(context: BenchContext): Promise<Findings> {
  const { server, quick, withPeers, say } = context;
  await using served = context.served.use(new AsyncDisposableStack());
  const upstream = await startUpstream(served);
  const model = await registerUpstream(server, upstream, SMALL_MODEL);
  const smithIds = await new SmithPool(server, { name: 'Gateway', model }).take(CLIENTS);
  const portkey = withPeers ? await startPortkey(served, say) : undefined;
  const ways = [
    wayDirect(upstream),
    wayThroughUs(context, smithIds),
    ...(portkey === undefined ? [] : [wayThroughPortkey(portkey, upstream)]),
  ];
  for (const way of ways) for (const stream of [false, true]) await checkAnswer(way, stream);

  const alone = new Map<boolean, LoadResult>();
  const together: Together[] = [];
  for (const stream of [false, true]) {
    say(`gateway: one client, ${stream ? 'streamed' : 'whole'}`);
    const targets = ways.map((way) => [way.name, { ...placeOf(way), request: way.request(0, SMALL_MODEL, stream) }]);
    const rounds = quick ? { warmUpRounds: 30, rounds: 100 } : { warmUpRounds: 300, rounds: 2000 };
    const job = { kind: 'comparison', targets: Object.fromEntries(targets), base: DIRECT, ...rounds } as const;
    alone.set(stream, await generateLoad(job));
  }
  for (const way of ways) {
    for (const kind of KINDS) together.push(await saturate(way, kind, context));
  }
  return {
    figures: [
      ...[...alone].flatMap(([stream, result]) => addedFigures(result, stream, portkey !== undefined)),
      ...together.flatMap(({ way, kind, result }) => togetherFigures(way, kind, result, together)),
    ],
    remarks: [
      'Gateway: Ironcraft stores every turn before it says that it ended.',
      ...(portkey === undefined ? [] : [describePeer(portkey)]),
      ...together.flatMap(({ way, kind, result, usage }) =>
        way.name === DIRECT ? [] : describeLoad(`${way.name}, ${CLIENTS} clients, ${kind}`, result, usage),
      ),
      ...remarkFailures('gateway', ...alone.values(), ...together.map(({ result }) => result)),
    ],
    details: {
      alone: { whole: alone.get(false), streamed: alone.get(true) },
      together: together.map(({ way, kind, result, usage }) => ({ way: way.name, kind, result, cpu: usage })),
    },
  };
}

/** Its stream reader waits for a timer of 25 ms before it passes on the first chunk. */
function describePeer({ version }: Portkey): string {
  return (
    `Gateway: @portkey-ai/gateway ${version} keeps nothing of a request. 25 ms of what it adds to a stream is a timer in its ` +
    'own code: judge by the whole answers.'
  );
}

function placeOf({ host, port }: Way): { host: string; port: number } {
  return { host, port };
}

function wayDirect({ host, port, pid }: Upstream): Way {
  const request: Way['request'] = (_, model, stream) => chatRequest({ authorization: 'Bearer none' }, model, stream);
  return { name: DIRECT, host, port, pid, request };
}

/** A smith for each client: a smith answers one request at a time. */
function wayThroughUs({ server }: BenchContext, smithIds: readonly string[]): Way {
  const { host, port, pid, credentials } = server;
  const request: Way['request'] = (client, model, stream) => {
    const headers = { authorization: `Bearer ${credentials.tenant_token}`, 'ic-smith-id': smithIds[client] ?? '' };
    return chatRequest(headers, `openai-compatible/${model}`, stream);
  };
  return { name: OURS, host, port, pid, request };
}

function wayThroughPortkey({ host, port, pid }: Portkey, { baseUrl }: Upstream): Way {
  const headers = {
    authorization: 'Bearer none',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': baseUrl,
  };
  return { name: PEER, host, port, pid, request: (_, model, stream) => chatRequest(headers, model, stream) };
}

function chatRequest(headers: HttpRequest['headers'], model: string, stream: boolean): HttpRequest {
  return {
    method: 'POST',
    path: '/v1/chat/completions',
    headers,
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Name some tokens.' }] }),
    expect: stream ? 'data: [DONE]' : '"finish_reason":"stop"',
  };
}

/** Throws unless the way brings the upstream's text, whole: the figures of another answer would compare nothing. */
async function checkAnswer({ name, host, port, request }: Way, stream: boolean): Promise<void> {
  const { method, path, headers, body = '' } = request(0, SMALL_MODEL, stream);
  const response = await fetch(`http://${host}:${port}${path}`, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${name} answered ${response.status}: ${answer.slice(0, 500)}`);
  const text = readText(answer, stream);
  if (text !== ANSWER) throw new Error(`${name} answered another text than the upstream: ${text.slice(0, 200)}`);
}

const KINDS = ['whole', 'streamed', 'paced'] as const;
type Kind = (typeof KINDS)[number];

interface Together {
  readonly way: Way;
  readonly kind: Kind;
  readonly result: LoadResult;
  readonly usage: CpuUsage;
}

/** All clients at once; `paced`: each token when a model would say it, so that it is latency which counts. */
async function saturate(way: Way, kind: Kind, { quick, say }: BenchContext): Promise<Together> {
  say(`gateway: ${CLIENTS} clients, ${kind}, ${way.name}`);
  const model = kind === 'paced' ? PACED_MODEL : SMALL_MODEL;
  const requests = Array.from({ length: CLIENTS }, (_, client) => way.request(client, model, kind !== 'whole'));
  const window = quick ? { warmUpMs: 500, durationMs: 3000 } : { warmUpMs: 3000, durationMs: 12_000 };
  const { result, usage } = await watchCpu(way.pid, () =>
    generateLoad({ kind: 'saturation', ...placeOf(way), requests, ...window }),
  );
  return { way, kind, result, usage };
}

function addedFigures(result: LoadResult, stream: boolean, withPeer: boolean): Figure[] {
  const what = stream ? 'streamed chat completion' : 'chat completion';
  const figure = (way: string, part: 'end' | 'first', percentile: 'p50' | 'p99'): Figure => ({
    name: `${what}${part === 'first' ? ', first text' : ''}: ${way} adds, 1 client, ${percentile}`,
    value: getSummary(result, `${way} ${part} added`)[percentile],
    unit: 'ms',
  });
  const parts = stream ? (['end', 'first'] as const) : (['end'] as const);
  return parts.flatMap((part) =>
    (['p50', 'p99'] as const).flatMap((percentile) => {
      const ours = figure(OURS, part, percentile);
      if (!withPeer) return [ours];
      const theirs = figure(PEER, part, percentile);
      // Of the whole answer: what the client waits for in either form.
      if (part === 'first') return [ours, theirs];
      return [{ ...ours, bar: percentile === 'p50' ? { atMost: theirs.value } : { below: theirs.value } }, theirs];
    }),
  );
}

function togetherFigures({ name }: Way, kind: Kind, result: LoadResult, all: readonly Together[]): Figure[] {
  if (kind !== 'paced') {
    const what = kind === 'streamed' ? 'streamed chat completions' : 'chat completions';
    const value = result.completed / result.seconds;
    return [{ name: `${what}: ${name}, ${CLIENTS} clients`, value, unit: 'requests/s' }];
  }
  const direct = all.find((each) => each.kind === kind && each.way.name === DIRECT);
  if (direct === undefined || name === DIRECT) return [];
  const added = getSummary(result, 'latency').p50 - getSummary(direct.result, 'latency').p50;
  const what = `${CLIENTS} streams of ${TOKENS_PER_SECOND} tokens/s`;
  return [{ name: `${what}: ${name} adds to an answer, p50`, value: added, unit: 'ms' }];
}
