export interface EnvironmentVariable {
  readonly name: string;
  /** Read as though the operator had written it. Empty: absent. */
  readonly default: string;
  readonly meaning: string;
  /** Its value never appears in a message. */
  readonly secret?: true;
}

/** Every setting of the program: the source of `--help` and of the operating guide. */
export const ENVIRONMENT = [
  { name: 'IRONCRAFT_HOST', default: '127.0.0.1', meaning: 'Address to listen on; 0.0.0.0 or :: for every interface' },
  { name: 'IRONCRAFT_PORT', default: '8787', meaning: 'Port to listen on; 0 takes any free one' },
  {
    name: 'IRONCRAFT_PUBLIC_URL',
    default: '',
    meaning: 'Base URL under which clients reach the service; absent: made from host and port',
  },
  {
    name: 'IRONCRAFT_DATA_DIR',
    default: '.ironcraft',
    meaning: 'Folder of credentials, master key, files and the embedded database',
  },
  {
    name: 'IRONCRAFT_DATABASE_URL',
    default: '',
    meaning: 'PostgreSQL to use, postgres://user:password@host/database; absent: the embedded database',
    secret: true,
  },
  { name: 'IRONCRAFT_DATABASE_POOL_SIZE', default: '10', meaning: 'Connections to PostgreSQL per process, 1 to 1000' },
  {
    name: 'IRONCRAFT_MASTER_KEY',
    default: '',
    meaning:
      'Encrypts stored secrets: 32 bytes as base64 or 64 hex digits; several, comma-separated, rotate: the first ' +
      'encrypts, all decrypt; absent: made on first boot in the data folder',
    secret: true,
  },
  {
    name: 'IRONCRAFT_LOG_LEVEL',
    default: 'info',
    meaning: 'One of fatal, error, warn, info, debug, trace, silent',
  },
  {
    name: 'IRONCRAFT_LOG_FORMAT',
    default: 'auto',
    meaning: 'json: one object a line; pretty: for people; auto: pretty on a terminal, json elsewhere',
  },
  {
    name: 'IRONCRAFT_PROJECT_REQUESTS_PER_MINUTE',
    default: '600',
    meaning: 'Requests per minute that one project may make of one process',
  },
  {
    name: 'IRONCRAFT_PROJECT_RUNS_IN_FLIGHT',
    default: '20',
    meaning: 'Runs that one project may have in flight in one process',
  },
  {
    name: 'IRONCRAFT_ADDRESS_REQUESTS_PER_MINUTE',
    default: '120',
    meaning: 'Requests per minute of callers without a valid token, per address (IPv6: per /64)',
  },
  {
    name: 'IRONCRAFT_ADDRESS_CONNECTIONS',
    default: '2000',
    meaning:
      'Connections that one address may hold to one service of a process (IPv6: per /64), 1 to 1000000; a proxy that ' +
      'IRONCRAFT_TRUST_PROXY names is not limited',
  },
  {
    name: 'IRONCRAFT_CONNECTIONS',
    default: '10000',
    meaning: 'Connections that one service of a process holds in all, 1 to 1000000',
  },
  {
    name: 'IRONCRAFT_STALL_SECONDS',
    default: '30',
    meaning:
      'Seconds in which a request must have its headers sent and a body must bring 1000 bytes a second, 1 to 3600; ' +
      'whoever reads an answer may take twice as long',
  },
  {
    name: 'IRONCRAFT_READ_SECONDS',
    default: '10',
    meaning:
      'Seconds of processor time that reading one file may take, and twice as many for each MiB of it, ninety times at ' +
      'most (Linux), 1 to 3600',
  },
  {
    name: 'IRONCRAFT_METRICS_HOST',
    default: '127.0.0.1',
    meaning: 'Address to serve metrics on where IRONCRAFT_METRICS_PORT is set',
  },
  {
    name: 'IRONCRAFT_METRICS_PORT',
    default: '',
    meaning:
      'Port of metrics, as /metrics/platform and /metrics/domains; 0 takes any free one; absent: /metrics of each service',
  },
  {
    name: 'IRONCRAFT_METRICS_TOKEN',
    default: '',
    meaning: 'Token that metrics ask for, as Authorization: Bearer, at least 16 visible characters; absent: none',
    secret: true,
  },
  {
    name: 'IRONCRAFT_TRUST_PROXY',
    default: 'false',
    meaning:
      'Proxies whose X-Forwarded-* headers are believed: false, a comma-separated list of addresses and CIDRs ' +
      '(loopback, linklocal and uniquelocal are known), or the number of proxies in front',
  },
  {
    name: 'IRONCRAFT_OUTBOUND_ALLOW',
    default: '',
    meaning:
      'Comma-separated host, host:port or CIDR that users’ addresses may reach although not public: 127.0.0.1:11434 for an Ollama here',
  },
  {
    name: 'IRONCRAFT_MODEL_PRIVATE_ADDRESSES',
    default: 'deny',
    meaning:
      'allow: a tenant’s base URL of a model may be any private address, loopback too, for servers whose tenants are all trusted; deny: those of IRONCRAFT_OUTBOUND_ALLOW alone',
  },
  {
    name: 'IRONCRAFT_BODY_LIMIT_BYTES',
    default: '10485760',
    meaning: 'Largest request body in bytes, 1024 to 1073741824',
  },
  {
    name: 'IRONCRAFT_FILE_LIMIT_BYTES',
    default: '536870912',
    meaning: 'Largest file that can be uploaded, in bytes, 1024 to 1099511627776',
  },
  {
    name: 'IRONCRAFT_PROJECT_STORAGE_BYTES',
    default: '107374182400',
    meaning: 'What all files and vector stores of one project may take, in bytes, 1048576 to 1125899906842624',
  },
  {
    name: 'IRONCRAFT_USAGE_DAYS',
    default: '400',
    meaning:
      'Days for which single entries of usage are kept (meter events, embeddings, spans), 62 to 36500; their sums stay; 0: for ever',
  },
  {
    name: 'IRONCRAFT_OTLP_URL',
    default: '',
    meaning:
      'Collector that the spans of runs are sent to, by OTLP/HTTP in protobuf: http://collector:4318, /v1/traces follows; absent: none',
  },
  {
    name: 'IRONCRAFT_OTLP_HEADERS',
    default: '',
    meaning: 'Headers for it, as name=value, comma-separated: authorization=Bearer%20abc',
    secret: true,
  },
  {
    name: 'IRONCRAFT_CATALOG_FILE',
    default: '',
    meaning: 'JSON file of entries that the catalog of MCP servers has besides, or instead, by slug; absent: none',
  },
  {
    name: 'IRONCRAFT_SMTP_PORT',
    default: '',
    meaning: 'Port on which mail servers bring mail for projects’ domains; the world uses port 25; absent: none',
  },
  {
    name: 'IRONCRAFT_SMTP_CERT_FILE',
    default: '',
    meaning: 'Certificate chain in PEM, for STARTTLS there; absent: mail comes without TLS',
  },
  { name: 'IRONCRAFT_SMTP_KEY_FILE', default: '', meaning: 'Private key of the certificate, in PEM' },
  {
    name: 'IRONCRAFT_DNS_SERVERS',
    default: '',
    meaning:
      'Nameservers that are asked whose mail domains are, who may sign mail, and which servers the zones above names have and where ALIAS records lead, comma-separated addresses such as 192.0.2.53 or 127.0.0.1:5353; absent: the system’s',
  },
  {
    name: 'IRONCRAFT_MAIL_DOMAIN_PROOF',
    default: 'dns',
    meaning:
      'dns: a project has a mail domain once its DNS has the record that says so; none: whoever comes first has it, for servers whose tenants are all trusted',
  },
  {
    name: 'IRONCRAFT_CONSENT_URL',
    default: '',
    meaning:
      'Page of your own that asks people whether a program may connect, opened with ?request=; absent: the server’s own',
  },
  {
    name: 'IRONCRAFT_SANDBOX_BUBBLEWRAP',
    default: '',
    meaning: 'Path of bwrap, which confines the commands of run_command; absent: looked for where programs usually are',
  },
  {
    name: 'IRONCRAFT_SANDBOX_COMMAND_SECONDS',
    default: '60',
    meaning: 'Seconds that one command may take, 1 to 3600',
  },
  {
    name: 'IRONCRAFT_SANDBOX_MEMORY_BYTES',
    default: '536870912',
    meaning: 'Memory that all processes of a box may take together, with its files, 67108864 to 1099511627776',
  },
  { name: 'IRONCRAFT_SANDBOX_PROCESSES', default: '128', meaning: 'Processes and threads of a box, 8 to 100000' },
  {
    name: 'IRONCRAFT_SANDBOX_STREAM_BYTES',
    default: '1048576',
    meaning: 'What is kept of the standard output and of the standard error of a command, each, 1024 to 16777216',
  },
  {
    name: 'IRONCRAFT_SANDBOX_WORKSPACE_BYTES',
    default: '268435456',
    meaning: 'What the files of a box may take, 1048576 to 1099511627776',
  },
  {
    name: 'IRONCRAFT_SANDBOX_BOXES',
    default: '8',
    meaning: 'Commands that run at the same time in one process, 1 to 500; further ones wait',
  },
  {
    name: 'IRONCRAFT_SANDBOX_FIRST_UID',
    default: '60600',
    meaning: 'Where the server is started by root: boxes have this uid and those above it, 1000 to 2000000000',
  },
  {
    name: 'IRONCRAFT_SANDBOX_CGROUP',
    default: 'auto',
    meaning:
      'Where boxes get their cgroups, which limit their memory: auto (in the server’s own, where it is delegated to it), off (memory is watched), or the path of a cgroup that the server may write to',
  },
  {
    name: 'IRONCRAFT_DRAIN_SECONDS',
    default: '10',
    meaning: 'Seconds that requests in flight get to finish after SIGTERM, 1 to 60',
  },
  {
    name: 'IRONCRAFT_PROCESSES',
    default: '1',
    meaning:
      'Processes that serve together on the same ports, each a replica of its own, 1 to 256; `auto`: one a core. More than ' +
      'one needs `IRONCRAFT_DATABASE_URL`',
  },
  {
    name: 'IRONCRAFT_BLOCKED_SECONDS',
    default: '60',
    meaning:
      'A process whose event loop is blocked for so many seconds logs the stack and ends, for a supervisor to start it ' +
      'again, 5 to 3600; 0: never',
  },
  {
    name: 'IRONCRAFT_BILLING',
    default: 'off',
    meaning:
      'credits: projects run from their organization’s prepaid wallet, and are refused when it is empty; off: nothing is drawn and nobody is refused',
  },
  {
    name: 'IRONCRAFT_BILLING_CURRENCY',
    default: 'eur',
    meaning: 'Currency of wallets, three letters, of those with cents; wallets that hold another one stop the start',
  },
  {
    name: 'IRONCRAFT_BILLING_USD_RATE',
    default: '1',
    meaning:
      'Units of that currency for one US dollar, in which models are priced: 0.000001 to 1000000, up to six decimals',
  },
  {
    name: 'IRONCRAFT_BILLING_MARKUP_PERCENT',
    default: '0',
    meaning: 'Added to what usage costs, a whole number of percent, 0 to 10000',
  },
  {
    name: 'IRONCRAFT_BILLING_STARTER_CENTS',
    default: '0',
    meaning: 'Free credit of an organization that saves its first card, in cents, 0 to 1000000',
  },
  {
    name: 'IRONCRAFT_STRIPE_KEY',
    default: '',
    meaning: 'Secret key of Stripe for the wallets of organizations; absent: no cards',
    secret: true,
  },
  {
    name: 'IRONCRAFT_STRIPE_URL',
    default: '',
    meaning: 'Address of Stripe’s API where it is another than Stripe’s own',
  },
  {
    name: 'IRONCRAFT_STRIPE_WEBHOOK_SECRET',
    default: '',
    meaning: 'Signing secret (whsec_…) of the webhook endpoint that Stripe has for POST /v1/billing/stripe/webhook',
    secret: true,
  },
  {
    name: 'IRONCRAFT_DOMAINS_PORT',
    default: '8788',
    meaning: 'Port of the domain service; 0 takes any free one',
  },
  {
    name: 'IRONCRAFT_DOMAINS_PUBLIC_URL',
    default: '',
    meaning: 'Base URL under which clients reach the domain service, without /api/v1; absent: made from host and port',
  },
  {
    name: 'IRONCRAFT_DOMAINS_REGISTRY',
    default: 'simulated',
    meaning: 'Where names are registered: simulated (play money, no real name) or epp (real names, real money)',
  },
  {
    name: 'IRONCRAFT_DOMAINS_CONFIG_FILE',
    default: '',
    meaning:
      'File of the registries, the TLDs that they sell, and prices, YAML or JSON by its ending: docs/registrar.md; absent: one registry, by the variables beside this, and the prices of the program',
  },
  {
    name: 'IRONCRAFT_DOMAINS_DEMO_CREDIT_CENTS',
    default: '10000',
    meaning: 'Play money of a new workspace in cents, with the simulated registry only',
  },
  {
    name: 'IRONCRAFT_DOMAINS_EPP_URL',
    default: '',
    meaning: 'EPP server, epps://host:700',
  },
  {
    name: 'IRONCRAFT_DOMAINS_EPP_CLIENT_ID',
    default: '',
    meaning: 'Registrar id to log in with',
  },
  {
    name: 'IRONCRAFT_DOMAINS_EPP_PASSWORD',
    default: '',
    meaning: 'Password of the registrar id',
    secret: true,
  },
  {
    name: 'IRONCRAFT_DOMAINS_EPP_CA_FILE',
    default: '',
    meaning: 'PEM file of the authority that the EPP server’s certificate is checked against; absent: the system’s',
  },
  {
    name: 'IRONCRAFT_DOMAINS_EPP_TLDS',
    default: '',
    meaning: 'TLDs that this registry sells, comma-separated; absent: all that have a price',
  },
  {
    name: 'IRONCRAFT_DOMAINS_AUTO_RENEW_GRACE_DAYS',
    default: '',
    meaning:
      'Days after the end of a term within which the registry takes its own renewal back for a deleted name, 3 to 90: unpaid names are suspended, then deleted in time; absent: the registry does not renew by itself',
  },
  {
    name: 'IRONCRAFT_DOMAINS_NAMESERVERS',
    default: 'ns1.ironcraft.test,ns2.ironcraft.test',
    meaning: 'The service’s own nameservers, two to thirteen host names, comma-separated: new names get them',
  },
  {
    name: 'IRONCRAFT_DOMAINS_DNS',
    default: 'embedded',
    meaning: 'What answers DNS queries: embedded (this process) or powerdns',
  },
  {
    name: 'IRONCRAFT_DOMAINS_DNS_HOST',
    default: '127.0.0.1',
    meaning: 'Address of the embedded DNS server; 0.0.0.0 or :: for every interface',
  },
  {
    name: 'IRONCRAFT_DOMAINS_DNS_PORT',
    default: '5300',
    meaning: 'Port of the embedded DNS server, UDP and TCP; 0 takes any free one; the world asks port 53',
  },
  {
    name: 'IRONCRAFT_DOMAINS_DNS_RATE',
    default: '200',
    meaning:
      'Answers a second by UDP that the embedded DNS server gives one network (/24, /56) whose clients show no valid DNS cookie; 0: any number',
  },
  {
    name: 'IRONCRAFT_DOMAINS_DNS_SAME_RATE',
    default: '100',
    meaning: 'The same for answers of one kind: to one question, or that names of one zone do not exist; 0: any number',
  },
  {
    name: 'IRONCRAFT_DOMAINS_DNS_RATE_SLIP',
    default: '2',
    meaning:
      'Each how many-th query beyond these is answered with TC or BADCOOKIE, so that a real client asks again otherwise, 1 to 10; 0: none; the others are dropped',
  },
  {
    name: 'IRONCRAFT_DOMAINS_DNS_RATE_EXEMPT',
    default: '',
    meaning: 'Networks that are not limited so, comma-separated, such as 192.0.2.0/24,2001:db8::/32',
  },
  {
    name: 'IRONCRAFT_DOMAINS_DNS_COOKIE_SECRETS',
    default: '',
    meaning:
      'Secrets of the embedded DNS server’s cookies (RFC 9018), 32 hex digits each, comma-separated: the first makes them, all are accepted; share them with other servers of the same address; absent: one a day, from the master key',
    secret: true,
  },
  {
    name: 'IRONCRAFT_DOMAINS_DNS_SECONDARIES',
    default: '',
    meaning:
      'Nameservers that copy zones from the embedded DNS server (AXFR) and are told of changes (NOTIFY), comma-separated: address@key, address:port@key, network@key (not told), or an address alone',
  },
  {
    name: 'IRONCRAFT_DOMAINS_DNS_TSIG_KEYS',
    default: '',
    meaning: 'Their keys, comma-separated: name:hmac-sha256:base64 or name:hmac-sha512:base64',
    secret: true,
  },
  {
    name: 'IRONCRAFT_DOMAINS_DNSSEC_KEY_DAYS',
    default: '',
    meaning:
      'Days, 7 to 3650, after which the key of a signed zone is changed; absent: when `domains dnssec roll` is run',
  },
  {
    name: 'IRONCRAFT_DOMAINS_ALIAS_PRIVATE_ADDRESSES',
    default: 'deny',
    meaning:
      'deny: addresses that not everybody reaches are left out of what ALIAS records serve; allow: private ones are served',
  },
  {
    name: 'IRONCRAFT_DOMAINS_POWERDNS_URL',
    default: '',
    meaning: 'HTTP API of PowerDNS, http://host:8081',
  },
  {
    name: 'IRONCRAFT_DOMAINS_POWERDNS_KEY',
    default: '',
    meaning: 'Key of that API',
    secret: true,
  },
  {
    name: 'IRONCRAFT_DOMAINS_STRIPE_KEY',
    default: '',
    meaning: 'Secret key of Stripe; absent: no card payments and no top-ups by card',
    secret: true,
  },
  {
    name: 'IRONCRAFT_DOMAINS_STRIPE_URL',
    default: '',
    meaning: 'Address of Stripe’s API where it is another than Stripe’s own',
  },
  {
    name: 'IRONCRAFT_DOMAINS_STRIPE_WEBHOOK_SECRET',
    default: '',
    meaning:
      'Signing secret (whsec_…) of the webhook endpoint that Stripe has for POST /api/v1/stripe/webhook; absent: disputes are not followed',
    secret: true,
  },
  {
    name: 'IRONCRAFT_DOMAINS_SELLER',
    default: '',
    meaning:
      'Who sells, as it stands on receipts: name, address and VAT number, with a vertical bar between the lines; absent: there are no receipts',
  },
  {
    name: 'IRONCRAFT_DOMAINS_VAT_PERCENT',
    default: '',
    meaning: 'VAT that prices contain, 0 to 50 with at most two decimals, such as 19; set together with the seller',
  },
  {
    name: 'IRONCRAFT_DOMAINS_MAIL_URL',
    default: '',
    meaning:
      'Mail server, smtp://user:password@host:587 or smtps://…, with ?tls=optional where it has no TLS; absent: messages are files in the data folder’s outbox',
    secret: true,
  },
  {
    name: 'IRONCRAFT_DOMAINS_MAIL_FROM',
    default: 'domains@localhost',
    meaning: 'Sender of the service’s messages',
  },
] as const satisfies readonly EnvironmentVariable[];

export type VariableName = (typeof ENVIRONMENT)[number]['name'];
