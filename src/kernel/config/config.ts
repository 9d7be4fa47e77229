import type { KeyObject } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { availableParallelism } from 'node:os';
import { isAbsolute, normalize, resolve } from 'node:path';
import { parseAllowEntry } from '../outbound/allow-list.ts';
import { decodeMasterKey } from '../vault/decode-master-key.ts';
import { ENVIRONMENT, type EnvironmentVariable, type VariableName } from './environment.ts';
import {
  type DnsKey,
  parseBearer,
  parseChoice,
  parseCookieSecrets,
  parseCurrency,
  parseDatabaseUrl,
  parseDnsKeys,
  parseDnsServers,
  parseEppUrl,
  parseExchangeRate,
  parseHeaders,
  parseHost,
  parseHundredths,
  parseInteger,
  parseLines,
  parseMailAddress,
  parseMailUrl,
  parseNameservers,
  parseNetworks,
  parsePageUrl,
  parsePublicUrl,
  parseSecondaries,
  parseTlds,
  parseTrustProxy,
  splitList,
  type TrustProxy,
  ValueError,
} from './parse-value.ts';
import { type Environment, readEnvironment } from './read-environment.ts';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export const LOG_FORMATS = ['auto', 'json', 'pretty'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

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
  readonly logFormat: LogFormat;
  readonly projectRequestsPerMinute: number;
  readonly projectRunsInFlight: number;
  readonly addressRequestsPerMinute: number;
  /** Of one service of the process. */
  readonly connections: { readonly perAddress: number; readonly total: number };
  /** How long a caller may stall. */
  readonly stallMs: number;
  /** Processor time that reading one file may take, apart from what each MiB of it adds. */
  readonly readProcessorMs: number;
  /** `port` undefined: metrics are served where the services are. The token is a secret. */
  readonly metrics: { readonly host: string; readonly port: number | undefined; readonly token: string | undefined };
  /** Ready for Fastify's option of the same name. */
  readonly trustProxy: TrustProxy;
  /** Entries of `parseAllowEntry`. */
  readonly outboundAllow: readonly string[];
  readonly modelPrivateAddresses: 'allow' | 'deny';
  readonly bodyLimitBytes: number;
  readonly fileLimitBytes: number;
  /** Of all files of one project. */
  readonly projectStorageBytes: number;
  /** For how long single entries of usage are kept; 0: for ever. */
  readonly usageDays: number;
  /** Where spans of runs are sent. The headers are secrets. */
  readonly otlp: { readonly url: string; readonly headers: Readonly<Record<string, string>> } | undefined;
  /** Entries of the catalog of MCP servers; absolute path. */
  readonly catalogFile: string | undefined;
  /** Where other mail servers bring mail. Files are absolute paths; without them there is no STARTTLS. */
  readonly mailPort: MailPortConfig | undefined;
  /** In place of the system's; empty: the system's. */
  readonly dnsServers: readonly string[];
  /** Of projects' mail domains. */
  readonly mailDomainProof: 'dns' | 'none';
  /** A page that asks for consent in the place of the server's own. */
  readonly consentUrl: string | undefined;
  readonly sandbox: SandboxConfig;
  readonly drainMs: number;
  /** That serve together; the embedded database is of one alone. */
  readonly processes: number;
  /** 0: a blocked process is not ended. */
  readonly blockedMs: number;
  readonly billing: BillingConfig;
  readonly domains: DomainsConfig;
  /** Variables with our prefix that no setting has: most likely misspelt, worth a warning. */
  readonly unknownVariables: readonly string[];
}

export interface MailPortConfig {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
}

/** The boxes of `run_command`. */
export interface SandboxConfig {
  /** Undefined: looked for where programs usually are. */
  readonly bubblewrap: string | undefined;
  readonly commandMs: number;
  readonly memoryBytes: number;
  readonly processes: number;
  readonly streamBytes: number;
  readonly workspaceBytes: number;
  readonly boxes: number;
  readonly firstUid: number;
  /** `auto`, `off` or a folder. */
  readonly cgroup: string;
}

/** The wallets of organizations. */
export interface BillingConfig {
  readonly mode: 'off' | 'credits';
  /** Three lower-case letters. */
  readonly currency: string;
  /** Millionths of a unit of the currency for one US dollar. */
  readonly usdRateMillionths: number;
  readonly markupPercent: number;
  readonly starterCents: number;
  /** A secret. */
  readonly stripeKey: string | undefined;
  readonly stripeUrl: string | undefined;
  /** A secret. */
  readonly stripeWebhookSecret: string | undefined;
}

