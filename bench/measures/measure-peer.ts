/** The same short run on the LangGraph.js development server, in the same run on the same machine. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { OwnProcess } from '../child-process.ts';
import type { Figure, Findings } from '../figure.ts';
import { findFreePort } from '../ironcraft.ts';
import { generateLoad } from '../load/generate-load.ts';
import type { HttpRequest } from '../load/jobs.ts';
import { watchCpu } from '../process-usage.ts';
import { startTools, TOOL_TEXT } from '../tools/start-tools.ts';
import { CLIENTS, SHORT_MESSAGE } from './bench-context.ts';
import { installPeer, readPeerVersion } from './install-peer.ts';
import { getSummary } from './measure-runs.ts';
import { describeLoad, remarkFailures } from './remarks.ts';

const PEERS = resolve(import.meta.dirname, '../peers');
const START_TIMEOUT_MS = 60_000;
const TIMES_AS_MANY_RUNS = 10;
const TIMES_AS_MANY_CALLS = 5;

/** `ours`: undefined what was not measured in this run. `served` stops the peer. */
export async function measurePeer(parts: {
  quick: boolean;
  say: (line: string) => void;
  ours: { readonly runsPerSecond: number | undefined; readonly callsPerSecond: number | undefined };
  served: AsyncDisposableStack;
}): Promise<Findings> {
  const { quick, say, ours, served } = parts;
  await installPeer(PEERS, 'LangGraph.js into bench/peers, about 140 MB', say);
  const host = '127.0.0.1';
  const port = await findFreePort(host);
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-bench-peer-'));
  served.defer(() => rm(folder, { recursive: true, force: true }));
  const peer = new OwnProcess({
    args: [join(PEERS, 'langgraph/serve.ts'), String(port)],
    cwd: folder,
    logPath: join(folder, 'peer.log'),
    env: { LOG_LEVEL: 'error', LANGSMITH_TRACING: 'false', TOOLS_URL: await startTools(served), TOOL_TEXT },
  });
  served.defer(() => peer.stop());
  await peer.waitFor('a ready LangGraph.js server', START_TIMEOUT_MS, async () =>
    (await fetch(`http://${host}:${port}/ok`)).ok ? true : undefined,
  );
  say(`LangGraph.js, ${CLIENTS} clients`);
  const [warmUpMs, durationMs] = quick ? [500, 2000] : [3000, 12_000];
  const requests = Array.from({ length: CLIENTS }, () => waitRequest());
  const { result: together, usage } = await watchCpu(peer.pid, () =>
    generateLoad({ kind: 'saturation', host, port, requests, warmUpMs, durationMs }),
  );
  say(`LangGraph.js with one MCP call, ${CLIENTS} clients`);
  const { result: calling, usage: callingUsage } = await watchCpu(peer.pid, () =>
    generateLoad({
      ...{ kind: 'saturation', host, port, warmUpMs, durationMs },
      requests: Array.from({ length: CLIENTS }, () => callRequest()),
    }),
  );
  say('LangGraph.js, first streamed byte');
  const stream = await generateLoad({
    kind: 'first-byte',
    host,
    port,
    request: streamRequest(),
    deltaEvent: 'messages',
    ...(quick ? { warmUpRounds: 3, rounds: 10 } : { warmUpRounds: 20, rounds: 60 }),
  });
  const runsPerSecond = together.completed / together.seconds;
  const callsPerSecond = calling.completed / calling.seconds;
  const compare = (name: string, our: number | undefined, theirs: number, atLeast: number): Figure[] =>
    our === undefined
      ? []
      : [{ name: `${name}, Ironcraft against LangGraph.js`, value: our / theirs, unit: '×', bar: { atLeast } }];
  return {
    figures: [
      { name: `LangGraph.js: run-and-wait, ${CLIENTS} clients`, value: runsPerSecond, unit: 'runs/s' },
      { name: 'LangGraph.js: first streamed byte, p50', value: getSummary(stream, 'first_frame').p50, unit: 'ms' },
      { name: 'LangGraph.js: first streamed word, p50', value: getSummary(stream, 'first_delta').p50, unit: 'ms' },
      {
        name: `LangGraph.js: run-and-wait with one MCP call, ${CLIENTS} clients`,
        value: callsPerSecond,
        unit: 'runs/s',
      },
      ...compare('runs/s', ours.runsPerSecond, runsPerSecond, TIMES_AS_MANY_RUNS),
      ...compare('runs/s with one MCP call', ours.callsPerSecond, callsPerSecond, TIMES_AS_MANY_CALLS),
    ],
    remarks: [
      `LangGraph.js: @langchain/langgraph-api ${readPeerVersion(PEERS, '@langchain/langgraph-api')}, its development server with its 10 workers; it keeps its state in memory. It calls tools by @langchain/mcp-adapters ${readPeerVersion(PEERS, '@langchain/mcp-adapters')}.`,
      ...describeLoad(`LangGraph.js, ${CLIENTS} clients`, together, usage),
      ...describeLoad(`LangGraph.js with one MCP call, ${CLIENTS} clients`, calling, callingUsage),
      ...remarkFailures('LangGraph.js', together, calling, stream),
    ],
    details: { together, cpu: usage, calling, callingCpu: callingUsage, stream },
  };
}

/** Each run on a new thread, as ours. */
function waitRequest(): HttpRequest {
  const body = {
    assistant_id: 'words',
    if_not_exists: 'create',
    input: { messages: [{ role: 'user', content: SHORT_MESSAGE }] },
  };
  return {
    method: 'POST',
    path: '/threads/{uuid}/runs/wait',
    headers: {},
    body: JSON.stringify(body),
    expect: ' word19"',
  };
}

function callRequest(): HttpRequest {
  const body = {
    assistant_id: 'tools',
    if_not_exists: 'create',
    input: { messages: [{ role: 'user', content: 'Call the tool' }] },
  };
  return {
    method: 'POST',
    path: '/threads/{uuid}/runs/wait',
    headers: {},
    body: JSON.stringify(body),
    expect: `returned: ${TOOL_TEXT}`,
  };
}

function streamRequest(): HttpRequest {
  const input = { messages: [{ role: 'user', content: SHORT_MESSAGE }] };
  const body = { assistant_id: 'words', if_not_exists: 'create', stream_mode: ['messages-tuple'], input };
  return { method: 'POST', path: '/threads/{uuid}/runs/stream', headers: {}, body: JSON.stringify(body) };
}
