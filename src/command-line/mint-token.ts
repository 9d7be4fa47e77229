import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AnswerOf, RequestOf } from '../kernel/operator/index.ts';
import { DEFAULT_SMITH_TTL_SECONDS, MAX_SMITH_TTL_SECONDS, MAX_TTL_SECONDS } from '../platform/access/issue-token.ts';
import { isScope, SCOPES } from '../platform/access/scopes.ts';
import type { PlatformVerbs } from '../platform/operator/index.ts';
import { askPlatform } from './ask-platform.ts';
import { CommandError, EXIT_USAGE } from './command-error.ts';

type MintRequest = RequestOf<PlatformVerbs, 'mint_token'>;
type MintedToken = AnswerOf<PlatformVerbs, 'mint_token'>;

interface Options {
  readonly scope: 'admin' | 'smith' | 'organization';
  readonly project?: string;
  readonly organization?: string;
  readonly smith?: string;
  readonly permission?: readonly string[];
  readonly ttl?: number;
  readonly name?: string;
  readonly json?: true;
}

export function addMintToken(token: Command): void {
  token
    .command('mint')
    .summary('mint a token')
    .description(
      'Mints a token and prints it, once, on standard output; what it is goes to standard error. Works beside a ' +
        'running server and without one. Revoke it with DELETE /v1/tenant/tokens/{id}.',
    )
    .addOption(
      new Option('--scope <scope>', 'admin: everything in a project; smith: one smith; organization: its projects')
        .choices(['admin', 'smith', 'organization'])
        .default('admin'),
    )
    .option('--project <id|name>', 'the project, where there are several')
    .option('--organization <id|name>', 'the organization, where there are several')
    .option('--smith <id>', 'the smith that a smith token is bound to')
    .option('--permission <scope...>', 'what a smith token may do, such as runs:read runs:write')
    .option(
      '--ttl <seconds>',
      `how long it lives (default: admin, for ever; smith, ${DEFAULT_SMITH_TTL_SECONDS}; a smith token at most ${MAX_SMITH_TTL_SECONDS})`,
      parseTtl,
    )
    .option('--name <text>', 'what it is for, as lists show it')
    .option('--json', 'print {id, token, sub, scopes, expires_at}')
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  ironcraft token mint --name ci\n' +
        '  ironcraft token mint --scope smith --smith smt_... --permission runs:read runs:write --ttl 3600\n' +
        '  ironcraft token mint --scope organization',
    )
    .action(async (options: Options) => {
      checkOptions(options);
      show(await askPlatform('mint_token', requestOf(options)), options);
    });
}

function parseTtl(text: string): number {
  const seconds = /^\d{1,12}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= MAX_TTL_SECONDS) return seconds;
  throw new InvalidArgumentError(`Use a number of seconds from 1 to ${MAX_TTL_SECONDS}.`);
}

/** Ignoring an option would mint another token than the one that was asked for. */
function checkOptions({ scope, smith, permission, ttl, project, organization }: Options): void {
  const refuse = (message: string): never => {
    throw new CommandError(message, { exitCode: EXIT_USAGE });
  };
  if (scope === 'smith') {
    if (smith === undefined) refuse('A smith token is bound to one smith: name it with --smith.');
    if (permission === undefined) refuse(`Say what the smith token may do with --permission: ${SCOPES.join(', ')}.`);
    const unknown = permission?.find((text) => !isScope(text));
    if (unknown !== undefined) refuse(`${unknown} is not a permission. The permissions are ${SCOPES.join(', ')}.`);
    if (ttl !== undefined && ttl > MAX_SMITH_TTL_SECONDS) {
      refuse(`A smith token lives at most ${MAX_SMITH_TTL_SECONDS} seconds (24 hours).`);
    }
    return;
  }
  if (smith !== undefined || permission !== undefined) refuse('--smith and --permission belong to --scope smith.');
  if (scope === 'organization') {
    if (ttl !== undefined) refuse('An organization key does not expire: leave --ttl out.');
    if (project !== undefined) refuse('An organization key is not bound to a project: leave --project out.');
  } else if (organization !== undefined && project === undefined) {
    refuse('--organization belongs to --scope organization; name a project with --project.');
  }
}

/** The options as the verb takes them. */
function requestOf({ scope, project, organization, smith, permission, ttl, name }: Options): MintRequest {
  const named = {
    ...(organization === undefined ? {} : { organization }),
    ...(project === undefined ? {} : { project }),
    ...(ttl === undefined ? {} : { ttl_seconds: ttl }),
    ...(name === undefined ? {} : { name }),
  };
  return scope === 'smith'
    ? { scope, ...named, smith_id: smith ?? '', permissions: [...(permission ?? [])] }
    : { scope, ...named };
}

function show(issued: MintedToken, { json }: Options): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(issued)}\n`);
    return;
  }
  const { expires_at: expiresAt } = issued;
  process.stderr.write(
    `${issued.id} for ${issued.sub}: ${issued.scopes.join(' ')}; ${expiresAt === null ? 'does not expire' : `expires ${expiresAt}`}\n`,
  );
  process.stdout.write(`${issued.token}\n`);
}
