import { type Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../kernel/clock/clock.ts';
import { publicUrlFor } from '../kernel/config/config.ts';
import type { Transaction } from '../kernel/db/database.ts';
import {
  createTokenIssuer,
  DEFAULT_SMITH_TTL_SECONDS,
  type IssuedToken,
  MAX_SMITH_TTL_SECONDS,
  MAX_TTL_SECONDS,
  type TokenIssuer,
} from '../platform/access/issue-token.ts';
import { isScope, SCOPES } from '../platform/access/scopes.ts';
import { createTokenSigner } from '../platform/access/sign-token.ts';
import { createSigningKeys } from '../platform/access/signing-keys.ts';
import { tenantDb } from '../platform/store/tenant-db.ts';
import { chooseOrganization, chooseProject } from './choose-owner.ts';
import { CommandError, EXIT_USAGE } from './command-error.ts';
import { openVault, type Store, withMigratedStore } from './open-store.ts';
import { operator } from './operator.ts';

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

const whileServing =
  'Ask the server instead: POST /v1/tenant/tokens with the tenant_token of credentials.json, or stop the server first.';

export function addMintToken(token: Command): void {
  token
    .command('mint')
    .summary('mint a token')
    .description(
      'Mints a token and prints it, once, on standard output; what it is goes to standard error. Needs the database and the ' +
        'master key, and no running server. Revoke it with DELETE /v1/tenant/tokens/{id}.',
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
      show(await withMigratedStore(whileServing, (store) => mint(store, options)), options);
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

async function mint({ config, db }: Store, options: Options): Promise<IssuedToken> {
  const keys = createSigningKeys(db, await openVault(config, db));
  const signer = createTokenSigner(keys, publicUrlFor(config, config.port));
  const issuer = createTokenIssuer({ signer, clock: systemClock });
  return db.transaction((tx) => issue(tx, issuer, options));
}

async function issue(tx: Transaction, issuer: TokenIssuer, options: Options): Promise<IssuedToken> {
  const { scope, name, ttl: ttlSeconds } = options;
  if (scope === 'organization') {
    const { id } = await chooseOrganization(tx, options.organization);
    return issuer.issueOrganizationKey(tx, { organizationId: id, name });
  }
  const { id: projectId } = await chooseProject(tx, options.project, options.organization);
  if (scope === 'admin') return issuer.issueProjectToken(tx, { projectId, name, ttlSeconds, actor: operator });
  const smithId = await requireSmith(tx, projectId, options.smith ?? '');
  const permissions = options.permission ?? [];
  return issuer.issueSmithToken(tx, { projectId, smithId, permissions, ttlSeconds, name, actor: operator });
}

async function requireSmith(tx: Transaction, projectId: string, smithId: string): Promise<string> {
  const smith = await tenantDb(tx, projectId)
    .selectFrom('smiths')
    .select('id')
    .where('id', '=', smithId)
    .where('archived_at', 'is', null)
    .executeTakeFirst();
  if (smith !== undefined) return smith.id;
  throw new CommandError(`The project ${projectId} has no smith ${smithId}. List its smiths with GET /v1/smiths.`);
}

function show(issued: IssuedToken, { json }: Options): void {
  const expiresAt = issued.expiresAt?.toISOString() ?? null;
  if (json) {
    const { id, token, sub, scopes } = issued;
    process.stdout.write(`${JSON.stringify({ id, token, sub, scopes, expires_at: expiresAt })}\n`);
    return;
  }
  process.stderr.write(
    `${issued.id} for ${issued.sub}: ${issued.scopes.join(' ')}; ${expiresAt === null ? 'does not expire' : `expires ${expiresAt}`}\n`,
  );
  process.stdout.write(`${issued.token}\n`);
}
