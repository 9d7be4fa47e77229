/** What `serve` says on standard output once it listens: for people, and every line of it can be pasted. */
import type { FirstBoot } from '../platform/boot/first-boot.ts';

export interface Welcome {
  /** Where clients reach the service. */
  readonly publicUrl: string;
  /** Where this process listens: what a shell on this machine reaches even if a proxy is not set up yet. */
  readonly localUrl: string;
  readonly credentialsPath: string;
  readonly boot: FirstBoot;
}

export function renderWelcome({ publicUrl, localUrl, credentialsPath, boot }: Welcome): string {
  const lines = [
    `Ironcraft is ready at ${publicUrl}`,
    ...(publicUrl === localUrl ? [] : [`  listening    ${localUrl}`]),
    `  reference    ${publicUrl}/docs`,
    ...(boot.hasCredentials ? [`  credentials  ${credentialsPath}`] : []),
    '',
  ];
  if (boot.keptAs !== undefined) {
    lines.push(`The database was new. Credentials of another one were kept as ${boot.keptAs}`, '');
  }
  if (!boot.hasCredentials) return [...lines, ...explainMissing(credentialsPath), ''].join('\n');
  return [
    ...lines,
    'Stream a first turn (paste these lines into a shell):',
    '',
    ...firstTurn(localUrl, credentialsPath),
    '',
    ...(boot.created ? [...OWN_MODEL_SERVERS, ''] : []),
  ].join('\n');
}

const OWN_MODEL_SERVERS = [
  'Models at private addresses are closed. To open an Ollama (port 11434) or a vLLM (8000) of this machine, start with:',
  '',
  '  IRONCRAFT_OUTBOUND_ALLOW=127.0.0.1:11434,127.0.0.1:8000 npm start',
];

/**
 * Shell lines that stream a turn. They need `curl` and `sed` alone, and may be pasted again: the smith is created once, and
 * found by its `external_id` afterwards.
 */
function firstTurn(baseUrl: string, credentialsPath: string): string[] {
  const headers = `-H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json'`;
  const smith = JSON.stringify({ external_id: 'first-smith', model: 'builtin/demo' });
  const run = JSON.stringify({
    input: [{ role: 'user', content: 'Write 20 words at 10 words per second' }],
    stream: true,
  });
  return [
    `TOKEN=$(sed -n 's/.*"tenant_token": *"\\([^"]*\\)".*/\\1/p' ${quote(credentialsPath)})`,
    `SMITH=$(curl -s ${quote(`${baseUrl}/v1/smiths`)} ${headers} -d ${quote(smith)} | sed 's/.*"id":"\\(smt_[^"]*\\)".*/\\1/')`,
    `curl -sN ${quote(`${baseUrl}/v1/smiths/`)}"$SMITH"/runs ${headers} -d ${quote(run)}`,
  ];
}

export interface DomainsWelcome {
  /** Where clients reach the service, base path included. */
  readonly baseUrl: string;
  readonly localBaseUrl: string;
  readonly registry: 'simulated' | 'epp';
  /** What answers for the zones. */
  readonly dns: string;
}

export function renderDomainsWelcome({ baseUrl, localBaseUrl, registry, dns }: DomainsWelcome): string {
  const lines = [
    `Domain registration is served at ${baseUrl}`,
    ...(baseUrl === localBaseUrl ? [] : [`  listening    ${localBaseUrl}`]),
    `  reference    ${baseUrl}/docs`,
    `  registry     ${registry === 'simulated' ? 'simulated: names and money are play' : 'EPP: names and money are real'}`,
    `  nameserver   ${dns}`,
  ];
  return `${lines.join('\n')}\n\n`;
}

function explainMissing(credentialsPath: string): string[] {
  return [
    `There is no ${credentialsPath}: the database was set up before, and its credentials are where it first started.`,
    'Mint others with:',
    '',
    '  npm run ironcraft -- token mint                        a token for the project',
    '  npm run ironcraft -- token mint --scope organization   a key for the organization',
  ];
}

/** One word for the shell, whatever it holds. */
function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
