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
import { CLIENTS, SHORT_MESSAGE } from './bench-context.ts';
import { installPeer, readPeerVersion } from './install-peer.ts';
import { getSummary } from './measure-runs.ts';
import { describeLoad, remarkFailures } from './remarks.ts';

const PEERS = resolve(import.meta.dirname, '../peers');
const START_TIMEOUT_MS = 60_000;
const TIMES_AS_MANY_RUNS = 10;

/** `ourRunsPerSecond`: undefined when they were not measured in this run. `served` stops the peer. */
export async function measurePeer(parts: {
  quick: boolean;
  say: (line: string) => void;
  ourRunsPerSecond: number | undefined;
  served: AsyncDisposableStack;
}): Promise<Findings> {
  const { quick, say, ourRunsPerSecond, served } = parts;
  await installPeer(PEERS, 'LangGraph.js into bench/peers, about 140 MB', say);
  const host = '127.0.0.1';
  const port = await findFreePort(host);
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-bench-peer-'));
  served.defer(() => rm(folder, { recursive: true, force: true }));
  const peer = new OwnProcess({
    args: [join(PEERS, 'langgraph/serve.ts'), String(port)],
    cwd: folder,
    logPath: join(folder, 'peer.log'),
    env: { LOG_LEVEL: 'error', LANGSMITH_TRACING: 'false' },
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
  const against: Figure[] =
    ourRunsPerSecond === undefined
      ? []
      : [
          {
            name: 'runs/s, Ironcraft against LangGraph.js',
            value: ourRunsPerSecond / runsPerSecond,
            unit: '×',
            bar: { atLeast: TIMES_AS_MANY_RUNS },
          },
        ];
  return {
    figures: [
      { name: `LangGraph.js: run-and-wait, ${CLIENTS} clients`, value: runsPerSecond, unit: 'runs/s' },
      { name: 'LangGraph.js: first streamed byte, p50', value: getSummary(stream, 'first_frame').p50, unit: 'ms' },
      { name: 'LangGraph.js: first streamed word, p50', value: getSummary(stream, 'first_delta').p50, unit: 'ms' },
      ...against,
    ],
    remarks: [
      `LangGraph.js: @langchain/langgraph-api ${readPeerVersion(PEERS, '@langchain/langgraph-api')}, its development server with its 10 workers; it keeps its state in memory.`,
      ...describeLoad(`LangGraph.js, ${CLIENTS} clients`, together, usage),
      ...remarkFailures('LangGraph.js', together, stream),
    ],
    details: { together, cpu: usage, stream },
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

function streamRequest(): HttpRequest {
  const input = { messages: [{ role: 'user', content: SHORT_MESSAGE }] };
  const body = { assistant_id: 'words', if_not_exists: 'create', stream_mode: ['messages-tuple'], input };
  return { method: 'POST', path: '/threads/{uuid}/runs/stream', headers: {}, body: JSON.stringify(body) };
}