/** The settings of the domain service. Those of a part that is not chosen are checked and not used. */
export interface DomainsConfig {
  readonly port: number;
  /** Without trailing slash and base path. Undefined: see `publicUrlFor`. */
  readonly publicUrl: string | undefined;
  readonly registry: 'simulated' | 'epp';
  readonly demoCreditCents: number;
  /** Registries, TLDs and prices. Absolute path. */
  readonly configFile: string | undefined;
  /** Present exactly when the registry is `epp`. The password is a secret. */
  readonly epp: EppConfig | undefined;
  /** Undefined: the registry does not renew names by itself. */
  readonly autoRenewGraceDays: number | undefined;
  /** Lower case, sorted. */
  readonly nameservers: readonly string[];
  readonly dns: 'embedded' | 'powerdns';
  readonly dnsHost: string;
  readonly dnsPort: number;
  readonly dnsGuard: DnsGuardConfig;
  readonly dnsSecondaries: readonly DnsSecondary[];
  /** Keys of zones that are older are changed; undefined: none is by itself. */
  readonly dnssecKeyDays: number | undefined;
  /** Whether ALIAS records may lead to private addresses, loopback too. */
  readonly aliasPrivateAddresses: 'allow' | 'deny';
  /** Present exactly when DNS is `powerdns`. The key is a secret. */
  readonly powerDns: { readonly url: string; readonly apiKey: string } | undefined;
  /** A secret. */
  readonly stripeKey: string | undefined;
  readonly stripeUrl: string | undefined;
  /** Of the webhook endpoint; absent: no event is believed. */
  readonly stripeWebhookSecret: string | undefined;
  /** Who issues receipts: lines of text, and the VAT that prices contain, in hundredths of a per cent. */
  readonly seller: { readonly lines: readonly string[]; readonly vatBasisPoints: number } | undefined;
  /** A secret: it holds a password. */
  readonly mailUrl: string | undefined;
  readonly mailFrom: string;
}

/** A nameserver that copies zones from the embedded one. */
export interface DnsSecondary {
  /** Or a network, as in `192.0.2.0/24`. */
  readonly address: string;
  readonly port: number;
  readonly key?: DnsKey;
}

/** What keeps the embedded DNS server from being used to flood others. */
export interface DnsGuardConfig {
  /** Answers a second for one network; 0: any number. */
  readonly rate: number;
  /** Of one kind. */
  readonly sameRate: number;
  readonly slip: number;
  /** As in `192.0.2.0/24`. */
  readonly exempt: readonly string[];
  /** 16 bytes each, as hex digits: secrets. Empty: derived from the master key. */
  readonly cookieSecrets: readonly string[];
}

export interface EppConfig {
  readonly host: string;
  readonly port: number;
  readonly clientId: string;
  readonly password: string;
  readonly caFile: string | undefined;
  /** What is sold there; undefined: every TLD that has a price. */
  readonly tlds: readonly string[] | undefined;
}

/** Lists every bad setting, one line each, with what to set instead. Never holds the value of a secret. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration has ${problems.length} problem(s):\n${problems.map((line) => `  - ${line}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Shorter blocks pass, and a lease lasts as long. */
const SHORTEST_FATAL_BLOCK_SECONDS = 5;
const RATE_MAX = 1_000_000_000;
const CONNECTIONS_MAX = 1_000_000;

/**
 * Checks the settings in `env`; without it, those of the process and of `.env` in `cwd`. An empty value counts as
 * absent. Relative paths are taken from `cwd`. Throws `ConfigError` with every problem at once.
 */
