/** The command line: its verbs, and what their failures look like. */
import { Command, CommanderError } from 'commander';
import { ConfigError, loadConfig } from '../kernel/config/config.ts';
import { scrubText } from '../kernel/log/redact.ts';
import { CommandError, EXIT_FAILURE, EXIT_OK, EXIT_USAGE, type Finish } from './command-error.ts';
import { addCreateOrganization } from './create-organization.ts';
import { addDoctor } from './doctor.ts';
import { addDomains } from './domains/index.ts';
import { addEnvironment } from './environment.ts';
import { addMigrate } from './migrate.ts';
import { addMintToken } from './mint-token.ts';
import { addRecoverKeys } from './recover-keys.ts';
import { addResealSecrets } from './reseal-secrets.ts';
import { addRotateKeys } from './rotate-keys.ts';
import { addServe } from './serve.ts';
import { readPackageVersion, sourceRoot } from './source-commit.ts';

/** Runs one command line (without `node` and the script) and returns the exit code: 0, 1 failed, 2 wrong usage or configuration. */
export async function runProgram(args: readonly string[]): Promise<number> {
  const outcome = { exitCode: EXIT_OK };
  const program = buildProgram((exitCode) => {
    outcome.exitCode = exitCode;
  });
  hideExperimentalWarnings();
  try {
    await program.parseAsync(args, { from: 'user' });
    return outcome.exitCode;
  } catch (error) {
    return reportFailure(error);
  }
}

function buildProgram(finish: Finish): Command {
  const program = new Command('ironcraft')
    .description('A self-hosted agent platform.')
    .version(readPackageVersion(sourceRoot))
    .showHelpAfterError('Add --help to see what this command takes.')
    .helpCommand(false)
    .exitOverride()
    .addHelpText('afterAll', '\nSettings come from the environment and from .env: ironcraft environment lists them.\n');
  addServe(program, finish);
  addMigrate(program);
  const token = program.command('token').helpCommand(false).description('mint tokens without a running server');
  addMintToken(token);
  const organization = program.command('org').helpCommand(false).description('make organizations');
  addCreateOrganization(organization);
  const keys = program.command('keys').helpCommand(false).description('rotate signing keys and the master key');
  addRotateKeys(keys);
  addResealSecrets(keys);
  addRecoverKeys(keys, finish);
  addDomains(program);
  addDoctor(program, finish);
  addEnvironment(program);
  return program;
}

/** What this program uses of Node is its own choice, and nothing that an operator can act on. */
function hideExperimentalWarnings(): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') process.stderr.write(`warning: ${message}\n`);
  });
}

function reportFailure(error: unknown): number {
  // Commander has written what it had to say.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`error: ${scrubText(message)}\n`);
  if (showsStacks()) process.stderr.write(`${scrubText(describeCauses(error))}\n`);
  if (error instanceof ConfigError) return EXIT_USAGE;
  return error instanceof CommandError ? error.exitCode : EXIT_FAILURE;
}

/** A stack says nothing to an operator; whoever asks for debug output wants it. */
function showsStacks(): boolean {
  try {
    return ['debug', 'trace'].includes(loadConfig().logLevel);
  } catch {
    return false;
  }
}

function describeCauses(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const stack = error.stack ?? error.message;
  return error.cause === undefined ? stack : `${stack}\ncaused by: ${describeCauses(error.cause)}`;
}
