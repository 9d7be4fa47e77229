import type { KeyObject } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { resolve } from 'node:path';
import { parseAllowEntry } from '../outbound/allow-list.ts';
import { decodeMasterKey } from '../vault/decode-master-key.ts';
import { ENVIRONMENT, type EnvironmentVariable, type VariableName } from './environment.ts';
import {
  parseChoice,
  parseDatabaseUrl,
  parseHost,
  parseInteger,
  parsePublicUrl,
  parseTrustProxy,
  splitList,
  type TrustProxy,
} from './parse-value.ts';
import { type Environment, readEnvironment } from './read-environment.ts';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The checked settings. Frozen. `databaseUrl` may hold a password: never log or answer it. */
export interface Config {
  readonly host: string;
  /** 0: the system picks one. */
  readonly port: number;
  /** Without trailing slash. Undefined: see `publicUrlFor`. */
  readonly publicUrl: string | undefined;
  /** Absolute path. */
  readonly dataDir: string;
  /** Undefined: the embedded database. */
  readonly databaseUrl: string | undefined;
  readonly databasePoolSize: number;
  /** The first encrypts, all decrypt. Empty: the key file of the data folder. */
  readonly masterKeys: readonly KeyObject[];
  readonly logLevel: LogLevel;
  readonly projectRequestsPerMinute: number;
  readonly projectRunsInFlight: number;
  readonly addressRequestsPerMinute: number;
  /** Ready for Fastify's option of the same name. */
  readonly trustProxy: TrustProxy;
  /** Entries of `parseAllowEntry`. */
  readonly outboundAllow: readonly string[];
  readonly modelPrivateAddresses: 'allow' | 'deny';
  readonly bodyLimitBytes: number;
  readonly fileLimitBytes: number;
  readonly drainMs: number;
  /** Variables with our prefix that no setting has: most likely misspelt, worth a warning. */
  readonly unknownVariables: readonly string[];
}

/** Lists every bad setting, one line each, with the mend. Never holds the value of a secret. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration has ${problems.length} problem(s):\n${problems.map((line) => `  - ${line}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

const RATE_MAX = 1_000_000_000;

/**
 * Checks the settings in `env`; without it, those of the process and of `.env` in `cwd`. An empty value counts as
 * absent. Relative paths are taken from `cwd`. Throws `ConfigError` with every problem at once.
 */
export function loadConfig(env?: Environment, cwd: string = process.cwd()): Config {
  const values = env ?? readEnvironment(cwd);
  const problems: string[] = [];
  const read = <Value>(name: VariableName, fallback: Value, parse: (text: string) => Value): Value =>
    readValue(values, name, fallback, parse, problems);

  const config: Config = {
    host: read('IRONCRAFT_HOST', '', parseHost),
    port: read('IRONCRAFT_PORT', 0, (text) => parseInteger(text, 0, 65_535)),
    publicUrl: read<string | undefined>('IRONCRAFT_PUBLIC_URL', undefined, parsePublicUrl),
    dataDir: read('IRONCRAFT_DATA_DIR', '', (text) => resolve(cwd, text)),
    databaseUrl: read<string | undefined>('IRONCRAFT_DATABASE_URL', undefined, parseDatabaseUrl),
    databasePoolSize: read('IRONCRAFT_DATABASE_POOL_SIZE', 0, (text) => parseInteger(text, 1, 1000)),
    masterKeys: Object.freeze(
      read<KeyObject[]>('IRONCRAFT_MASTER_KEY', [], (text) => splitList(text).map(decodeMasterKey)),
    ),
    logLevel: read<LogLevel>('IRONCRAFT_LOG_LEVEL', 'info', (text) => parseChoice(text, LOG_LEVELS)),
    projectRequestsPerMinute: read('IRONCRAFT_PROJECT_REQUESTS_PER_MINUTE', 0, parseRate),
    projectRunsInFlight: read('IRONCRAFT_PROJECT_RUNS_IN_FLIGHT', 0, parseRate),
    addressRequestsPerMinute: read('IRONCRAFT_ADDRESS_REQUESTS_PER_MINUTE', 0, parseRate),
    trustProxy: read<TrustProxy>('IRONCRAFT_TRUST_PROXY', false, parseTrustProxy),
    outboundAllow: Object.freeze(read<string[]>('IRONCRAFT_OUTBOUND_ALLOW', [], parseAllowList)),
    modelPrivateAddresses: read<'allow' | 'deny'>('IRONCRAFT_MODEL_PRIVATE_ADDRESSES', 'allow', (text) =>
      parseChoice(text, ['allow', 'deny']),
    ),
    bodyLimitBytes: read('IRONCRAFT_BODY_LIMIT_BYTES', 0, (text) => parseInteger(text, 1024, 1_073_741_824)),
    fileLimitBytes: read('IRONCRAFT_FILE_LIMIT_BYTES', 0, (text) => parseInteger(text, 1024, 1_099_511_627_776)),
    drainMs: read('IRONCRAFT_DRAIN_SECONDS', 0, (text) => parseInteger(text, 1, 60) * 1000),
    unknownVariables: Object.freeze(findUnknownVariables(values)),
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

/** The base URL of the service, without trailing slash. `port` is the one really listened on. */
export function publicUrlFor(config: Pick<Config, 'host' | 'publicUrl'>, port: number): string {
  if (config.publicUrl !== undefined) return config.publicUrl;
  // The wildcard addresses mean "every interface" to a server and nothing to a client.
  const host = config.host === '0.0.0.0' || config.host === '::' ? 'localhost' : config.host;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function readValue<Value>(
  values: Environment,
  name: VariableName,
  fallback: Value,
  parse: (text: string) => Value,
  problems: string[],
): Value {
  const variable: EnvironmentVariable | undefined = ENVIRONMENT.find((entry) => entry.name === name);
  const text = values[name]?.trim() || variable?.default || '';
  if (text === '') return fallback;
  try {
    return parse(text);
  } catch (error) {
    const shown = variable?.secret === true ? ' (value not shown)' : `="${text}"`;
    problems.push(`${name}${shown}: ${error instanceof Error ? error.message : String(error)}${serviceLinkHint(text)}`);
    return fallback;
  }
}

/** Kubernetes gives every pod `<SERVICE>_PORT=tcp://...` of the services beside it, and so overwrites our setting. */
function serviceLinkHint(text: string): string {
  return /^(tcp|udp):\/\//.test(text)
    ? ' (set by Kubernetes for a service of that name: use enableServiceLinks: false)'
    : '';
}

function parseRate(text: string): number {
  return parseInteger(text, 1, RATE_MAX);
}

function parseAllowList(text: string): string[] {
  const entries = splitList(text);
  for (const entry of entries) parseAllowEntry(entry);
  return entries;
}

function findUnknownVariables(values: Environment): string[] {
  const known = new Set<string>(ENVIRONMENT.map((entry) => entry.name));
  return Object.keys(values)
    .filter((name) => name.startsWith('IRONCRAFT_') && !known.has(name))
    .sort();
}
