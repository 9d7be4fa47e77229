import { type Command, Option } from 'commander';
import { CommandError, EXIT_USAGE } from '../command-error.ts';
import { ask } from './ask.ts';

const MAX_NAME_LENGTH = 200;

interface MintOptions {
  readonly workspace?: string;
  readonly scope: 'read' | 'write';
  readonly name: string;
  readonly json?: true;
}

export function addTokens(domains: Command): void {
  const token = domains.command('token').helpCommand(false).description('mint and revoke tokens of workspaces');
  token
    .command('mint')
    .summary('mint a token of a workspace')
    .description('Mints a token and prints it, once, on standard output; what it is goes to standard error.')
    .option('--workspace <id|email>', 'the workspace, where there are several')
    .addOption(new Option('--scope <scope>', 'what it may do').choices(['read', 'write']).default('write'))
    .option('--name <text>', 'what it is for', 'command line')
    .option('--json', 'print {id, token, scope, name, workspace_id, workspace_name}')
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  ironcraft domains token mint --workspace kim@example.com --name ci\n' +
        '  ironcraft domains token mint --workspace wsp_... --scope read',
    )
    .action(mint);
  token
    .command('revoke')
    .argument('<token>', 'its id, dtk_..., or the token itself')
    .summary('revoke a token')
    .description('Revokes a token: the next call with it is refused. Repeating it changes nothing.')
    .option('--json', 'print {id, workspace_id, revoked_at}')
    .action(revoke);
}

async function mint({ workspace, scope, name, json }: MintOptions): Promise<void> {
  if (name.length > MAX_NAME_LENGTH) {
    throw new CommandError(`--name has at most ${MAX_NAME_LENGTH} characters.`, { exitCode: EXIT_USAGE });
  }
  const issued = await ask('mint_token', { ...(workspace === undefined ? {} : { workspace }), scope, name });
  if (json) return print(JSON.stringify(issued));
  process.stderr.write(`${issued.id} for ${issued.workspace_id} (${issued.workspace_name}): ${issued.scope}\n`);
  print(issued.token);
}

async function revoke(token: string, { json }: { readonly json?: true }): Promise<void> {
  const revoked = await ask('revoke_token', { token });
  print(
    json ? JSON.stringify(revoked) : `${revoked.id} of ${revoked.workspace_id} is revoked since ${revoked.revoked_at}`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
