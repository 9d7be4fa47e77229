/** A run with one call of a tool of an MCP server on loopback, beside the plain run. */
import type { Findings } from '../figure.ts';
import { runRequest } from '../ironcraft.ts';
import { generateLoad } from '../load/generate-load.ts';
import { watchCpu } from '../process-usage.ts';
import { SmithPool } from '../provision.ts';
import { startTools, TOOL_TEXT } from '../tools/start-tools.ts';
import { type BenchContext, CLIENTS, SHORT_MESSAGE } from './bench-context.ts';
import { getSummary } from './measure-runs.ts';
import { describeLoad, remarkFailures } from './remarks.ts';

const ADDED_P50_MS = 15;
const SHARE_OF_PLAIN_RUNS = 0.3;
const SERVER = 'bench';
const CALL_MESSAGE = `Call the tool ${SERVER}__echo with ${JSON.stringify({ text: TOOL_TEXT })}`;

export async function measureMcp(context: BenchContext): Promise<Findings> {
  const { server, quick, say } = context;
  const { host, port } = server;
  const { tenant_token: token } = server.credentials;
  await using served = context.served.use(new AsyncDisposableStack());
  const path = `/v1/tenant/mcp/${SERVER}`;
  await server.call(token, 'PUT', path, { url: await startTools(served) });
  await server.call(token, 'POST', `${path}/refresh`);
  const takeRequests = async (name: string, servers: readonly string[], message: string, answer: string) => {
    const pool = new SmithPool(server, { name, settings: { mcp_servers: servers } });
    return (await pool.take(CLIENTS)).map((id) => ({ ...runRequest(server, id, message, false), expect: answer }));
  };
  const plain = await takeRequests('MCP none', [], SHORT_MESSAGE, '"status":"completed"');
  const calling = await takeRequests('MCP', [SERVER], CALL_MESSAGE, `returned: ${TOOL_TEXT}`);

  say('a run with one MCP call, one client');
  const [first, firstCalling] = [plain[0], calling[0]];
  if (first === undefined || firstCalling === undefined) throw new Error('no smith');
  const alone = await generateLoad({
    kind: 'comparison',
    targets: { plain: { host, port, request: first }, calling: { host, port, request: firstCalling } },
    base: 'plain',
    ...(quick ? { warmUpRounds: 20, rounds: 50 } : { warmUpRounds: 200, rounds: 500 }),
  });
  const [warmUpMs, durationMs] = quick ? [500, 2000] : [3000, 12_000];
  const saturate = (requests: typeof plain) =>
    watchCpu(server.pid, () => generateLoad({ kind: 'saturation', host, port, requests, warmUpMs, durationMs }));
  say(`plain runs, ${CLIENTS} clients`);
  const without = await saturate(plain);
  say(`runs with one MCP call, ${CLIENTS} clients`);
  const withCall = await saturate(calling);
  // Smiths of the other measures have the tools of every server.
  await server.call(token, 'DELETE', path);
  const perSecond = ({ result }: typeof without) => result.completed / result.seconds;
  return {
    figures: [
      { name: `a run with one MCP call, ${CLIENTS} clients`, value: perSecond(withCall), unit: 'runs/s' },
      {
        name: `a run with one MCP call, ${CLIENTS} clients, of plain runs`,
        value: perSecond(withCall) / perSecond(without),
        unit: '×',
        bar: { atLeast: SHARE_OF_PLAIN_RUNS },
      },
      { name: 'a run with one MCP call, 1 client, p50', value: getSummary(alone, 'calling end').p50, unit: 'ms' },
      {
        name: 'one MCP call adds to a run, p50',
        value: getSummary(alone, 'calling end added').p50,
        unit: 'ms',
        bar: { atMost: ADDED_P50_MS },
      },
      { name: 'one MCP call adds to a run, p99', value: getSummary(alone, 'calling end added').p99, unit: 'ms' },
    ],
    remarks: [
      ...describeLoad(`one MCP call, ${CLIENTS} clients`, withCall.result, withCall.usage),
      ...remarkFailures('MCP calls', alone, without.result, withCall.result),
    ],
    details: { alone, without, withCall },
  };
}
