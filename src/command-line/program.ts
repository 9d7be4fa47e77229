/** The command line: its verbs, and what their failures look like. */
import { Command, CommanderError } from 'commander';
import { ConfigError, loadConfig } from '../kernel/config/config.ts';
import { scrubText } from '../kernel/log/redact.ts';
import { CommandError, EXIT_FAILURE, EXIT_OK, EXIT_USAGE, type Finish } from './command-error.ts';
import { readPackageVersion, sourceRoot } from './source-commit.ts';
import type { StopSignals } from './stop-signals.ts';

/**
 * Runs one command line (without `node` and the script) and returns the exit code: 0, 1 failed, 2 wrong usage or configuration.
 * `stop` is what listens for signals already; without it `serve` listens itself.
 */
export async function runProgram(args: readonly string[], stop?: StopSignals): Promise<number> {
  const outcome = { exitCode: EXIT_OK };
  const finish: Finish = (exitCode) => {
    outcome.exitCode = exitCode;
  };
  hideExperimentalWarnings();
  try {
    const program = await buildProgram(args[0], { finish, stop });
    await program.parseAsync(args, { from: 'user' });
    return outcome.exitCode;
  } catch (error) {
    return reportFailure(error);
  }
}

interface Outside {
  readonly finish: Finish;
  readonly stop: StopSignals | undefined;
}

/** The verbs by their first word, each loaded when it is wanted: a start should not pay for the others. */
const verbs: Readonly<Record<string, (program: Command, outside: Outside) => Promise<void>>> = {
  async serve(program, { finish, stop }) {
    const { addServe } = await import('./serve.ts');
    addServe(program, finish, stop);
  },
  async migrate(program) {
    const { addMigrate } = await import('./migrate.ts');
    addMigrate(program);
  },
  async token(program) {
    const { addMintToken } = await import('./mint-token.ts');
    const token = program.command('token').helpCommand(false).description('mint tokens');
    addMintToken(token);
  },
  async org(program) {
    const { addCreateOrganization } = await import('./create-organization.ts');
    const { addUpdateOrganization } = await import('./update-organization.ts');
    const organization = program.command('org').helpCommand(false).description('make and change organizations');
    addCreateOrganization(organization);
    addUpdateOrganization(organization);
  },
  async keys(program, { finish }) {
    const { addRotateKeys } = await import('./rotate-keys.ts');
    const { addResealSecrets } = await import('./reseal-secrets.ts');
    const { addRecoverKeys } = await import('./recover-keys.ts');
    const keys = program.command('keys').helpCommand(false).description('rotate signing keys and the master key');
    addRotateKeys(keys);
    addResealSecrets(keys);
    addRecoverKeys(keys, finish);
  },
  async events(program) {
    const { addVerifyEvents } = await import('./verify-events.ts');
    addVerifyEvents(program.command('events').helpCommand(false).description('prove the feed of events'));
  },
  async billing(program) {
    const { addBilling } = await import('./billing.ts');
    addBilling(program.command('billing').helpCommand(false).description('mint codes and correct wallets'));
  },
  async domains(program, { finish }) {
    const { addDomains } = await import('./domains/index.ts');
    addDomains(program, finish);
  },
  async doctor(program, { finish }) {
    const { addDoctor } = await import('./doctor.ts');
    addDoctor(program, finish);
  },
  async environment(program) {
    const { addEnvironment } = await import('./environment.ts');
    addEnvironment(program);
  },
};

/** The program with the verb that the command line names, or with all of them where it names none. */
async function buildProgram(word: string | undefined, outside: Outside): Promise<Command> {
  const program = new Command('ironcraft')
    .description('A self-hosted agent platform.')
    .version(readPackageVersion(sourceRoot))
    .showHelpAfterError('Add --help to see what this command takes.')
    .helpCommand(false)
    .exitOverride()
    .addHelpText('afterAll', '\nSettings come from the environment and from .env: ironcraft environment lists them.\n');
  const named = word === undefined || !Object.hasOwn(verbs, word) ? undefined : verbs[word];
  for (const addVerb of named === undefined ? Object.values(verbs) : [named]) await addVerb(program, outside);
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

/** A stack says nothing to an operator; an operator who asks for debug output wants it. */
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