export function loadConfig(env?: Environment, cwd: string = process.cwd()): Config {
  const values = env ?? readEnvironment(cwd);
  const problems: string[] = [];
  const read = <Value>(name: VariableName, fallback: Value, parse: (text: string) => Value): Value =>
    readValue(values, name, fallback, parse, problems);

  const host = read('IRONCRAFT_HOST', '', parseHost);
  const config: Config = {
    host,
    port: read('IRONCRAFT_PORT', 0, (text) => parseInteger(text, 0, 65_535)),
    publicUrl: read<string | undefined>('IRONCRAFT_PUBLIC_URL', undefined, parsePublicUrl),
    dataDir: read('IRONCRAFT_DATA_DIR', '', (text) => resolve(cwd, text)),
    databaseUrl: read<string | undefined>('IRONCRAFT_DATABASE_URL', undefined, parseDatabaseUrl),
    databasePoolSize: read('IRONCRAFT_DATABASE_POOL_SIZE', 0, (text) => parseInteger(text, 1, 1000)),
    masterKeys: Object.freeze(
      read<KeyObject[]>('IRONCRAFT_MASTER_KEY', [], (text) => splitList(text).map(decodeMasterKey)),
    ),
    logLevel: read<LogLevel>('IRONCRAFT_LOG_LEVEL', 'info', (text) => parseChoice(text, LOG_LEVELS)),
    logFormat: read<LogFormat>('IRONCRAFT_LOG_FORMAT', 'auto', (text) => parseChoice(text, LOG_FORMATS)),
    projectRequestsPerMinute: read('IRONCRAFT_PROJECT_REQUESTS_PER_MINUTE', 0, parseRate),
    projectRunsInFlight: read('IRONCRAFT_PROJECT_RUNS_IN_FLIGHT', 0, parseRate),
    addressRequestsPerMinute: read('IRONCRAFT_ADDRESS_REQUESTS_PER_MINUTE', 0, parseRate),
    connections: Object.freeze({
      perAddress: read('IRONCRAFT_ADDRESS_CONNECTIONS', 0, parseConnections),
      total: read('IRONCRAFT_CONNECTIONS', 0, parseConnections),
    }),
    stallMs: read('IRONCRAFT_STALL_SECONDS', 0, (text) => parseInteger(text, 1, 3600) * 1000),
    readProcessorMs: read('IRONCRAFT_READ_SECONDS', 0, (text) => parseInteger(text, 1, 3600) * 1000),
    metrics: Object.freeze({
      host: read('IRONCRAFT_METRICS_HOST', '', parseHost),
      port: read<number | undefined>('IRONCRAFT_METRICS_PORT', undefined, (text) => parseInteger(text, 0, 65_535)),
      token: read<string | undefined>('IRONCRAFT_METRICS_TOKEN', undefined, parseBearer),
    }),
    trustProxy: read<TrustProxy>('IRONCRAFT_TRUST_PROXY', false, parseTrustProxy),
    outboundAllow: Object.freeze(read<string[]>('IRONCRAFT_OUTBOUND_ALLOW', [], parseAllowList)),
    modelPrivateAddresses: read<'allow' | 'deny'>('IRONCRAFT_MODEL_PRIVATE_ADDRESSES', 'deny', (text) =>
      parseChoice(text, ['allow', 'deny']),
    ),
    bodyLimitBytes: read('IRONCRAFT_BODY_LIMIT_BYTES', 0, (text) => parseInteger(text, 1024, 1_073_741_824)),
    fileLimitBytes: read('IRONCRAFT_FILE_LIMIT_BYTES', 0, (text) => parseInteger(text, 1024, 1_099_511_627_776)),
    usageDays: read('IRONCRAFT_USAGE_DAYS', 0, parseUsageDays),
    projectStorageBytes: read('IRONCRAFT_PROJECT_STORAGE_BYTES', 0, (text) =>
      parseInteger(text, 1_048_576, 1_125_899_906_842_624),
    ),
    otlp: readCollector(read),
    catalogFile: read<string | undefined>('IRONCRAFT_CATALOG_FILE', undefined, (text) => resolve(cwd, text)),
    mailPort: readMailPort(read, { cwd, host, problems }),
    dnsServers: Object.freeze(read<string[]>('IRONCRAFT_DNS_SERVERS', [], parseDnsServers)),
    mailDomainProof: read<Config['mailDomainProof']>('IRONCRAFT_MAIL_DOMAIN_PROOF', 'dns', (text) =>
      parseChoice(text, ['dns', 'none']),
    ),
    consentUrl: read<string | undefined>('IRONCRAFT_CONSENT_URL', undefined, parsePageUrl),
    sandbox: readSandbox(read, cwd),
    processes: readProcesses(read, problems),
    drainMs: read('IRONCRAFT_DRAIN_SECONDS', 0, (text) => parseInteger(text, 1, 60) * 1000),
    blockedMs: read('IRONCRAFT_BLOCKED_SECONDS', 0, (text) => parseBlockedSeconds(text) * 1000),
    billing: readBilling(read),
    domains: readDomains(read, cwd, problems),
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

const PROCESSES_MAX = 256;

/** One a core where it is left to us, but for the embedded database, which has one process. */
function readProcesses(read: Read, problems: string[]): number {
  const isEmbedded = read('IRONCRAFT_DATABASE_URL', '', (text) => text) === '';
  const count = read<number | 'auto'>('IRONCRAFT_PROCESSES', 1, (text) =>
    text === 'auto' ? text : parseInteger(text, 1, PROCESSES_MAX),
  );
  if (count === 'auto') return isEmbedded ? 1 : Math.min(availableParallelism(), PROCESSES_MAX);
  if (count > 1 && isEmbedded) {
    problems.push(
      `IRONCRAFT_PROCESSES="${count}": the embedded database has one process alone; set IRONCRAFT_DATABASE_URL too, or IRONCRAFT_PROCESSES=1`,
    );
  }
  return count;
}

/** The months whose budgets and invoices are still open can be counted again from their entries. */
function parseUsageDays(text: string): number {
  return text === '0' ? 0 : parseInteger(text, 62, 36_500);
}

function parseBlockedSeconds(text: string): number {
  return text === '0' ? 0 : parseInteger(text, SHORTEST_FATAL_BLOCK_SECONDS, 3600);
}

type Read = <Value>(name: VariableName, fallback: Value, parse: (text: string) => Value) => Value;

function readMailPort(
  read: Read,
  { cwd, host, problems }: { readonly cwd: string; readonly host: string; readonly problems: string[] },
): MailPortConfig | undefined {
  const file = (name: VariableName) => read<string | undefined>(name, undefined, (given) => resolve(cwd, given));
  const port = read<number | undefined>('IRONCRAFT_SMTP_PORT', undefined, (given) => parseInteger(given, 1, 65_535));
  const certFile = file('IRONCRAFT_SMTP_CERT_FILE');
  const keyFile = file('IRONCRAFT_SMTP_KEY_FILE');
  if ((certFile === undefined) !== (keyFile === undefined)) {
    problems.push('IRONCRAFT_SMTP_CERT_FILE and IRONCRAFT_SMTP_KEY_FILE: set both, or none of them');
  }
  if (port === undefined) return undefined;
  const tls = certFile === undefined || keyFile === undefined ? undefined : Object.freeze({ certFile, keyFile });
  return Object.freeze({ host, port, tls });
}

function readBilling(read: Read): BillingConfig {
  const text = (name: VariableName) => read<string | undefined>(name, undefined, (given) => given);
  return Object.freeze({
    mode: read<BillingConfig['mode']>('IRONCRAFT_BILLING', 'off', (given) => parseChoice(given, ['off', 'credits'])),
    currency: read('IRONCRAFT_BILLING_CURRENCY', '', parseCurrency),
    usdRateMillionths: read('IRONCRAFT_BILLING_USD_RATE', 0, parseExchangeRate),
    markupPercent: read('IRONCRAFT_BILLING_MARKUP_PERCENT', 0, (given) => parseInteger(given, 0, 10_000)),
    starterCents: read('IRONCRAFT_BILLING_STARTER_CENTS', 0, (given) => parseInteger(given, 0, 1_000_000)),
    stripeKey: text('IRONCRAFT_STRIPE_KEY'),
    stripeUrl: read<string | undefined>('IRONCRAFT_STRIPE_URL', undefined, parsePublicUrl),
    stripeWebhookSecret: text('IRONCRAFT_STRIPE_WEBHOOK_SECRET'),
  });
}

function parseCgroup(given: string): string {
  if (given === 'auto' || given === 'off') return given;
  if (!isAbsolute(given)) throw new ValueError('use auto, off, or the absolute path of a cgroup');
  return normalize(given).replace(/(?<=.)\/$/, '');
}

function readSandbox(read: Read, cwd: string): SandboxConfig {
  return Object.freeze({
    bubblewrap: read<string | undefined>('IRONCRAFT_SANDBOX_BUBBLEWRAP', undefined, (given) => resolve(cwd, given)),
    commandMs: read('IRONCRAFT_SANDBOX_COMMAND_SECONDS', 0, (given) => parseInteger(given, 1, 3_600) * 1_000),
    memoryBytes: read('IRONCRAFT_SANDBOX_MEMORY_BYTES', 0, (given) =>
      parseInteger(given, 67_108_864, 1_099_511_627_776),
    ),
    processes: read('IRONCRAFT_SANDBOX_PROCESSES', 0, (given) => parseInteger(given, 8, 100_000)),
    streamBytes: read('IRONCRAFT_SANDBOX_STREAM_BYTES', 0, (given) => parseInteger(given, 1_024, 16_777_216)),
    workspaceBytes: read('IRONCRAFT_SANDBOX_WORKSPACE_BYTES', 0, (given) =>
      parseInteger(given, 1_048_576, 1_099_511_627_776),
    ),
    boxes: read('IRONCRAFT_SANDBOX_BOXES', 0, (given) => parseInteger(given, 1, 500)),
    firstUid: read('IRONCRAFT_SANDBOX_FIRST_UID', 0, (given) => parseInteger(given, 1_000, 2_000_000_000)),
    cgroup: read('IRONCRAFT_SANDBOX_CGROUP', 'auto', parseCgroup),
  });
}

function readCollector(read: Read): Config['otlp'] {
  const url = read<string | undefined>('IRONCRAFT_OTLP_URL', undefined, parsePublicUrl);
  const headers = Object.freeze(read<Record<string, string>>('IRONCRAFT_OTLP_HEADERS', {}, parseHeaders));
  return url === undefined ? undefined : Object.freeze({ url, headers });
}

function readDomains(read: Read, cwd: string, problems: string[]): DomainsConfig {
  const text = (name: VariableName) => read<string | undefined>(name, undefined, (given) => given);
  const registry = read<DomainsConfig['registry']>('IRONCRAFT_DOMAINS_REGISTRY', 'simulated', (given) =>
    parseChoice(given, ['simulated', 'epp']),
  );
  const dns = read<DomainsConfig['dns']>('IRONCRAFT_DOMAINS_DNS', 'embedded', (given) =>
    parseChoice(given, ['embedded', 'powerdns']),
  );
  const server = read<{ host: string; port: number } | undefined>('IRONCRAFT_DOMAINS_EPP_URL', undefined, parseEppUrl);
  const clientId = text('IRONCRAFT_DOMAINS_EPP_CLIENT_ID');
  const password = text('IRONCRAFT_DOMAINS_EPP_PASSWORD');
  const caFile = read<string | undefined>('IRONCRAFT_DOMAINS_EPP_CA_FILE', undefined, (given) => resolve(cwd, given));
  const powerDnsUrl = read<string | undefined>('IRONCRAFT_DOMAINS_POWERDNS_URL', undefined, parsePublicUrl);
  const powerDnsKey = text('IRONCRAFT_DOMAINS_POWERDNS_KEY');
  const tlds = read<string[] | undefined>('IRONCRAFT_DOMAINS_EPP_TLDS', undefined, parseTlds);
  const configFile = read<string | undefined>('IRONCRAFT_DOMAINS_CONFIG_FILE', undefined, (given) =>
    resolve(cwd, given),
  );
  const hasEpp = server !== undefined && clientId !== undefined && password !== undefined;
  if (registry === 'epp' && !hasEpp) {
    problems.push(
      'IRONCRAFT_DOMAINS_REGISTRY="epp": set IRONCRAFT_DOMAINS_EPP_URL, IRONCRAFT_DOMAINS_EPP_CLIENT_ID and IRONCRAFT_DOMAINS_EPP_PASSWORD too',
    );
  }
  const hasPowerDns = powerDnsUrl !== undefined && powerDnsKey !== undefined;
  if (dns === 'powerdns' && !hasPowerDns) {
    problems.push(
      'IRONCRAFT_DOMAINS_DNS="powerdns": set IRONCRAFT_DOMAINS_POWERDNS_URL and IRONCRAFT_DOMAINS_POWERDNS_KEY too',
    );
  }
  const lines = read<string[] | undefined>('IRONCRAFT_DOMAINS_SELLER', undefined, parseLines);
  const vatBasisPoints = read<number | undefined>('IRONCRAFT_DOMAINS_VAT_PERCENT', undefined, parseHundredths);
  if ((lines === undefined) !== (vatBasisPoints === undefined)) {
    problems.push('IRONCRAFT_DOMAINS_SELLER and IRONCRAFT_DOMAINS_VAT_PERCENT: set both, or neither');
  }
  const dnsSecondaries = readSecondaries(read, problems);
  if (dns === 'powerdns' && dnsSecondaries.length > 0) {
    problems.push(
      'IRONCRAFT_DOMAINS_DNS="powerdns": PowerDNS has settings of its own for its secondaries; unset IRONCRAFT_DOMAINS_DNS_SECONDARIES',
    );
  }
  return Object.freeze({
    port: read('IRONCRAFT_DOMAINS_PORT', 0, (given) => parseInteger(given, 0, 65_535)),
    autoRenewGraceDays: read<number | undefined>('IRONCRAFT_DOMAINS_AUTO_RENEW_GRACE_DAYS', undefined, (given) =>
      parseInteger(given, 3, 90),
    ),
    publicUrl: read<string | undefined>('IRONCRAFT_DOMAINS_PUBLIC_URL', undefined, parsePublicUrl),
    registry,
    configFile,
    demoCreditCents: read('IRONCRAFT_DOMAINS_DEMO_CREDIT_CENTS', 0, (given) => parseInteger(given, 0, 100_000_000)),
    epp: registry === 'epp' && hasEpp ? Object.freeze({ ...server, clientId, password, caFile, tlds }) : undefined,
    nameservers: Object.freeze(read<string[]>('IRONCRAFT_DOMAINS_NAMESERVERS', [], parseNameservers)),
    dns,
    dnsHost: read('IRONCRAFT_DOMAINS_DNS_HOST', '', parseHost),
    dnsPort: read('IRONCRAFT_DOMAINS_DNS_PORT', 0, (given) => parseInteger(given, 0, 65_535)),
    dnsSecondaries,
    aliasPrivateAddresses: read<'allow' | 'deny'>('IRONCRAFT_DOMAINS_ALIAS_PRIVATE_ADDRESSES', 'deny', (given) =>
      parseChoice(given, ['allow', 'deny']),
    ),
    dnssecKeyDays: read<number | undefined>('IRONCRAFT_DOMAINS_DNSSEC_KEY_DAYS', undefined, (given) =>
      parseInteger(given, 7, 3_650),
    ),
    dnsGuard: Object.freeze({
      rate: read('IRONCRAFT_DOMAINS_DNS_RATE', 0, (given) => parseInteger(given, 0, 1_000_000)),
      sameRate: read('IRONCRAFT_DOMAINS_DNS_SAME_RATE', 0, (given) => parseInteger(given, 0, 1_000_000)),
      slip: read('IRONCRAFT_DOMAINS_DNS_RATE_SLIP', 0, (given) => parseInteger(given, 0, 10)),
      exempt: Object.freeze(read<string[]>('IRONCRAFT_DOMAINS_DNS_RATE_EXEMPT', [], parseNetworks)),
      cookieSecrets: Object.freeze(read<string[]>('IRONCRAFT_DOMAINS_DNS_COOKIE_SECRETS', [], parseCookieSecrets)),
    }),
    powerDns: dns === 'powerdns' && hasPowerDns ? Object.freeze({ url: powerDnsUrl, apiKey: powerDnsKey }) : undefined,
    stripeKey: text('IRONCRAFT_DOMAINS_STRIPE_KEY'),
    stripeUrl: read<string | undefined>('IRONCRAFT_DOMAINS_STRIPE_URL', undefined, parsePublicUrl),
    stripeWebhookSecret: text('IRONCRAFT_DOMAINS_STRIPE_WEBHOOK_SECRET'),
    seller:
      lines !== undefined && vatBasisPoints !== undefined
        ? Object.freeze({ lines: Object.freeze(lines), vatBasisPoints })
        : undefined,
    mailUrl: read<string | undefined>('IRONCRAFT_DOMAINS_MAIL_URL', undefined, parseMailUrl),
    mailFrom: read('IRONCRAFT_DOMAINS_MAIL_FROM', '', parseMailAddress),
  });
}

function readSecondaries(read: Read, problems: string[]): readonly DnsSecondary[] {
  const keys = read<readonly DnsKey[]>('IRONCRAFT_DOMAINS_DNS_TSIG_KEYS', [], parseDnsKeys);
  const named = read<ReturnType<typeof parseSecondaries>>('IRONCRAFT_DOMAINS_DNS_SECONDARIES', [], parseSecondaries);
  return Object.freeze(
    named.map(({ address, port, keyName }) => {
      const key = keys.find(({ name }) => name === keyName);
      if (keyName !== undefined && key === undefined) {
        problems.push(`IRONCRAFT_DOMAINS_DNS_SECONDARIES: IRONCRAFT_DOMAINS_DNS_TSIG_KEYS has no key ${keyName}`);
      }
      return { address, port, ...(key === undefined ? {} : { key }) };
    }),
  );
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

function parseConnections(text: string): number {
  return parseInteger(text, 1, CONNECTIONS_MAX);
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
