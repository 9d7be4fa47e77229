import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OwnProcess } from '../child-process.ts';
import { findFreePort, type Ironcraft } from '../ironcraft.ts';

const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 30_000;
const PROVIDER = 'openai-compatible';

export interface Upstream {
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  /** With the `/v1`, as clients want it. */
  readonly baseUrl: string;
}

/** The provider of serve.ts in a process of its own, which ends with `served`. */
export async function startUpstream(served: AsyncDisposableStack): Promise<Upstream> {
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-bench-upstream-'));
  served.defer(() => rm(folder, { recursive: true, force: true }));
  const port = await findFreePort(HOST);
  const upstream = new OwnProcess({
    args: [join(import.meta.dirname, 'serve.ts'), String(port)],
    cwd: folder,
    logPath: join(folder, 'upstream.log'),
    env: {},
  });
  served.defer(() => upstream.stop());
  await upstream.waitFor('a ready upstream', START_TIMEOUT_MS, async () =>
    (await fetch(`http://${HOST}:${port}/ok`)).ok ? true : undefined,
  );
  return { host: HOST, port, pid: upstream.pid, baseUrl: `http://${HOST}:${port}/v1` };
}

/** Makes it the project's provider. Returns the platform's id of one of its models. */
export async function registerUpstream(
  server: Ironcraft,
  { baseUrl }: Upstream,
  model: string,
  provider = PROVIDER,
): Promise<string> {
  const { tenant_token: token } = server.credentials;
  const body = { api_key: 'none', base_url: baseUrl };
  await server.call(token, 'PUT', `/v1/tenant/model_keys/${provider}`, body);
  return `${provider}/${model}`;
}
