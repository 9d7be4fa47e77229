/** `run_command` with `true`, beside the program that its boxes are made with. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import Type from 'typebox';
import { Parse } from 'typebox/value';
import type { Findings } from '../figure.ts';
import { runRequest } from '../ironcraft.ts';
import { generateLoad } from '../load/generate-load.ts';
import { SmithPool } from '../provision.ts';
import { summarize } from '../statistics.ts';
import { type BenchContext, SHORT_MESSAGE } from './bench-context.ts';
import { getSummary } from './measure-runs.ts';
import { remarkFailures } from './remarks.ts';

const BEYOND_BUBBLEWRAP_MS = 20;
const MESSAGE = 'Call the tool run_command with {"command":"true"}';
/** The least that is a box: namespaces of its own, and what a program needs. */
const BARE = ['--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', 'true'];

const HostedTools = Type.Object({
  data: Type.Array(
    Type.Object({
      name: Type.String(),
      available: Type.Boolean(),
      unavailable_reason: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
});

export async function measureSandbox({ server, quick, say }: BenchContext): Promise<Findings> {
  const { host, port } = server;
  const { tenant_token: token } = server.credentials;
  const { data } = Parse(HostedTools, await server.call(token, 'GET', '/v1/tenant/hosted_tools'));
  const tool = data.find(({ name }) => name === 'run_command');
  if (tool?.available !== true) {
    return { figures: [], remarks: [`run_command was not measured: ${tool?.unavailable_reason}`], details: {} };
  }
  const settings = { enabled_hosted_tools: ['run_command'], mcp_servers: [] };
  const [plain = '', commanding = ''] = await new SmithPool(server, { name: 'Sandbox', settings }).take(2);
  const rounds = quick ? 20 : 200;
  say('bare bwrap');
  // Before and after, so that a machine that changes its pace in between shows.
  const bare = await timeBubblewrap(rounds / 2);
  say('run_command true');
  const result = await generateLoad({
    kind: 'comparison',
    targets: {
      plain: { host, port, request: runRequest(server, plain, SHORT_MESSAGE, false) },
      command: { host, port, request: { ...runRequest(server, commanding, MESSAGE, false), expect: 'exit_code' } },
    },
    base: 'plain',
    warmUpRounds: rounds / 4,
    rounds,
  });
  bare.push(...(await timeBubblewrap(rounds / 2)));
  const bubblewrap = summarize(bare);
  const added = getSummary(result, 'command end added');
  return {
    figures: [
      { name: 'bare bwrap true, p50', value: bubblewrap.p50, unit: 'ms' },
      {
        name: 'run_command true adds to a run, p50',
        value: added.p50,
        unit: 'ms',
        bar: { atMost: bubblewrap.p50 + BEYOND_BUBBLEWRAP_MS },
      },
      { name: 'run_command true adds to a run, p99', value: added.p99, unit: 'ms' },
      { name: 'a run with run_command true, p50', value: getSummary(result, 'command end').p50, unit: 'ms' },
    ],
    remarks: remarkFailures('run_command', result),
    details: { bubblewrap, result },
  };
}

async function timeBubblewrap(times: number): Promise<number[]> {
  const taken: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const startedAt = performance.now();
    const [code] = await once(spawn('bwrap', BARE, { stdio: 'ignore' }), 'exit');
    if (code !== 0) throw new Error(`bwrap ${BARE.join(' ')} ended with ${code}`);
    taken.push(performance.now() - startedAt);
  }
  return taken;
}
