/** The port, and the server that listens on it if it is ours: what a running server can say of itself over HTTP. */
import { abortAfter } from '../../kernel/clock/timers.ts';
import { type Config, publicUrlFor } from '../../kernel/config/config.ts';
import { CommandError } from '../command-error.ts';
import { holdPort } from '../hold-port.ts';
import { serviceName } from '../service-name.ts';
import { type Finding, failed, messageOf, ok, skipped } from './finding.ts';

const ANSWER_TIMEOUT_MS = 5_000;

export interface ServerFindings {
  readonly findings: Finding[];
  /** True when the port is held by a server of this program. */
  readonly serves: boolean;
}

export async function checkServer(config: Config): Promise<ServerFindings> {
  const { host, port } = config;
  if (port === 0) return free(skipped('port', 'IRONCRAFT_PORT is 0: the system picks a free one'));
  try {
    const held = await holdPort(host, port, 'IRONCRAFT_PORT');
    await held.release();
    const isFree = ok('port', `${host} port ${port} is free`);
    const domains = await askDomains(config);
    return domains === undefined ? free(isFree) : { findings: [isFree, ...domains], serves: true };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const taken = error.cause instanceof Error && 'code' in error.cause && error.cause.code === 'EADDRINUSE';
    if (!taken)
      return free(
        failed('port', error.message, 'Set IRONCRAFT_HOST and IRONCRAFT_PORT to an address of this machine.'),
      );
  }
  return askServer(publicUrlFor({ host, publicUrl: undefined }, port));
}

function free(finding: Finding): ServerFindings {
  return { findings: [finding], serves: false };
}

async function askServer(url: string): Promise<ServerFindings> {
  const health = await ask(`${url}/healthz`);
  if (health.body?.service !== serviceName('platform')) {
    const detail = `${url} is in use by another program`;
    return free(failed('port', detail, 'Stop that program, or choose another port with IRONCRAFT_PORT.'));
  }
  return { findings: await describe(url, health), serves: true };
}

/** What a server with the domain service alone (`serve --only domains`) says of itself; undefined: there is none. */
async function askDomains({ domains: { port }, host }: Config): Promise<Finding[] | undefined> {
  if (port === 0) return undefined;
  const url = publicUrlFor({ host, publicUrl: undefined }, port);
  const health = await ask(`${url}/healthz`);
  return health.body?.service === serviceName('domains') ? describe(url, health) : undefined;
}

async function describe(url: string, health: Answer): Promise<Finding[]> {
  const running = ok('port', `this server answers at ${url}, commit ${String(health.body?.commit)}`);
  const ready = await ask(`${url}/readyz`);
  const finding =
    ready.status === 200
      ? ok('server', 'ready')
      : failed(
          'server',
          `not ready: ${ready.problem ?? JSON.stringify(ready.body)}`,
          'Read its log for the cause. A server that drains is not ready either, and ends by itself.',
        );
  return [running, finding];
}

interface Answer {
  readonly status: number | undefined;
  readonly body: Record<string, unknown> | undefined;
  readonly problem?: string;
}

async function ask(url: string): Promise<Answer> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: abortAfter(ANSWER_TIMEOUT_MS) });
    const body: unknown = JSON.parse(await response.text());
    return { status: response.status, body: isObject(body) ? body : undefined };
  } catch (error) {
    return { status: undefined, body: undefined, problem: messageOf(error) };
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
