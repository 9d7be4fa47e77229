/** Clients of an MCP deployment that refresh their tokens, each with the refresh token that it was given last. */
import { createHash, randomBytes } from 'node:crypto';
import Type from 'typebox';
import { Parse } from 'typebox/value';
import type { Findings } from '../figure.ts';
import type { Ironcraft } from '../ironcraft.ts';
import { generateLoad } from '../load/generate-load.ts';
import type { HttpRequest } from '../load/jobs.ts';
import { watchCpu } from '../process-usage.ts';
import { type BenchContext, CLIENTS } from './bench-context.ts';
import { getSummary } from './measure-runs.ts';
import { describeLoad, remarkFailures } from './remarks.ts';

const REFRESHES_PER_SECOND = 100;
const REDIRECT = 'http://127.0.0.1/callback';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

const Deployment = Type.Object({ id: Type.String(), mcp_url: Type.String() });
const Client = Type.Object({ client_id: Type.String() });
const Completed = Type.Object({ redirect_url: Type.String() });
const Tokens = Type.Object({ refresh_token: Type.String() });

export async function measureOAuth({ server, smiths, database, quick, say }: BenchContext): Promise<Findings> {
  const { host, port } = server;
  const { tenant_token: token } = server.credentials;
  const [id] = await smiths.take(1);
  const body = { target: { type: 'smith', id }, kind: 'mcp' };
  const deployment = Parse(Deployment, await server.call(token, 'POST', '/v1/deployments', body));
  const requests: HttpRequest[] = [];
  while (requests.length < CLIENTS) requests.push(await letClientIn(server, deployment.mcp_url));

  const name = `refreshes at /oauth/token, ${CLIENTS} clients`;
  say(name);
  const [warmUpMs, durationMs] = quick ? [500, 2000] : [3000, 12_000];
  const { result, usage } = await watchCpu(server.pid, () =>
    generateLoad({ kind: 'saturation', host, port, requests, warmUpMs, durationMs }),
  );
  await server.call(token, 'DELETE', `/v1/deployments/${deployment.id}`);
  const { p50, p99 } = getSummary(result, 'latency');
  return {
    figures: [
      {
        name,
        value: result.completed / result.seconds,
        unit: 'requests/s',
        ...(database !== undefined && { bar: { atLeast: REFRESHES_PER_SECOND } }),
      },
      { name: `${name}, p50`, value: p50, unit: 'ms' },
      { name: `${name}, p99`, value: p99, unit: 'ms' },
    ],
    remarks: [...describeLoad(name, result, usage), ...remarkFailures('refreshes', result)],
    details: { result, usage },
  };
}

/** From its registration to its first refresh token. The request by which it refreshes. */
async function letClientIn(server: Ironcraft, resource: string): Promise<HttpRequest> {
  const { tenant_token: token } = server.credentials;
  const registration = { client_name: 'Benchmark', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' };
  const { client_id } = Parse(Client, await server.call('', 'POST', '/oauth/register', registration));
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id,
    resource,
    response_type: 'code',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const base = `http://${server.host}:${server.port}`;
  const page = await (await fetch(`${base}/oauth/authorize?${query}`)).text();
  const [, request] = /name="request" value="([\w-]+)"/.exec(page) ?? [];
  if (request === undefined) throw new Error(`no consent page: ${page.slice(0, 500)}`);
  const path = `/v1/oauth/authorize-requests/${request}/complete`;
  const { redirect_url } = Parse(Completed, await server.call(token, 'POST', path, {}));
  const code = new URL(redirect_url).searchParams.get('code') ?? '';
  const grant = { grant_type: 'authorization_code', client_id, code, code_verifier: verifier };
  const redeemed = await fetch(`${base}/oauth/token`, { method: 'POST', body: new URLSearchParams(grant) });
  const { refresh_token } = Parse(Tokens, await redeemed.json());
  return {
    method: 'POST',
    path: '/oauth/token',
    headers: FORM,
    body: `grant_type=refresh_token&client_id=${client_id}&refresh_token={carried}`,
    expect: '"access_token":"',
    carry: { member: 'refresh_token', first: refresh_token },
  };
}
