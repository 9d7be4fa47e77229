/** `ask` of an MCP deployment: a message begins a turn, whose reply is the result of the call. */
import Type from 'typebox';
import { Parse } from 'typebox/value';
import type { Findings } from '../figure.ts';
import { generateLoad } from '../load/generate-load.ts';
import type { HttpRequest } from '../load/jobs.ts';
import { watchCpu } from '../process-usage.ts';
import { type BenchContext, CLIENTS, SHORT_MESSAGE } from './bench-context.ts';
import { getSummary } from './measure-runs.ts';
import { describeLoad, remarkFailures } from './remarks.ts';

const ASKS_PER_SECOND = 100;
const REVISIONS = ['2025-11-25', '2026-07-28'] as const;
type Revision = (typeof REVISIONS)[number];

const Smith = Type.Object({ agent_id: Type.String() });
const Deployment = Type.Object({ id: Type.String() });

export async function measureAsk({ server, smiths, quick, say }: BenchContext): Promise<Findings> {
  const { host, port, credentials } = server;
  const { tenant_token: token } = credentials;
  const ids = await smiths.take(CLIENTS);
  const [first = ''] = ids;
  const { agent_id: agentId } = Parse(Smith, await server.call(token, 'GET', `/v1/smiths/${first}`));
  const target = { type: 'agent', id: agentId };
  const { id } = Parse(Deployment, await server.call(token, 'POST', '/v1/deployments', { target, kind: 'mcp' }));
  const [warmUpMs, durationMs] = quick ? [500, 2000] : [3000, 12_000];
  const taken = [];
  for (const revision of REVISIONS) {
    say(`ask in ${revision}, ${CLIENTS} clients`);
    const requests = ids.map((smithId) => askRequest(`/v1/deployments/${id}/mcp`, token, smithId, revision));
    const load = await watchCpu(server.pid, () =>
      generateLoad({ kind: 'saturation', host, port, requests, warmUpMs, durationMs }),
    );
    taken.push({ name: `ask in ${revision}, ${CLIENTS} clients`, ...load });
  }
  await server.call(token, 'DELETE', `/v1/deployments/${id}`);
  return {
    figures: taken.flatMap(({ name, result }) => [
      {
        name,
        value: result.completed / result.seconds,
        unit: 'requests/s' as const,
        bar: { atLeast: ASKS_PER_SECOND },
      },
      { name: `${name}, p50`, value: getSummary(result, 'latency').p50, unit: 'ms' as const },
      { name: `${name}, p99`, value: getSummary(result, 'latency').p99, unit: 'ms' as const },
    ]),
    remarks: [
      ...taken.flatMap(({ name, result, usage }) => describeLoad(name, result, usage)),
      ...remarkFailures('ask', ...taken.map(({ result }) => result)),
    ],
    details: { taken },
  };
}

function askRequest(path: string, token: string, smithId: string, revision: Revision): HttpRequest {
  const isModern = revision === '2026-07-28';
  const meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: 'ask', arguments: { message: SHORT_MESSAGE }, ...(isModern ? { _meta: meta } : {}) };
  return {
    method: 'POST',
    path,
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'ic-smith-id': smithId,
      'mcp-protocol-version': revision,
      ...(isModern ? { 'mcp-method': 'tools/call', 'mcp-name': 'ask' } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    expect: '"status":"completed"',
  };
}
